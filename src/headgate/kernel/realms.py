"""Realms: isolated tenants of one store, their life cycle, and the commits that move it."""

from collections.abc import Callable, Collection
from contextlib import suppress
from enum import Enum

import msgspec

from headgate.errors import (
    IllegalRealmMove,
    InvalidInput,
    NewerFormat,
    RealmExists,
    RealmNotActive,
    RealmNotFound,
)
from headgate.kernel.commit import Committer
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.objects import FieldDecoder, Stored, encode_fields
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.kernel.system import REALM_POINTERS, REALMS, SYSTEM_REALM, check_realm_name
from headgate.limits import PURGE_ROWS_PER_CALL

REALMS_KEY = PointerKey(SYSTEM_REALM, REALMS)
BY_ID, BY_NAME = "ids", "names"
DROPPED = "headgate.dropped"
"""The property of a realm that was dropped: the name that it had."""
DROPPED_BY = "headgate.dropped-by"
"""And who dropped it."""
DROPPED_NAME_CHARS = 64
LOADED_FROM = "headgate.loaded-from"
"""The property of a realm that is LOADING: which export it is filled from."""


class RealmState(Enum):
    """Where a realm is in its life."""

    CREATED = "CREATED"
    """Its name is taken and nothing else."""
    INITIALIZING = "INITIALIZING"
    """It is being set up as a new, empty realm."""
    LOADING = "LOADING"
    """It is being filled from an export."""
    ACTIVE = "ACTIVE"
    """It serves requests; no other state does."""
    INACTIVE = "INACTIVE"
    """It is switched off and can be switched on again."""
    PURGING = "PURGING"
    """Its data is being deleted; there is no way back."""
    PURGED = "PURGED"
    """Its data is gone; only its name is left."""


_S = RealmState
MOVES: dict[RealmState, frozenset[RealmState]] = {
    _S.CREATED: frozenset({_S.CREATED, _S.INITIALIZING, _S.LOADING, _S.PURGING}),
    _S.INITIALIZING: frozenset({_S.ACTIVE, _S.INACTIVE, _S.PURGING}),
    _S.LOADING: frozenset({_S.ACTIVE, _S.INACTIVE, _S.PURGING}),
    _S.ACTIVE: frozenset({_S.ACTIVE, _S.INACTIVE}),
    _S.INACTIVE: frozenset({_S.INACTIVE, _S.ACTIVE, _S.PURGING}),
    _S.PURGING: frozenset({_S.PURGING, _S.PURGED}),
    _S.PURGED: frozenset({_S.PURGED}),
}


class Realm(Stored, frozen=True):
    """One realm. Its id is never used again; its name is free once it is deleted."""

    id: str
    name: str
    state: RealmState
    created_ms: int
    changed_ms: int
    properties: dict[str, str] = {}
    imported: str = ""
    """Which export it was filled from."""


_decoder = FieldDecoder(Realm)


