"""The catalogs of a metalake as its control plane has them: whoever asks needs the right to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from headgate.access import rules
from headgate.access.decisions import Scope
from headgate.access.objects import ObjectType
from headgate.access.rules import Rule
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalog_commits import (
    absent,
    add_catalog,
    change_catalog,
    remove_catalog,
)
from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.entities import CatalogEntity, Entry
from headgate.catalog.lake import Lake
from headgate.catalog.left_places import looking_into
from headgate.catalog.linked_places import check_links
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import CATALOGS, ROOT, Names
from headgate.catalog.nesting import SEPARATOR
from headgate.catalog.providers import BACKEND, WAREHOUSE, Sort, check_given, sort_of
from headgate.catalog.stored_names import NAMES
from headgate.catalog.territories import check_elsewhere, check_within, places_of
from headgate.errors import (
    CatalogExists,
    CatalogInUse,
    CatalogNotFound,
    CatalogNotInUse,
    LocationTaken,
)
from headgate.kernel.index import look
from headgate.model.gravitino.names import check_name

Change = Callable[[CatalogEntity], CatalogEntity]


class NewCatalog(NamedTuple):
    """A catalog that a caller wants."""

    name: str
    type: str
    provider: str | None
    comment: str
    properties: dict[str, str]


def kind_of(catalog: CatalogEntity) -> Sort:
    """What kind of catalog it is."""
    return Sort(catalog.type, catalog.provider)


async def list_catalogs(metalake: OpenedMetalake) -> list[CatalogEntity]:
    """The catalogs that the caller may load, by name."""
    entries = await look(
        metalake.catalogs.index(NAMES),
        lambda tree: [entry for _, entry in Names(tree).below(ROOT, CATALOGS)],
    )
    seen = [entry for entry in entries if metalake.may(rules.LOAD_CATALOG, (_scope(entry),))]
    return await metalake.catalogs.get_all([entry.object for entry in seen], CatalogEntity)


async def load_catalog(metalake: OpenedMetalake, rule: Rule = rules.LOAD_CATALOG) -> CatalogEntity:
    """The catalog of the call, if this rule lets the caller; it may be switched off."""
    name = metalake.call.catalog.catalog
    entry = await _find(metalake, name)
    metalake.require(rule, (_scope(entry),) if entry else (), names=(name,))
    if entry is None:
        raise absent(metalake.call)
    return await metalake.catalogs.get(entry.object, CatalogEntity)


async def create_catalog(
    lake: Lake, metalake: OpenedMetalake, places: CatalogPlaces, new: NewCatalog
) -> CatalogEntity:
    """A new catalog, which the caller owns."""
    metalake.require(rules.CREATE_CATALOG, names=(new.name,))
    call = metalake.call._replace(catalog=CatalogName(metalake.name, new.name))
    with _discreet():
        entity = await _prepared(lake, metalake, places, new)
        return await add_catalog(
            lake.kernel,
            metalake.state,
            call,
            entity,
            metalake.owner,
            is_empty=looking_into(lake.storage),
        )


async def try_new_catalog(
    lake: Lake, metalake: OpenedMetalake, places: CatalogPlaces, new: NewCatalog
) -> None:
    """Refuse what creating this catalog would be refused for, and create nothing."""
    with _discreet():
        entity = await _prepared(lake, metalake, places, new)
        wanted = places_of(entity)
        await check_within(metalake.state, metalake.catalogs, wanted)
        await check_elsewhere(lake.kernel, metalake.state.id, wanted, looking_into(lake.storage))
    if await _find(metalake, new.name) is not None:
        raise CatalogExists(f"Catalog already exists: {metalake.name}.{new.name}")


def try_catalog(places: CatalogPlaces, catalog: CatalogEntity) -> None:
    """Refuse a catalog whose files cannot be where they are to."""
    _check_in_use(catalog)
    if catalog.warehouse:
        places.check(catalog.warehouse)


async def alter_catalog(lake: Lake, metalake: OpenedMetalake, change: Change) -> CatalogEntity:
    """Change the catalog of the call, perhaps its name, by a pure function of what it is."""
    old = await load_catalog(metalake, rules.ALTER_CATALOG)

    def attempt(now: CatalogEntity) -> CatalogEntity:
        _check_same(metalake, now, old)
        _check_in_use(now)
        new = change(now)
        if new.name != now.name:
            check_name(new.name)
        return new

    return await change_catalog(lake.kernel, metalake.state, metalake.call, attempt)


async def switch_catalog(lake: Lake, metalake: OpenedMetalake, *, on: bool) -> None:
    """Switch the catalog of the call on or off, on every node with its next request."""
    old = await load_catalog(metalake, rules.ALTER_CATALOG)

    def attempt(now: CatalogEntity) -> CatalogEntity:
        _check_same(metalake, now, old)
        return msgspec.structs.replace(now, in_use=on)

    await change_catalog(lake.kernel, metalake.state, metalake.call, attempt)


async def drop_catalog(lake: Lake, metalake: OpenedMetalake, *, force: bool = False) -> bool:
    """Take the catalog of the call away; False if it is not there.

    Unless `force` says so, one that is switched on or holds something stays. With `force` the files
    of its tables are deleted, in the background.
    """
    try:
        gone = await load_catalog(metalake, rules.DROP_CATALOG)
    except CatalogNotFound:
        return False
    if gone.in_use and not force:
        raise CatalogInUse(
            f"Catalog {metalake.call.catalog} is in use",
            why="it is switched on",
            fix="Switch it off first, or drop it by force",
        )
    await remove_catalog(lake.kernel, metalake.state, metalake.call, gone, force=force)
    return True


@contextmanager
def _discreet() -> Iterator[None]:
    """Does not tell who has a place: it may be a catalog that the caller must not know."""
    try:
        yield
    except LocationTaken as taken:
        if taken.passing and taken.holder:
            raise LocationTaken(
                taken.what,
                why="a catalog was dropped there, and files of its tables are still being deleted",
                fix="Choose another location, or try again when they are gone",
            ) from taken
        raise LocationTaken(
            taken.what,
            why="another catalog lies there, above it or below it",
            fix="Choose another location",
        ) from taken


async def _prepared(
    lake: Lake, metalake: OpenedMetalake, places: CatalogPlaces, new: NewCatalog
) -> CatalogEntity:
    """The catalog that a caller wants, if it can be one."""
    check_name(new.name)
    sort = sort_of(new.type, new.provider)
    check_given(sort, new.properties)
    kept = dict(new.properties)
    warehouse = ""
    if sort.is_iceberg:
        kept.pop(BACKEND, None)
        wanted = kept.pop(WAREHOUSE, "")
        suffix = lake.new_uuid()[:8]
        warehouse = places.chosen(wanted) if wanted else places.own(metalake.name, new.name, suffix)
        kept[SEPARATOR] = lake.options.separator
    entity = CatalogEntity(
        0,
        new.name,
        warehouse,
        kept,
        new.comment,
        nested=sort.is_iceberg,
        created_by=metalake.call.principal,
        type=sort.type,
        provider=sort.provider,
    )
    if warehouse:
        places.check(warehouse)
        await check_links(lake.kernel, metalake.name, entity, places.real)
    return entity


async def _find(metalake: OpenedMetalake, name: str) -> Entry | None:
    return await look(
        metalake.catalogs.index(NAMES), lambda tree: Names(tree).find(ROOT, CATALOGS, name)
    )


def _scope(entry: Entry) -> Scope:
    return Scope(ObjectType.CATALOG, entry.id, entry.owner)


def _check_same(metalake: OpenedMetalake, now: CatalogEntity, old: CatalogEntity) -> None:
    """Refuse another catalog than the one that the caller may change."""
    if now.id != old.id:
        raise absent(metalake.call)


def _check_in_use(catalog: CatalogEntity) -> None:
    if not catalog.in_use:
        raise CatalogNotInUse(
            f"Catalog {catalog.name} is not in use",
            why="it is switched off",
            fix="Switch it on first",
        )
