"""Where a caller may let things lie: only who owns a catalog chooses freely in it.

Others stay within the place of the schema. A table could otherwise be put where another schema's
tables are to lie, or be made of files that somebody else left there.
"""

from collections.abc import Iterable

from headgate.access.decisions import permits, weigh
from headgate.access.rules import ALTER_CATALOG
from headgate.catalog.entities import NamespaceEntity
from headgate.catalog.openings import Opened
from headgate.errors import Forbidden
from headgate.model.locations import is_within
from headgate.model.names import Levels
from headgate.model.physical import default_folder

LOCATION = "location"
"""The property of a namespace that says where its tables lie."""


async def check_in_schema(opened: Opened, levels: Levels, locations: Iterable[str]) -> None:
    """Refuse places of a table or view that are not those of its schema."""
    if not _is_free(opened):
        _check(locations, [_folder(opened, levels), await _chosen(opened, levels)])


async def check_for_schema(opened: Opened, levels: Levels, location: str) -> None:
    """Refuse a place of a schema that is neither its own nor in that of the schema above it."""
    if not _is_free(opened):
        _check([location], [_folder(opened, levels), await _chosen(opened, levels[:-1])])


def _is_free(opened: Opened) -> bool:
    access = opened.access
    if not access.is_checked:
        return True
    return permits(ALTER_CATALOG, weigh(access, (opened.scope,)), access.standing)


def _folder(opened: Opened, levels: Levels) -> str:
    return default_folder(opened.catalog.warehouse, levels)


async def _chosen(opened: Opened, levels: Levels) -> str:
    """Where a schema says that its tables lie; empty if it says nothing."""
    entry = await opened.look(lambda names: names.namespace(levels))
    if entry is None:
        return ""
    return (await opened.head.get(entry.object, NamespaceEntity)).properties.get(LOCATION, "")


def _check(locations: Iterable[str], places: Iterable[str]) -> None:
    known = [place for place in places if place]
    for location in locations:
        if not any(is_within(location, place) for place in known):
            raise Forbidden(
                f"Location is not allowed: {location}",
                why=f"only who owns the catalog chooses places outside of {' and '.join(known)}",
                fix="Leave the location out, or ask the owner",
            )