class Realms:
    """The realms of a store. A name or an id says which one is meant; a name goes first."""

    def __init__(self, store: Store, pointers: Pointers, committer: Committer) -> None:
        self._store = store
        self._pointers = pointers
        self._committer = committer

    async def list(self) -> list[Realm]:
        """All realms, by name."""
        head = await self._head()
        realms = [_decode(value) async for _, value in head.index(BY_ID).scan()]
        return sorted(realms, key=lambda realm: (realm.name, realm.id))

    async def get(self, name: str) -> Realm:
        """The realm with this name or id."""
        check_realm_name(name)
        head = await self._head()
        id = await head.index(BY_NAME).get(name.encode())
        value = await head.index(BY_ID).get(id or name.encode())
        if value is None:
            raise unknown(name)
        return _decode(value)

    async def create(self, name: str, properties: dict[str, str] | None = None) -> Realm:
        """A new realm, set up and ACTIVE. A crash leaves one that `activate` completes."""
        return await self._complete(await self.reserve(name, properties))

    async def reserve(
        self, name: str, properties: dict[str, str] | None = None, *, by: str = ""
    ) -> Realm:
        """A new realm that is CREATED and nothing else."""
        check_realm_name(name)
        _check_properties(properties or {})

        def attempt(draft: Draft) -> Realm:
            _check_free(draft, name)
            id = str(draft.new_id())  # made here: no sweep takes a listed realm for an old one
            realm = Realm(id, name, _S.CREATED, draft.now_ms, draft.now_ms, properties or {})
            draft.index(BY_NAME).put(name.encode(), id.encode())
            _put(draft, realm)
            draft.note(_note(realm, by))
            return realm

        return await self._committer.commit(REALMS_KEY, attempt)

    async def activate(self, name: str, *, by: str = "") -> Realm:
        """Let a realm serve requests: an INACTIVE one again, one that was being created at last."""
        realm = await self.get(name)
        if realm.state is _S.LOADING:
            raise _unfinished(realm)
        if realm.state in {_S.CREATED, _S.INITIALIZING}:
            return await self._complete(realm)
        return await self.move(realm.id, _S.ACTIVE, by=by)

    async def deactivate(self, name: str, *, by: str = "") -> Realm:
        """Switch a realm off, on every node with its next request."""
        realm = await self.get(name)
        if realm.state in {_S.INITIALIZING, _S.LOADING}:
            raise _unfinished(realm)
        return await self.move(realm.id, _S.INACTIVE, by=by)

    async def purge(
        self, name: str, progress: Callable[[int], None] | None = None, *, by: str = ""
    ) -> Realm:
        """Delete all data of a realm. May be repeated after a crash."""
        realm = await self.get(name)
        if realm.state is not _S.PURGED:
            await self.move(realm.id, _S.PURGING, by=by)
        await self._delete_data(realm.id, progress)
        return await self.move(realm.id, _S.PURGED)

    async def delete(self, name: str) -> Realm:
        """Forget a purged realm and free its name."""
        known = await self.get(name)
        if known.state is _S.PURGED:
            await self._delete_data(known.id)  # what somebody was still writing during the purge

        def attempt(draft: Draft) -> Realm:
            realm = _get(draft, known.id)
            if realm.state is not _S.PURGED:
                raise IllegalRealmMove(
                    f"realm {realm.name!r} cannot be deleted",
                    why=f"it is {realm.state.value}",
                    fix="Only a PURGED realm can be deleted: deactivate it, then purge it",
                )
            draft.index(BY_ID).remove(realm.id.encode())
            draft.index(BY_NAME).remove(realm.name.encode())
            draft.note({"realm": realm.name, "id": realm.id, "state": "deleted"})
            return realm

        return await self._committer.commit(REALMS_KEY, attempt)

    async def rename(self, id: str, name: str, *, by: str = "") -> Realm:
        """Give a realm another name that is free, at one instant; its id stays."""
        check_realm_name(name)

        def attempt(draft: Draft) -> Realm:
            realm = _get(draft, id, dropped=False)
            if realm.name == name:
                return realm
            _check_free(draft, name)
            draft.note(_done("rename", realm, by, to=[name]))
            return _put_under(draft, realm, msgspec.structs.replace(realm, name=name))

        return await self._committer.commit(REALMS_KEY, attempt)

    async def drop(self, id: str, *, by: str = "", active: bool = True) -> Realm:
        """Free the name of a realm and switch it off, at one instant; `active` also if it is on.
        Its data is there until it is purged, under a name that says so."""

        def attempt(draft: Draft) -> Realm:
            realm = _get(draft, id)
            if DROPPED in realm.properties:
                return realm
            check_move(realm, _S.INACTIVE if active else _S.PURGING)
            gone = msgspec.structs.replace(
                realm,
                name=f"{realm.name[:DROPPED_NAME_CHARS]} (dropped {id})",
                state=_S.INACTIVE,
                properties={**realm.properties, DROPPED: realm.name, DROPPED_BY: by},
            )
            draft.note(_done("drop", realm, by))
            return _put_under(draft, realm, gone)

        return await self._committer.commit(REALMS_KEY, attempt)

    async def set_up(self, realm: Realm) -> Realm:
        """Give a realm that is CREATED all it needs before its first commit: INITIALIZING."""
        if realm.state is _S.CREATED:
            with suppress(IllegalRealmMove):  # another node is completing it too
                realm = await self.move(realm.id, _S.INITIALIZING)
        await self.create_pointers(realm.id, REALM_POINTERS)
        return realm

    async def create_pointers(self, id: str, names: Collection[str]) -> None:
        """Make pointers of a realm; `RealmNotFound`, and none is left, if it is purged or gone."""
        await self._store.backend.create_pointers(id, names)
        with suppress(RealmNotFound):
            if (await realm_of(await self._head(), id)).state not in {_S.PURGING, _S.PURGED}:
                return
        await self._delete_data(id)
        raise unknown(id)

    async def move(self, id: str, to: RealmState, *, by: str = "", dropped: bool = True) -> Realm:
        """Move a realm to another state, also a `dropped` one; `IllegalRealmMove` if it cannot."""

        def attempt(draft: Draft) -> Realm:
            realm = _get(draft, id, dropped=dropped)
            check_move(realm, to)
            if realm.state is to:
                return realm
            moved = msgspec.structs.replace(
                realm,
                state=to,
                changed_ms=draft.now_ms,
                properties=_properties_in(realm, to),
                imported=realm.properties.get(LOADED_FROM, realm.imported),
            )
            _put(draft, moved)
            draft.note(_note(moved, by, was=realm.state.value))
            return moved

        return await self._committer.commit(REALMS_KEY, attempt)

    async def _complete(self, realm: Realm) -> Realm:
        await self.set_up(realm)
        return await self.move(realm.id, _S.ACTIVE)

    async def _delete_data(self, id: str, progress: Callable[[int], None] | None = None) -> None:
        deleted = 0
        while more := await self._store.backend.delete_realm(id, PURGE_ROWS_PER_CALL):
            deleted += more
            if progress is not None:
                progress(deleted)

    async def _head(self) -> HeadView:
        [current] = await self._pointers.read([REALMS_KEY])
        return await open_head(self._store, SYSTEM_REALM, current)


