"""Kept users: made, changed and dropped; their passwords and, as OAuth2 clients, their secrets."""

import base64
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from headgate.catalog.calls import OPERATOR
from headgate.catalog.entities import Entry, Kind
from headgate.catalog.identities import (
    GROUPS_OF,
    MEMBERS_OF,
    Client,
    Known,
    change_identities,
    current_head,
    find_identity,
    groups_of,
    hash_secret,
    note,
    note_drop,
)
from headgate.catalog.identity_entities import IdentityEntity
from headgate.catalog.naming import ROOT, USERS, Names, NamesDraft, id_bytes
from headgate.catalog.passwords import Passwords
from headgate.catalog.rights import pair, second_of
from headgate.catalog.stored_names import NAMES
from headgate.errors import NotFound, UserExists, UserNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.kernel.kernel import Kernel
from headgate.limits import SECRETS_MAX
from headgate.model.names import check_name, check_principal_name

SECRET_BYTES = 32


class KeptUser(NamedTuple):
    """A user as it may be shown."""

    name: str
    enabled: bool
    has_password: bool
    secrets: tuple[tuple[int, int], ...]
    """Ids, and when they were made, newest first."""
    groups: tuple[str, ...]
    created_ms: int
    created_by: str


class NewSecret(NamedTuple):
    """A secret, which nobody will see again."""

    id: int
    secret: str

    def __repr__(self) -> str:
        return f"NewSecret({self.id}, ***)"


async def list_users(kernel: Kernel) -> list[KeptUser]:
    """All kept users, by name."""
    head = await current_head(kernel)
    named = await look(head.index(NAMES), lambda tree: list(Names(tree).below(ROOT, USERS)))
    return [
        await _shown(head, name, Known(entry, await head.get(entry.object, IdentityEntity)))
        for name, entry in named
    ]


async def get_user(kernel: Kernel, name: str) -> KeptUser:
    """The kept user of this name."""
    head = await current_head(kernel)
    known = await find_identity(head, name)
    if known is None:
        raise _absent(name)
    return await _shown(head, name, known)


async def create_user(
    kernel: Kernel, passwords: Passwords, name: str, password: str = "", *, by: str = OPERATOR
) -> None:
    """Keep a new user; without a password it can only come with tokens."""
    check_principal_name(name)
    hashed = await passwords.hash(password) if password else ""

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        if names.find(ROOT, USERS, name) is not None:
            raise UserExists(
                f"User already exists: {name}",
                fix=f"Choose another name; `headgate user password {name}` changes its password",
            )
        _add(draft, names, name, by, hashed)

    await change_identities(kernel, attempt)


async def set_password(
    kernel: Kernel, passwords: Passwords, name: str, password: str, *, by: str = OPERATOR
) -> None:
    """Give a user another password; all its tokens are worthless from now on."""
    hashed = await passwords.hash(password)

    def changed(draft: Draft, old: IdentityEntity) -> IdentityEntity:
        return msgspec.structs.replace(
            old, password=hashed, password_id=draft.new_id(), generation=draft.new_id()
        )

    await _change(kernel, name, changed, by, what="password")


async def set_enabled(kernel: Kernel, name: str, *, enabled: bool, by: str = OPERATOR) -> None:
    """Refuse a user from now on, or no more. Its old tokens stay worthless."""

    def changed(draft: Draft, old: IdentityEntity) -> IdentityEntity:
        if old.enabled == enabled:
            return old
        return msgspec.structs.replace(old, enabled=enabled, generation=draft.new_id())

    await _change(kernel, name, changed, by, do="enable" if enabled else "disable")


async def revoke_tokens(kernel: Kernel, name: str, *, by: str = OPERATOR) -> None:
    """Make all tokens that a user has worthless."""

    def changed(draft: Draft, old: IdentityEntity) -> IdentityEntity:
        return msgspec.structs.replace(old, generation=draft.new_id())

    await _change(kernel, name, changed, by, do="revoke", what="tokens")


async def drop_user(kernel: Kernel, name: str, *, by: str = OPERATOR) -> bool:
    """Forget a user; False if there is none.

    Metalakes keep what they know of its name. The id of the drop tells a later user of this name
    from it: see `Caller.since`.
    """

    def attempt(draft: Draft) -> bool:
        names = NamesDraft(draft)
        entry = names.find(ROOT, USERS, name)
        if entry is None:
            return False
        groups = [second_of(key) for key, _ in draft.index(GROUPS_OF).prefix(id_bytes(entry.id))]
        for group in groups:
            draft.index(GROUPS_OF).remove(pair(entry.id, group))
            draft.index(MEMBERS_OF).remove(pair(group, entry.id))
        names.remove(ROOT, USERS, name, entry)
        draft.discard(entry.object)
        note_drop(draft, USERS, name)
        draft.note(note("drop", "identity", name, by))
        return True

    return await change_identities(kernel, attempt)


