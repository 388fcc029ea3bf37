"""Where a caller may let things lie: only who owns a catalog chooses freely in it.

Others stay within the place of the schema. A table could otherwise be put where another schema's
tables are to lie, or be made of files that somebody else left there.
"""

from collections.abc import Iterable
from functools import partial

from headgate.access.decisions import permits, weigh
from headgate.access.rules import ALTER_CATALOG
from headgate.catalog.claimants import NOBODY, Claimant
from headgate.catalog.entities import NamespaceEntity
from headgate.catalog.folder_index import with_folders
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.catalog.reservations import (
    Holding,
    Locations,
    check_vacant,
    never_retried,
    not_staged,
)
from headgate.catalog.schema_places import LOCATION, check_chosen, check_default, is_below
from headgate.catalog.stored_names import FOLDERS, LOCATIONS
from headgate.errors import Forbidden
from headgate.kernel.index import look
from headgate.model.locations import is_within
from headgate.model.names import Levels
from headgate.model.physical import default_folder, own_folder


async def check_locations(
    lake: Lake,
    opened: Opened,
    levels: Levels,
    wanted: Locations,
    held: Holding | None = None,
) -> None:
    """Refuse places of a table or view that are not allowed or taken, before anything is written
    there. What it has already is its own.

    Only the commit decides: until then another one may come.
    """
    added = [place for place in wanted if not held or place not in held.locations]
    schema = await opened.look(lambda names: names.namespace(levels))
    claimant = Claimant(
        held.id if held else NOBODY,
        schema.id if schema else NOBODY,
        chooses_freely(opened),
        opened.call.principal,
        lake.now_ms(),
    )
    index = opened.head.index(LOCATIONS)
    new = await look(index, lambda tree: not_staged(tree, added, claimant))
    await _check_in_schema(opened, levels, added, new)
    opened.check_allowed(wanted, lake.options.can_be_allowed)
    with never_retried(held):
        # First: to drop the tables in the folder of a namespace would not help.
        await opened.look(lambda names: check_default(names, opened.catalog.warehouse, new))
        if added and opened.catalog.warehouse:
            folders = (await with_folders(lake, opened)).index(FOLDERS)
            await look(folders, lambda tree: check_chosen(tree, new))
        await look(index, lambda tree: check_vacant(tree, added, claimant))


async def check_for_schema(opened: Opened, levels: Levels, location: str) -> None:
    """Refuse a place of a schema that is neither its own nor in that of the schema above it."""
    if not chooses_freely(opened):
        _check([location], [_folder(opened, levels), await _chosen(opened, levels[:-1])])


def chooses_freely(opened: Opened) -> bool:
    """Whether the caller owns the catalog, or may do the same as its owner."""
    access = opened.access
    if not access.is_checked:
        return True
    return permits(ALTER_CATALOG, weigh(access, (opened.scope,)), access.standing)


async def _check_in_schema(
    opened: Opened, levels: Levels, locations: Iterable[str], new: Iterable[str]
) -> None:
    """Refuse places of a table or view that are not those of its schema, and new ones that are
    those of a schema below it."""
    if chooses_freely(opened):
        return
    schema = await opened.look(lambda names: names.namespace(levels))
    own = own_folder(opened.catalog.warehouse, schema.id) if schema else ""
    folder = _folder(opened, levels)
    _check(locations, [folder, await _chosen(opened, levels)], own)
    if schema is None:
        return
    for location in new:
        find = partial(is_below, schema=schema.id, folder=folder, location=location)
        if await opened.look(find):
            raise _refused(location, f"schemas below {folder} have places of their own there")


def _folder(opened: Opened, levels: Levels) -> str:
    return default_folder(opened.catalog.warehouse, levels)


async def _chosen(opened: Opened, levels: Levels) -> str:
    """Where a schema says that its tables lie; empty if it says nothing."""
    entry = await opened.look(lambda names: names.namespace(levels))
    if entry is None:
        return ""
    return (await opened.head.get(entry.object, NamespaceEntity)).properties.get(LOCATION, "")


def _check(locations: Iterable[str], places: Iterable[str], own: str = "") -> None:
    known = [place for place in places if place]
    for location in locations:
        if not any(is_within(location, place) for place in (*known, own) if place):
            outside = " and ".join(known)
            raise _refused(
                location, f"only who owns the catalog chooses places outside of {outside}"
            )


def _refused(location: str, why: str) -> Forbidden:
    return Forbidden(
        f"Location is not allowed: {location}",
        why=why,
        fix="Leave the location out, or ask the owner",
    )
