"""Catalogs of a metalake: created, listed, changed, deleted. A fresh store gets one of its own."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.entities import CatalogEntity, Entry, Kind
from headgate.catalog.naming import CATALOGS, NAMES, ROOT, Names, NamesDraft
from headgate.catalog.nesting import SEPARATOR, check_flat, check_nesting
from headgate.catalog.openings import CATALOG_POINTER, head_pointer
from headgate.catalog.purging import PURGE
from headgate.catalog.reservations import held_by, release
from headgate.catalog.territories import (
    HAVE_CATALOGS,
    check_elsewhere,
    places_of,
    settle,
    with_catalog,
)
from headgate.errors import (
    BadRequest,
    CatalogExists,
    CatalogNotFound,
    Conflict,
    LocationTaken,
    PointerSealed,
    RealmExists,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.model.names import check_name

OPERATOR = "operator"
"""Who changes catalogs, if nobody else is named."""


async def create_catalog(kernel: Kernel, metalake: str, new: CatalogEntity) -> CatalogEntity:
    """Add a catalog: first what nobody can reach yet, then its name."""
    check_name(new.name)
    if "." in new.name:
        raise BadRequest(
            f"Invalid catalog name: {new.name}", why="it has a dot", fix="Choose another name"
        )
    places = places_of(new)
    realm = await kernel.realms.get(metalake)
    call = Call(CatalogName(realm.name, new.name), Caller(new.created_by))
    await check_elsewhere(kernel, realm.id, places)
    id = kernel.ids.next()
    await kernel.realm(realm.id).create_pointers([head_pointer(id)])

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft)
        if names.find(ROOT, CATALOGS, new.name) is not None:
            raise CatalogExists(f"Catalog already exists: {call.catalog}")
        settle(draft, id, (), places)
        entity = msgspec.structs.replace(new, id=id, created_ms=draft.now_ms)
        names.add(ROOT, CATALOGS, new.name, Entry(Kind.CATALOG, id, draft.stage(entity)))
        draft.note(call.note("create", "catalog", [new.name]))
        return entity

    made = await _commit(kernel, realm, attempt)
    try:
        await check_elsewhere(kernel, realm.id, places)  # one may have come meanwhile
    except LocationTaken:
        with suppress(Conflict):  # somebody uses it already: neither purges what both have
            await delete_catalog(kernel, call.catalog, by=new.created_by)
        raise
    return made


async def _commit(
    kernel: Kernel, realm: Realm, attempt: Callable[[Draft], CatalogEntity]
) -> CatalogEntity:
    """Change the catalogs of a metalake; an error names the one that is in the way."""
    handle = kernel.realm(realm.id)
    try:
        return await handle.commit(CATALOG_POINTER, attempt)
    except LocationTaken as taken:
        [head] = await handle.heads(CATALOG_POINTER)
        raise await with_catalog(realm.name, head, taken) from taken


async def list_catalogs(kernel: Kernel, metalake: str) -> list[CatalogEntity]:
    """The catalogs of a metalake, by name."""
    realm = kernel.realm((await kernel.realms.get(metalake)).id)
    [head] = await realm.heads(CATALOG_POINTER)
    return await _all_of(head)


async def stored_catalogs(kernel: Kernel, realm: Realm) -> list[CatalogEntity]:
    """The catalogs of a metalake that may be switched off; none of one that has no data."""
    if realm.state not in HAVE_CATALOGS:
        return []
    [value] = await kernel.pointers.read([PointerKey(realm.id, CATALOG_POINTER)])
    return await _all_of(await open_head(kernel.store, realm.id, value))


async def _all_of(head: HeadView) -> list[CatalogEntity]:
    entries = await look(
        head.index(NAMES), lambda tree: [entry for _, entry in Names(tree).below(ROOT, CATALOGS)]
    )
    return [await head.get(entry.object, CatalogEntity) for entry in entries]


async def find_catalog(kernel: Kernel, name: CatalogName) -> CatalogEntity:
    """The catalog of this name."""
    realm = kernel.realm((await kernel.realms.get(name.metalake)).id)
    [head] = await realm.heads(CATALOG_POINTER)
    entry = await look(
        head.index(NAMES), lambda tree: Names(tree).find(ROOT, CATALOGS, name.catalog)
    )
    if entry is None:
        raise _absent(name)
    return await head.get(entry.object, CatalogEntity)


async def delete_catalog(kernel: Kernel, name: CatalogName, *, by: str = OPERATOR) -> CatalogEntity:
    """Take an empty catalog out of its metalake: first nobody can use it, then its name is free.

    If it stops half-way, the catalog serves nobody, and deleting it again completes it.
    """
    gone = await find_catalog(kernel, name)
    realm = kernel.realm((await kernel.realms.get(name.metalake)).id)

    def close(draft: Draft) -> None:
        _check_empty(draft, name)
        draft.seal()

    def forget(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, name.catalog)
        if entry is None or entry.id != gone.id:
            return  # somebody else was faster
        last = draft.fetch(entry.object, CatalogEntity)
        names.remove(ROOT, CATALOGS, name.catalog, entry)
        release(draft, held_by(draft, places_of(last), last.id))
        draft.discard(entry.object)
        draft.note(Call(name, Caller(by)).note("delete", "catalog", [name.catalog]))

    with suppress(PointerSealed):  # it was begun before
        await realm.commit(head_pointer(gone.id), close)
    await realm.commit(CATALOG_POINTER, forget)
    return gone


def _check_empty(draft: Draft, name: CatalogName) -> None:
    found = Names(draft.index(NAMES)).first_below(ROOT)
    if found is not None:
        raise Conflict(
            f"Catalog is not empty: {name}",
            why=f"it has the namespace {found[1]}, and perhaps others",
            fix="Drop its tables, views and namespaces first",
        )
    if next(draft.index(PURGE).scan(b"", None), None) is not None:
        raise Conflict(
            f"Catalog is not empty: {name}",
            why="files of dropped tables are still to be deleted",
            fix="Try again when a server has done that",
        )


def _absent(name: CatalogName) -> CatalogNotFound:
    return CatalogNotFound(
        f"Catalog does not exist: {name}",
        fix=f"`headgate catalog list --metalake {name.metalake}` shows those that do",
    )


async def alter_catalog(
    kernel: Kernel,
    name: CatalogName,
    changes: dict[str, Any],
    separator: str,
    *,
    by: str = OPERATOR,
) -> CatalogEntity:
    """Change fields of a catalog, unless names or other catalogs are in the way.

    These are looked at once more after the change: then no more can come.
    """
    before, call = await find_catalog(kernel, name), Call(name, Caller(by))
    await _check(kernel, name, _applied(before, changes, separator), changes, separator)
    changed = await change_catalog(kernel, call, lambda now: _applied(now, changes, separator))
    try:
        await _check(kernel, name, changed, changes, separator)
    except Conflict:
        await change_catalog(kernel, call, lambda now: _undone(now, before, changes, separator))
        raise
    return changed


async def change_catalog(
    kernel: Kernel, call: Call, change: Callable[[CatalogEntity], CatalogEntity]
) -> CatalogEntity:
    """Change a catalog by a pure function of what it is."""
    name = call.catalog

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, name.catalog)
        if entry is None:
            raise _absent(name)
        old = draft.fetch(entry.object, CatalogEntity)
        new = change(old)
        if new.allowed_locations != old.allowed_locations:
            settle(draft, old.id, places_of(old), places_of(new))
        if new != old:
            moved = msgspec.structs.replace(entry, object=draft.stage(new))
            names.put(ROOT, CATALOGS, name.catalog, moved)
            draft.discard(entry.object)
            draft.note(call.note("alter", "catalog", [name.catalog]))
        return new

    return await _commit(kernel, await kernel.realms.get(name.metalake), attempt)


async def _check(
    kernel: Kernel,
    name: CatalogName,
    catalog: CatalogEntity,
    changes: dict[str, Any],
    separator: str,
) -> None:
    """Refuse what a catalog is to become if names, or catalogs of others, are in the way."""
    realm = await kernel.realms.get(name.metalake)
    if "allowed_locations" in changes:
        await check_elsewhere(kernel, realm.id, places_of(catalog))
    if "nested" in changes:
        [head] = await kernel.realm(realm.id).heads(head_pointer(catalog.id))
        if catalog.nested:
            await check_nesting(head.index(NAMES), separator)
        else:
            await check_flat(head.index(NAMES), name.catalog)


def _applied(old: CatalogEntity, changes: dict[str, Any], separator: str) -> CatalogEntity:
    """A catalog with these fields. One that becomes nested says what its names are checked with."""
    new = msgspec.structs.replace(old, **changes)
    if new.nested == old.nested:
        return new
    kept = {key: text for key, text in new.properties.items() if key != SEPARATOR}
    checked = {SEPARATOR: separator} if new.nested else {}
    return msgspec.structs.replace(new, properties=kept | checked)


def _undone(
    now: CatalogEntity, before: CatalogEntity, changes: dict[str, Any], separator: str
) -> CatalogEntity:
    """A catalog without these changes, as far as nobody else changed the same since."""
    ours = [field for field, value in changes.items() if getattr(now, field) == value]
    return _applied(now, {field: getattr(before, field) for field in ours}, separator)


async def bootstrap(
    kernel: Kernel,
    metalake: str,
    catalog: CatalogEntity,
    check: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Give a fresh store its first metalake and catalog; a store that has any is left alone.

    Several nodes may start at once, and one may have stopped half-way: each completes it. `check`
    refuses places that cannot be used.
    """
    realms = await kernel.realms.list()
    if not realms:
        with suppress(RealmExists):  # another node was faster
            await kernel.realms.create(metalake)
        realms = await kernel.realms.list()
    realm = next((realm for realm in realms if realm.name == metalake), None)
    if realm is not None and realm.state in {RealmState.CREATED, RealmState.INITIALIZING}:
        realm = await kernel.realms.activate(metalake)
    if realm is None or realm.state is not RealmState.ACTIVE:
        return  # it is another store, or somebody switched the metalake off
    if not await list_catalogs(kernel, metalake):
        if check:
            await check()
        with suppress(CatalogExists):  # another node was faster
            await create_catalog(kernel, metalake, catalog)
