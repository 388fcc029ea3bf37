"""The objects on the way from a catalog down to what is asked for, as rules weigh them."""

from typing import NamedTuple

from headgate.access.decisions import Scope
from headgate.access.objects import ObjectType
from headgate.catalog.entities import Entry, Kind
from headgate.catalog.naming import Names
from headgate.model.names import Levels

OBJECT_TYPES = {
    Kind.CATALOG: ObjectType.CATALOG,
    Kind.NAMESPACE: ObjectType.SCHEMA,
    Kind.TABLE: ObjectType.TABLE,
    Kind.VIEW: ObjectType.VIEW,
    Kind.FUNCTION: ObjectType.FUNCTION,
    Kind.ROLE: ObjectType.ROLE,
}


class Way(NamedTuple):
    """Where a name leads."""

    scopes: tuple[Scope, ...]
    """Those that are there, outermost first, without the catalog."""
    is_whole: bool
    """Whether it leads all the way, or ends before."""


def scope_of(entry: Entry) -> Scope:
    """An entry of a name index, as rules see it."""
    return Scope(OBJECT_TYPES[entry.kind], entry.id, entry.owner)


def way_to(names: Names, levels: Levels, group: bytes, name: str) -> Way:
    """The namespaces along a path, and what has this name in the last of them; none if empty."""
    path = names.path(levels)
    is_whole = len(path) == len(levels)
    if name and is_whole:
        leaf = names.find(path[-1].id, group, name) if path else None
        is_whole = leaf is not None
        path += [leaf] if leaf is not None else []
    return Way(tuple(map(scope_of, path)), is_whole)
