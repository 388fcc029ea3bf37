"""Identities that Headgate keeps, for all metalakes, under one pointer of the system realm.

A request is confirmed by the value of this pointer that it has read along with all others. So
whatever is taken away here, a password, a secret, a token, is refused at the next request, on every
node, and costs no read of its own.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from headgate.catalog.calls import Caller
from headgate.catalog.entities import Entry
from headgate.catalog.identity_entities import IdentityEntity
from headgate.catalog.naming import GROUPS, ROOT, USERS, Names, id_bytes, place_of
from headgate.catalog.passwords import Passwords
from headgate.catalog.proofs import PasswordProof, TokenProof
from headgate.catalog.rights import second_of
from headgate.catalog.stored_names import IDS, NAMES
from headgate.errors import NotAuthenticated
from headgate.kernel.clock_repair import NEWEST_ID
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.kernel.tree import Tree
from headgate.limits import CALLERS_KNOWN_MAX, EXPIRED_PER_COMMIT

IDENTITIES = "identities"
IDENTITIES_KEY = PointerKey(SYSTEM_REALM, IDENTITIES)

GROUPS_OF = "groups-of"
"""User id, group id -> nothing."""
MEMBERS_OF = "members-of"
"""Group id, user id -> nothing."""
REVOKED = "revoked"
"""The session of a token -> when it would have ended, in milliseconds."""
REVOKED_UNTIL = "revoked-until"
"""That time, session -> nothing."""
DROPPED_NAMES = "dropped-names"
"""The letter of users or groups, and the name of one that was dropped -> the id of the drop."""
KEYS = "keys"
"""The id of a key that signs tokens -> its object."""

_TIME_BYTES = 8

T = TypeVar("T")


class Known(NamedTuple):
    """A kept user."""

    entry: Entry
    identity: IdentityEntity


class Client(NamedTuple):
    """Who may have a token, and what the token will depend on."""

    name: str
    generation: int
    credential: int = 0
    """The secret it showed; 0 if an operator vouches for it."""


class Identities:
    """Confirms callers."""

    def __init__(self, kernel: Kernel, passwords: Passwords) -> None:
        self._kernel = kernel
        self._passwords = passwords
        self._value: int | None = None
        self._confirmed: dict[object, Caller] = {}
        """Under that value, by the caller as it came; passwords by their marks."""

    async def confirmed(self, caller: Caller, value: int | None) -> Caller:
        """The caller with all its groups if it is who it says, else `NotAuthenticated`.

        `value` is that of the pointer `identities`, which the request has read.
        """
        if caller.is_server or (caller.proof is None and not value):
            return caller
        if value != self._value:
            self._value, self._confirmed = value, {}
        key, proof = caller, caller.proof
        if isinstance(proof, PasswordProof):
            mark = proof.mark or self._passwords.mark(caller.name, proof.digest)
            key = caller._replace(proof=mark)
        known = self._confirmed.get(key)
        if known is not None:
            return known
        found = await self._confirm(caller, value)
        if value == self._value:  # it may have moved on meanwhile
            if len(self._confirmed) >= CALLERS_KNOWN_MAX:
                self._confirmed.clear()
            self._confirmed[key] = found
        return found

    async def confirmed_now(self, caller: Caller) -> Caller:
        """The same for who has read nothing yet; one read of the database."""
        return await self.confirmed(caller, await current_value(self._kernel))

    async def admitted(self, caller: Caller) -> Caller:
        """The caller with its password verified, so that its request may take a place.

        A password that is known costs nothing; another one is one more read of the database.
        """
        proof = caller.proof
        assert isinstance(proof, PasswordProof), "others prove who they are by themselves"
        mark = self._passwords.mark(caller.name, proof.digest)
        caller = caller._replace(proof=proof._replace(mark=mark))
        if caller._replace(proof=mark) not in self._confirmed:
            await self.confirmed_now(caller)
        return caller

    async def client(self, name: str, secret: str) -> Client:
        """The client with this secret; `NotAuthenticated` if there is none."""
        head = await current_head(self._kernel)
        known = await find_identity(head, name)
        if known is None:
            raise refused("unknown user")
        if not known.identity.enabled:
            raise refused("disabled user")
        shown = hash_secret(secret)
        for id, stored, _ in known.identity.secrets:
            if hmac.compare_digest(stored, shown):
                return Client(name, known.identity.generation, id)
        raise refused("secret")

    async def _confirm(self, caller: Caller, value: int | None) -> Caller:
        head = await open_head(self._kernel.store, SYSTEM_REALM, value)
        known = await find_identity(head, caller.name)
        proof = caller.proof
        if isinstance(proof, PasswordProof):
            await self._check_password(caller.name, known, proof)
        elif isinstance(proof, TokenProof):
            await _check_token(head, known, proof)
        elif proof is not None:
            raise refused("credentials")
        if known is None:
            return caller._replace(proof=None)
        if not known.identity.enabled:
            raise refused("disabled user")
        kept = await groups_of(head, known.entry.id)
        groups = tuple(dict.fromkeys((*caller.groups, *kept)))
        [since] = await dropped_at(head, USERS, [caller.name])
        own = [name for name in kept if name not in caller.groups]  # the others are a provider's
        drops = zip(own, await dropped_at(head, GROUPS, own), strict=True)
        return caller._replace(
            groups=groups,
            proof=None,
            since=since,
            groups_since=tuple((name, drop) for name, drop in drops if drop),
        )

    async def _check_password(self, name: str, known: Known | None, proof: PasswordProof) -> None:
        id, stored = (known.identity.password_id, known.identity.password) if known else (0, "")
        if not await self._passwords.is_right(name, id, stored, proof.digest, proof.address):
            raise refused("password" if known else "unknown user")


async def _check_token(head: HeadView, known: Known | None, proof: TokenProof) -> None:
    """Refuse a token that was revoked, or whose key, secret or user was taken away."""
    if known is None or known.identity.generation != proof.generation:
        raise refused("unknown user" if known is None else "revoked token")
    if proof.credential and proof.credential not in {id for id, *_ in known.identity.secrets}:
        raise refused("revoked token")
    if await head.index(KEYS).get(id_bytes(proof.key)) is None:
        raise refused("revoked token")
    if await head.index(REVOKED).get(proof.session) is not None:
        raise refused("revoked token")


def refused(reason: str) -> NotAuthenticated:
    """The same for all reasons but in the audit: a guess learns nothing from it."""
    error = NotAuthenticated(
        "Not authorized: the credentials are not valid",
        fix="Check the user and its password, or get a new token",
    )
    error.reason = reason
    return error


def hash_secret(secret: str) -> bytes:
    """What is stored of a secret. It is long and random, so nothing slower is needed."""
    return hashlib.sha256(secret.encode()).digest()


async def find_identity(head: HeadView, name: str) -> Known | None:
    """The kept user of this name."""
    entry = await look(head.index(NAMES), lambda tree: Names(tree).find(ROOT, USERS, name))
    return None if entry is None else Known(entry, await head.get(entry.object, IdentityEntity))


async def groups_of(head: HeadView, user: int) -> list[str]:
    """The names of the groups that a kept user is in."""
    prefix = id_bytes(user)
    groups = [second_of(key) async for key, _ in head.index(GROUPS_OF).prefix(prefix)]

    def named(ids: Tree) -> list[str]:
        places = [place_of(ids, group) for group in groups]
        return sorted(place.name for place in places if place is not None)

    return await look(head.index(IDS), named) if groups else []


async def dropped_at(head: HeadView, letter: bytes, names: Sequence[str]) -> list[int]:
    """The ids of the last drops of users or groups of these names; 0 where none was dropped."""

    def find(tree: Tree) -> list[int]:
        found = [tree.get(letter + name.encode()) for name in names]
        return [int.from_bytes(id or b"", "big") for id in found]

    return await look(head.index(DROPPED_NAMES), find)


def note_drop(draft: Draft, letter: bytes, name: str) -> None:
    """Remember, in a commit, that a user or group of this name was dropped now.

    Also what a clock that was ahead has stamped with a later id was there before this drop.
    """
    dropped = max(draft.new_id(), draft.marks.get(NEWEST_ID, 0))
    draft.index(DROPPED_NAMES).put(letter + name.encode(), id_bytes(dropped))


async def create_identities(kernel: Kernel) -> None:
    """Make sure that the pointer is there, also in a store that is older than it."""
    if await current_value(kernel) is None:
        await kernel.backend.create_pointers(SYSTEM_REALM, [IDENTITIES])


async def current_value(kernel: Kernel) -> int | None:
    """The value of the pointer now; None if it is not there."""
    [value] = await kernel.pointers.read([IDENTITIES_KEY])
    return value


async def current_head(kernel: Kernel) -> HeadView:
    """What is kept now."""
    return await open_head(kernel.store, SYSTEM_REALM, await current_value(kernel))


async def change_identities(kernel: Kernel, attempt: Callable[[Draft], T]) -> T:
    """Change what is kept in one commit, which also forgets what has expired."""
    await create_identities(kernel)

    def whole(draft: Draft) -> T:
        result = attempt(draft)
        _forget_expired(draft)
        return result

    return await kernel.committer.commit(IDENTITIES_KEY, whole)


def note(do: str, kind: str, name: str, by: str, **more: object) -> dict[str, object]:
    """What the change log says of it: never a secret."""
    return {"do": do, "kind": kind, "name": [name], **more, "by": by}


def revoke(draft: Draft, session: bytes, until_ms: int) -> bool:
    """Let a token and all it is exchanged for be worthless; False if they are so already.

    `until_ms` is when they would be anyway, or later: a session never gets longer.
    """
    if draft.index(REVOKED).get(session) is not None:
        return False
    until = until_ms.to_bytes(_TIME_BYTES, "big")
    draft.index(REVOKED).put(session, until)
    draft.index(REVOKED_UNTIL).put(until + session, b"")
    return True


def _forget_expired(draft: Draft) -> None:
    now = draft.now_ms.to_bytes(_TIME_BYTES, "big")
    expired = []
    for key, _ in draft.index(REVOKED_UNTIL).scan(b"", now):
        expired.append(key)
        if len(expired) == EXPIRED_PER_COMMIT:
            break
    for key in expired:
        draft.index(REVOKED_UNTIL).remove(key)
        draft.index(REVOKED).remove(key[_TIME_BYTES:])
