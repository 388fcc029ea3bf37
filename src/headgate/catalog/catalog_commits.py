"""The commits that add, change and remove catalogs of one metalake, which is known by its realm."""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from headgate.catalog.calls import Call
from headgate.catalog.entities import CatalogEntity, Entry, Kind
from headgate.catalog.naming import CATALOGS, NAMES, ROOT, Names, NamesDraft
from headgate.catalog.openings import CATALOG_POINTER, head_pointer
from headgate.catalog.purging import PURGE
from headgate.catalog.reservations import held_by, release
from headgate.catalog.territories import check_elsewhere, places_of, settle, with_catalog
from headgate.errors import (
    BadRequest,
    CatalogExists,
    CatalogNotEmpty,
    CatalogNotFound,
    Conflict,
    LocationTaken,
    PointerSealed,
)
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.model.names import check_name


async def add_catalog(
    kernel: Kernel, realm: Realm, call: Call, new: CatalogEntity, owner: int = 0
) -> CatalogEntity:
    """Add a catalog: first what nobody can reach yet, then its name."""
    check_catalog_name(new.name)
    places = places_of(new)
    await check_elsewhere(kernel, realm.id, places)
    id = kernel.ids.next()
    await kernel.realm(realm.id).create_pointers([head_pointer(id)])

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft)
        _check_free(names, call, new.name)
        settle(draft, id, (), places)
        entity = msgspec.structs.replace(new, id=id, created_ms=draft.now_ms)
        names.add(ROOT, CATALOGS, new.name, Entry(Kind.CATALOG, id, draft.stage(entity), owner))
        draft.note(call.note("create", "catalog", [new.name]))
        return entity

    made = await _commit(kernel, realm, attempt)
    try:
        await check_elsewhere(kernel, realm.id, places)  # one may have come meanwhile
    except LocationTaken:
        with suppress(Conflict):  # somebody uses it already: neither purges what both have
            await remove_catalog(kernel, realm, call, made)
        raise
    return made


async def change_catalog(
    kernel: Kernel, realm: Realm, call: Call, change: Callable[[CatalogEntity], CatalogEntity]
) -> CatalogEntity:
    """Change a catalog, perhaps its name, by a pure function of what it is."""
    name = call.catalog.catalog

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, name)
        if entry is None:
            raise absent(call)
        old = draft.fetch(entry.object, CatalogEntity)
        new = change(old)
        if new == old:
            return old
        new = msgspec.structs.replace(new, changed_ms=draft.now_ms, changed_by=call.principal)
        if new.allowed_locations != old.allowed_locations:
            settle(draft, old.id, places_of(old), places_of(new))
        moved = msgspec.structs.replace(entry, object=draft.stage(new))
        draft.discard(entry.object)
        if new.name == old.name:
            names.put(ROOT, CATALOGS, name, moved)
            draft.note(call.note(_done(old, new), "catalog", [name]))
        else:
            check_catalog_name(new.name)
            _check_free(names, call, new.name)
            names.remove(ROOT, CATALOGS, name, entry)
            names.add(ROOT, CATALOGS, new.name, moved)
            draft.note(call.note("rename", "catalog", [name], to=[new.name]))
        return new

    return await _commit(kernel, realm, attempt)


async def remove_catalog(
    kernel: Kernel, realm: Realm, call: Call, gone: CatalogEntity, *, force: bool = False
) -> None:
    """Take a catalog out of its metalake: first nobody can use it, then its name is free.

    One that holds something stays, unless `force` says so. If it stops half-way, the catalog serves
    nobody, and removing it again completes it.
    """
    handle = kernel.realm(realm.id)

    def close(draft: Draft) -> None:
        _check_empty(draft, call, force=force)
        draft.seal()

    def forget(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, gone.name)
        if entry is None or entry.id != gone.id:
            return  # somebody else was faster
        last = draft.fetch(entry.object, CatalogEntity)
        names.remove(ROOT, CATALOGS, gone.name, entry)
        release(draft, held_by(draft, places_of(last), last.id))
        draft.discard(entry.object)
        draft.note(call.note("drop", "catalog", [gone.name]))

    with suppress(PointerSealed):  # it was begun before
        await handle.commit(head_pointer(gone.id), close)
    await handle.commit(CATALOG_POINTER, forget)


def check_catalog_name(name: str) -> None:
    """A catalog has a name without dots: they separate it from its metalake's."""
    check_name(name)
    if "." in name:
        raise BadRequest(
            f"Invalid catalog name: {name}", why="it has a dot", fix="Choose another name"
        )


def absent(call: Call) -> CatalogNotFound:
    """What to say of a catalog that does not exist."""
    metalake = call.catalog.metalake
    return CatalogNotFound(
        f"Catalog does not exist: {call.catalog}",
        fix=f"`headgate catalog list --metalake {metalake}` shows those that do",
    )


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


def _done(old: CatalogEntity, new: CatalogEntity) -> str:
    """What the change log calls it."""
    if new.in_use == old.in_use:
        return "alter"
    return "enable" if new.in_use else "disable"


def _check_free(names: Names, call: Call, name: str) -> None:
    if names.find(ROOT, CATALOGS, name) is not None:
        raise CatalogExists(f"Catalog already exists: {call.catalog.metalake}.{name}")


def _check_empty(draft: Draft, call: Call, *, force: bool) -> None:
    found = None if force else Names(draft.index(NAMES)).first_below(ROOT)
    if found is not None:
        raise CatalogNotEmpty(
            f"Catalog is not empty: {call.catalog}",
            why=f"it has the namespace {found[1]}, and perhaps others",
            fix="Drop its tables, views and namespaces first",
        )
    if next(draft.index(PURGE).scan(b"", None), None) is not None:
        raise CatalogNotEmpty(
            f"Catalog is not empty: {call.catalog}",
            why="files of dropped tables are still to be deleted",
            fix="Try again when a server has done that",
        )
