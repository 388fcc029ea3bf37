"""Catalogs of a metalake: created, listed, changed, deleted. A fresh store gets one of its own."""

from contextlib import suppress
from typing import Any

import msgspec

from headgate.catalog.calls import CatalogName
from headgate.catalog.entities import CatalogEntity, Entry, Kind
from headgate.catalog.naming import CATALOGS, NAMES, NAMESPACES, ROOT, Names, NamesDraft
from headgate.catalog.openings import CATALOG_POINTER, head_pointer, look
from headgate.catalog.purging import PURGE
from headgate.catalog.reservations import release, reserve
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
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.model.locations import normalize, overlaps
from headgate.model.names import check_name
from headgate.model.separators import check_names_for_nesting

SEPARATOR = "schema.separator"
"""The property of a nested catalog that says which separator its names were checked with."""


async def create_catalog(kernel: Kernel, metalake: str, new: CatalogEntity) -> CatalogEntity:
    """Add a catalog: first what nobody can reach yet, then its name."""
    check_name(new.name)
    if "." in new.name:
        raise BadRequest(
            f"Invalid catalog name: {new.name}", why="it has a dot", fix="Choose another name"
        )
    for location in (new.warehouse, *new.allowed_locations):
        normalize(location)
    await _check_elsewhere(kernel, metalake, new)
    realm = kernel.realm((await kernel.realms.get(metalake)).id)
    id = kernel.ids.next()
    await realm.create_pointers([head_pointer(id)])

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft.index(NAMES))
        if names.find(ROOT, CATALOGS, new.name) is not None:
            raise CatalogExists(f"Catalog already exists: {metalake}.{new.name}")
        reserve(draft, [normalize(new.warehouse)], id)
        entity = msgspec.structs.replace(new, id=id, created_ms=draft.now_ms)
        names.put(ROOT, CATALOGS, new.name, Entry(Kind.CATALOG, id, draft.stage(entity)))
        draft.note({"do": "create", "kind": "catalog", "name": [new.name], "by": new.created_by})
        return entity

    return await realm.commit(CATALOG_POINTER, attempt)


async def _check_elsewhere(kernel: Kernel, metalake: str, new: CatalogEntity) -> None:
    """Refuse a warehouse that a catalog of another metalake has: each would purge the other's."""
    for realm in await kernel.realms.list():
        if realm.name == metalake or realm.state is not RealmState.ACTIVE:
            continue
        for other in await list_catalogs(kernel, realm.name):
            if overlaps(new.warehouse, other.warehouse):
                raise LocationTaken(
                    f"Location is taken: {new.warehouse}",
                    why=f"catalog {realm.name}.{other.name} lies there, above it or below it",
                    fix="Choose another warehouse",
                )


async def list_catalogs(kernel: Kernel, metalake: str) -> list[CatalogEntity]:
    """The catalogs of a metalake, by name."""
    realm = kernel.realm((await kernel.realms.get(metalake)).id)
    [head] = await realm.heads(CATALOG_POINTER)
    entries = await look(
        head.index(NAMES), lambda tree: [entry for _, entry in Names(tree).below(ROOT, CATALOGS)]
    )
    return [await head.get(entry.object, CatalogEntity) for entry in entries]


async def find_catalog(kernel: Kernel, name: CatalogName) -> CatalogEntity:
    """The catalog of this name."""
    for one in await list_catalogs(kernel, name.metalake):
        if one.name == name.catalog:
            return one
    raise _absent(name)


async def delete_catalog(kernel: Kernel, name: CatalogName) -> CatalogEntity:
    """Take an empty catalog out of its metalake: first nobody can use it, then its name is free.

    If it stops half-way, the catalog serves nobody, and deleting it again completes it.
    """
    gone = await find_catalog(kernel, name)
    realm = kernel.realm((await kernel.realms.get(name.metalake)).id)

    def close(draft: Draft) -> None:
        _check_empty(draft, name)
        draft.seal()

    def forget(draft: Draft) -> None:
        names = NamesDraft(draft.index(NAMES))
        entry = names.find(ROOT, CATALOGS, name.catalog)
        if entry is None or entry.id != gone.id:
            return  # somebody else was faster
        names.remove(ROOT, CATALOGS, name.catalog)
        release(draft, [normalize(gone.warehouse)])
        draft.discard(entry.object)
        draft.note({"do": "delete", "kind": "catalog", "name": [name.catalog]})

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
    kernel: Kernel, name: CatalogName, changes: dict[str, Any], separator: str
) -> CatalogEntity:
    """Change fields of a catalog. Nested namespaces are allowed only if no name is in the way."""
    for location in changes.get("allowed_locations", ()):
        normalize(location)
    if not changes.get("nested"):
        return await _alter(kernel, name, changes)
    await _check_names(kernel, name, separator)
    changed = await _alter(kernel, name, changes)
    try:
        await _check_names(kernel, name, separator)  # one may have come meanwhile; no more can now
    except Conflict:
        await _alter(kernel, name, {"nested": False})
        raise
    return changed


async def _alter(kernel: Kernel, name: CatalogName, changes: dict[str, Any]) -> CatalogEntity:
    realm = kernel.realm((await kernel.realms.get(name.metalake)).id)

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft.index(NAMES))
        entry = names.find(ROOT, CATALOGS, name.catalog)
        if entry is None:
            raise _absent(name)
        old = draft.fetch(entry.object, CatalogEntity)
        new = msgspec.structs.replace(old, **changes)
        if new.nested != old.nested:  # what was checked before no longer counts
            kept = {key: text for key, text in new.properties.items() if key != SEPARATOR}
            new = msgspec.structs.replace(new, properties=kept)
        if new != old:
            moved = msgspec.structs.replace(entry, object=draft.stage(new))
            names.put(ROOT, CATALOGS, name.catalog, moved)
            draft.discard(entry.object)
            draft.note({"do": "alter", "kind": "catalog", "name": [name.catalog]})
        return new

    return await realm.commit(CATALOG_POINTER, attempt)


async def bootstrap(kernel: Kernel, metalake: str, catalog: CatalogEntity) -> None:
    """Give a fresh store its first metalake and catalog; a store that has any is left alone.

    Several nodes may start at once, and one may have stopped half-way: each completes it.
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
        with suppress(CatalogExists):  # another node was faster
            await create_catalog(kernel, metalake, catalog)


async def _check_names(kernel: Kernel, name: CatalogName, separator: str) -> None:
    """Refuse nested namespaces where names of the first level contain the separator."""
    found = await find_catalog(kernel, name)
    realm = kernel.realm((await kernel.realms.get(name.metalake)).id)
    [head] = await realm.heads(head_pointer(found.id))
    names = await look(
        head.index(NAMES), lambda tree: [name for name, _ in Names(tree).below(ROOT, NAMESPACES)]
    )
    check_names_for_nesting(names, separator)