async def vouch_for(kernel: Kernel, name: str, *, by: str = OPERATOR) -> Client:
    """A user for whom an operator wants a token; kept from now on if it was not."""
    check_name(name)

    def attempt(draft: Draft) -> Client:
        names = NamesDraft(draft)
        entry = names.find(ROOT, USERS, name) or _add(draft, names, name, by)
        return Client(name, draft.fetch(entry.object, IdentityEntity).generation)

    return await change_identities(kernel, attempt)


async def create_secret(
    kernel: Kernel, random_bytes: Callable[[int], bytes], name: str, *, by: str = OPERATOR
) -> NewSecret:
    """A new secret for a client, which is kept from now on if it was not.

    The one before stays good, so that it can be replaced everywhere first; older ones do not.
    """
    check_name(name)
    secret = base64.urlsafe_b64encode(random_bytes(SECRET_BYTES)).rstrip(b"=").decode()

    def attempt(draft: Draft) -> NewSecret:
        names, id = NamesDraft(draft), draft.new_id()
        entry = names.find(ROOT, USERS, name) or _add(draft, names, name, by)
        old = draft.fetch(entry.object, IdentityEntity)
        made = (id, hash_secret(secret), draft.now_ms)
        secrets = (made, *old.secrets)[:SECRETS_MAX]
        _put(draft, names, name, entry, msgspec.structs.replace(old, secrets=secrets))
        draft.note(note("create", "secret", name, by, id=str(id)))
        return NewSecret(id, secret)

    return await change_identities(kernel, attempt)


async def revoke_secret(kernel: Kernel, name: str, id: int, *, by: str = OPERATOR) -> None:
    """Make a secret worthless, and all tokens that were issued for it."""

    def changed(_draft: Draft, old: IdentityEntity) -> IdentityEntity:
        left = tuple(one for one in old.secrets if one[0] != id)
        if len(left) == len(old.secrets):
            raise NotFound(
                f"Client {name} has no secret {id}", fix="`headgate token secret list` shows all"
            )
        return msgspec.structs.replace(old, secrets=left)

    await _change(kernel, name, changed, by, do="revoke", what="secret")


async def _change(
    kernel: Kernel,
    name: str,
    changed: Callable[[Draft, IdentityEntity], IdentityEntity],
    by: str,
    *,
    do: str = "alter",
    what: str = "",
) -> None:
    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, USERS, name)
        if entry is None:
            raise _absent(name)
        old = draft.fetch(entry.object, IdentityEntity)
        new = changed(draft, old)
        if new != old:
            _put(draft, names, name, entry, new)
            draft.note(note(do, "identity", name, by, **({"what": what} if what else {})))

    await change_identities(kernel, attempt)


def _add(draft: Draft, names: NamesDraft, name: str, by: str, hashed: str = "") -> Entry:
    check_principal_name(name)
    identity = IdentityEntity(
        draft.new_id(),
        password=hashed,
        password_id=draft.new_id() if hashed else 0,
        created_ms=draft.now_ms,
        created_by=by,
    )
    entry = Entry(Kind.USER, draft.new_id(), draft.stage(identity))
    names.add(ROOT, USERS, name, entry)
    draft.note(note("create", "identity", name, by))
    return entry


def _put(draft: Draft, names: NamesDraft, name: str, entry: Entry, new: IdentityEntity) -> None:
    names.put(ROOT, USERS, name, msgspec.structs.replace(entry, object=draft.stage(new)))
    draft.discard(entry.object)


async def _shown(head: HeadView, name: str, known: Known) -> KeptUser:
    identity = known.identity
    return KeptUser(
        name,
        identity.enabled,
        bool(identity.password),
        tuple((id, made_ms) for id, _, made_ms in identity.secrets),
        tuple(await groups_of(head, known.entry.id)),
        identity.created_ms,
        identity.created_by,
    )


def _absent(name: str) -> UserNotFound:
    return UserNotFound(f"User does not exist: {name}", why="Headgate keeps no user of this name")
