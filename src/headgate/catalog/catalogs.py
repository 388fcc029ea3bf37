"""Catalogs of a metalake: created, listed, changed, deleted. A fresh store gets one of its own."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headgate.catalog import catalog_commits
from headgate.catalog.calls import OPERATOR, Call, Caller, CatalogName
from headgate.catalog.catalog_commits import absent, add_catalog, has_files, remove_catalog
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import IsEmpty, keep_places, keep_used_places, nobody_looks
from headgate.catalog.naming import CATALOGS, ROOT, Names
from headgate.catalog.nesting import SEPARATOR, check_flat, check_nesting
from headgate.catalog.openings import content_of
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.catalog.territories import (
    HAVE_CATALOGS,
    check_elsewhere,
    check_removable,
    places_of,
)
from headgate.errors import (
    BadSetting,
    CatalogExists,
    Conflict,
    LocationTaken,
    RealmExists,
)
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState
from headgate.kernel.records import PointerKey

logger = logging.getLogger(__name__)


class LocationTerms(NamedTuple):
    """How a change of a catalog's locations looks into storage, and what it may remove."""

    is_empty: IsEmpty = nobody_looks
    has_no_file: IsEmpty = nobody_looks
    """The same, but a folder that is not there has no file."""
    leave_tables: bool = False
    """Whether a location is removed although tables or views lie there."""


async def create_catalog(
    kernel: Kernel, metalake: str, new: CatalogEntity, is_empty: IsEmpty = nobody_looks
) -> CatalogEntity:
    """Add a catalog."""
    realm = await kernel.realms.get(metalake)
    call = Call(CatalogName(realm.name, new.name), Caller(new.created_by))
    return await add_catalog(kernel, realm, call, new, is_empty=is_empty)


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


async def catalogs_with_files(kernel: Kernel, realm: Realm) -> list[CatalogEntity]:
    """The catalogs of a metalake, also dropped ones, that may have files of tables."""
    if realm.state not in HAVE_CATALOGS:
        return []
    stored = await stored_catalogs(kernel, realm)
    kept = [one for one in stored if await has_files(kernel, realm.id, one.id)]
    return [*kept, *(gone.entity for gone in await dropped_catalogs(kernel, realm.id))]


async def keep_all_places(kernel: Kernel, realm: Realm, *, by: str) -> None:
    """Remember the places of all catalogs of a metalake that is about to lose its data."""
    if realm.state not in HAVE_CATALOGS:
        return
    dropped = [gone.entity for gone in await dropped_catalogs(kernel, realm.id)]
    for catalog in (*await stored_catalogs(kernel, realm), *dropped):
        await keep_places(kernel, realm, catalog, catalog.locations, by)


async def check_all_locations(kernel: Kernel, check: Callable[[str], None]) -> None:
    """Refuse a store in which a catalog has a location that `check` refuses.

    Dropped catalogs count as long as files of theirs are deleted.
    """
    for realm in await kernel.realms.list():
        if realm.state not in HAVE_CATALOGS:
            continue
        dropped = [gone.entity for gone in await dropped_catalogs(kernel, realm.id)]
        for catalog in (*await stored_catalogs(kernel, realm), *dropped):
            for location in catalog.locations:
                try:
                    check(location)
                except BadSetting as error:
                    raise BadSetting(
                        f"catalog {realm.name}.{catalog.name} cannot be served: {error.what}",
                        why=error.why,
                        fix="Move these files with --data and the settings that name them, or "
                        "take the location away with `headgate catalog set NAME "
                        "allowed-locations=...`",
                    ) from error


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
        raise absent(Call(name))
    return await head.get(entry.object, CatalogEntity)


async def delete_catalog(kernel: Kernel, name: CatalogName, *, by: str = OPERATOR) -> CatalogEntity:
    """Take an empty catalog out of its metalake.

    Where files of dropped tables are still there, servers go on deleting them.
    """
    gone = await find_catalog(kernel, name)
    realm = await kernel.realms.get(name.metalake)
    await remove_catalog(kernel, realm, Call(name, Caller(by)), gone)
    return gone


async def alter_catalog(
    kernel: Kernel,
    name: CatalogName,
    changes: dict[str, Any],
    separator: str,
    *,
    by: str = OPERATOR,
    terms: LocationTerms | None = None,
) -> CatalogEntity:
    """Change fields of a catalog, unless names or other catalogs are in the way.

    These are looked at once more after the change: then no more can come. A location in which
    tables or views lie is only removed with `leave_tables`.
    """
    terms = terms or LocationTerms()
    before, call = await find_catalog(kernel, name), Call(name, Caller(by))
    had, realm = places_of(before), await kernel.realms.get(name.metalake)

    async def check(new: CatalogEntity) -> None:
        if "allowed_locations" in changes:
            added = tuple(place for place in places_of(new) if place not in had)
            await check_elsewhere(kernel, realm.id, added, terms.is_empty, (), new.id)
            if not terms.leave_tables:
                await check_removable(kernel, realm, lost, places_of(new), new.id)
        if "nested" in changes:
            await _check_nested(kernel, name, realm, new, separator)

    wanted = _applied(before, changes, separator)
    lost = [place for place in had if place not in places_of(wanted)]
    await check(wanted)
    await keep_used_places(kernel, realm, before, lost, by, terms.has_no_file)
    changed = await change_catalog(kernel, call, lambda now: _applied(now, changes, separator))
    try:
        await check(changed)
    except Conflict:
        await change_catalog(kernel, call, lambda now: _undone(now, before, changes, separator))
        raise
    return changed


async def change_catalog(
    kernel: Kernel, call: Call, change: Callable[[CatalogEntity], CatalogEntity]
) -> CatalogEntity:
    """Change a catalog by a pure function of what it is."""
    realm = await kernel.realms.get(call.catalog.metalake)
    return await catalog_commits.change_catalog(kernel, realm, call, change)


async def _check_nested(
    kernel: Kernel, name: CatalogName, realm: Realm, catalog: CatalogEntity, separator: str
) -> None:
    """Refuse what a catalog is to become if names are in the way."""
    head = await content_of(kernel, realm.id, catalog.id)
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
    is_empty: IsEmpty = nobody_looks,
) -> None:
    """Give a fresh store its first metalake and catalog; a store that has any is left alone.

    Several nodes may start at once, and one may have stopped half-way: each completes it. `check`
    refuses places that cannot be used. Where the files of a dropped catalog are still being
    deleted, or those of another metalake were left, there is no first catalog: a server must start
    to delete the former, and an operator frees the latter.
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
        try:
            with suppress(CatalogExists):  # another node was faster
                await create_catalog(kernel, metalake, catalog, is_empty)
        except LocationTaken as taken:
            if not taken.passing:
                raise
            logger.warning("catalog %s.%s is not created: %s", metalake, catalog.name, taken)
