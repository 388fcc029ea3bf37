"""Namespaces that a caller may not load, and that lead to one that it may: they can be browsed."""

from itertools import islice

from headgate.access.decisions import permits, weigh
from headgate.access.privileges import Privilege
from headgate.access.rules import LOAD_SCHEMA
from headgate.catalog.entities import Entry
from headgate.catalog.naming import Names, id_bytes, names_to
from headgate.catalog.openings import Opened
from headgate.catalog.stored_names import IDS
from headgate.catalog.ways import scope_of
from headgate.kernel.index import look
from headgate.kernel.tree import Tree
from headgate.limits import GRANTS_BROWSED_MAX
from headgate.model.names import Levels

NOTHING: frozenset[int] = frozenset()


async def leading(opened: Opened) -> frozenset[int]:
    """The ids of all namespaces above those that a grant of their own lets the caller load.

    The grants are climbed up from, so this costs as much as they are, whatever the catalog holds.
    """
    grants = opened.access.grants.items()
    using = (id for id, (allow, _) in grants if allow & Privilege.USE_SCHEMA)
    wanted = list(islice(using, GRANTS_BROWSED_MAX))
    if not wanted:
        return NOTHING

    def named(ids: Tree) -> list[Levels]:
        ids.need(map(id_bytes, wanted))
        return [tuple(levels) for id in wanted if (levels := names_to(ids, id)) is not None]

    def paths(names: Names) -> list[list[Entry]]:
        return [names.path(levels) for levels in nested]

    nested = [levels for levels in await look(opened.head.index(IDS), named) if len(levels) > 1]
    found = await opened.look(paths) if nested else []
    return frozenset(entry.id for path in found if _may_load(opened, path) for entry in path[:-1])


def _may_load(opened: Opened, path: list[Entry]) -> bool:
    """Whether the caller may load the namespace at the end of a path: a grant may be denied."""
    access = opened.access
    weight = weigh(access, (opened.scope, *map(scope_of, path)))
    return permits(LOAD_SCHEMA, weight, access.standing)