def check_move(realm: Realm, to: RealmState) -> None:
    """Refuse a move that a realm's life does not allow."""
    if to not in MOVES[realm.state]:
        ways = sorted(state.value for state in MOVES[realm.state] - {realm.state})
        raise IllegalRealmMove(
            f"realm {realm.name!r} cannot become {to.value}",
            why=f"it is {realm.state.value}",
            fix=f"From there it can become {' or '.join(ways)}" if ways else "It can be deleted",
        )


async def find_realm(head: HeadView, name: str) -> Realm | None:
    """The realm of this name, as a head of `realms` has it."""
    id = await head.index(BY_NAME).get(name.encode())
    value = None if id is None else await head.index(BY_ID).get(id)
    return None if value is None else _decode(value)


async def realm_of(head: HeadView, id: str) -> Realm:
    """The realm of this id, as a head of `realms` has it."""
    value = await head.index(BY_ID).get(id.encode())
    if value is None:
        raise unknown(id)
    return _decode(value)


async def check_active(head: HeadView, id: str) -> None:
    """Refuse a realm that does not serve requests."""
    check_serving(await realm_of(head, id))


def is_dropped(realm: Realm) -> bool:
    """Whether it was dropped, and still has its data."""
    return realm.state is _S.INACTIVE and DROPPED in realm.properties


def check_serving(realm: Realm) -> None:
    """Refuse a realm that does not serve requests."""
    if realm.state is not _S.ACTIVE:
        raise RealmNotActive(
            f"realm {realm.name!r} does not serve requests",
            why=f"it is {realm.state.value}",
            fix=f"Switch it on with `headgate realm activate {realm.name}`"
            if realm.state not in {_S.PURGING, _S.PURGED}
            else "Its data is deleted; create another one",
        )


def _decode(value: bytes) -> Realm:
    try:
        return _decoder.decode(value)
    except msgspec.ValidationError as error:
        raise NewerFormat(
            "a realm cannot be read",
            why=f"this program does not understand it: {error}",
            fix="Upgrade this node",
        ) from error


def _check_properties(properties: dict[str, str]) -> None:
    try:
        msgspec.convert(properties, dict[str, str], strict=True)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            "the realm cannot be created", why=f"its properties: {error}", fix="Use text only"
        ) from error


def _unfinished(realm: Realm) -> IllegalRealmMove:
    return IllegalRealmMove(
        f"realm {realm.name!r} cannot be switched on or off",
        why=f"it is {realm.state.value}",
        fix="Activate it to complete its creation, or purge it"
        if realm.state is _S.INITIALIZING
        else "Wait until it is loaded, or purge it",
    )


def _get(draft: Draft, id: str, *, dropped: bool = True) -> Realm:
    value = draft.index(BY_ID).get(id.encode())
    realm = None if value is None else _decode(value)
    if realm is None or (DROPPED in realm.properties and not dropped):
        raise unknown(id)
    return realm


def _put(draft: Draft, realm: Realm) -> None:
    draft.index(BY_ID).put(realm.id.encode(), encode_fields(realm))


def _properties_in(realm: Realm, to: RealmState) -> dict[str, str]:
    """The properties of a realm in its next state, without what was only true in this one."""
    gone = {_S.ACTIVE: {LOADED_FROM, DROPPED, DROPPED_BY}, _S.INACTIVE: {LOADED_FROM}}.get(to, ())
    return {name: text for name, text in realm.properties.items() if name not in gone}


def _put_under(draft: Draft, before: Realm, after: Realm) -> Realm:
    """Let a realm be known by another name."""
    realm = msgspec.structs.replace(after, changed_ms=draft.now_ms)
    draft.index(BY_NAME).remove(before.name.encode())
    draft.index(BY_NAME).put(realm.name.encode(), realm.id.encode())
    _put(draft, realm)
    return realm


def _check_free(draft: Draft, name: str) -> None:
    taken = draft.index(BY_NAME).get(name.encode()) or draft.index(BY_ID).get(name.encode())
    if taken is not None:
        raise RealmExists(
            f"realm {name!r} cannot be created",
            why="there is one of this name or id",
            fix="Choose another name; `realm activate` completes one that is half made",
        )


def _note(realm: Realm, by: str, **more: str) -> dict[str, str]:
    """What the log says of a realm that is in this state from now on."""
    known = {"by": by} if by else {}
    if DROPPED in realm.properties:
        known["dropped"] = realm.properties[DROPPED]
    return {"realm": realm.name, "id": realm.id, "state": realm.state.value, **more, **known}


def _done(do: str, realm: Realm, by: str, **more: object) -> dict[str, object]:
    """What the log says of something else that was done to a realm."""
    return {"do": do, "kind": "metalake", "name": [realm.name], "id": realm.id, "by": by, **more}


def unknown(name: str) -> RealmNotFound:
    """What to say of a realm that does not exist."""
    return RealmNotFound(
        f"realm {name!r} does not exist",
        why="no realm has this name or id",
        fix="`headgate realm list` shows those that do",
    )
