"""Who has a location that another one wants, by name."""

from collections.abc import Iterable, Mapping
from itertools import islice

from headgate.access.rules import LOAD_TABLE, LOAD_VIEW
from headgate.catalog.entities import decode_entry
from headgate.catalog.naming import ROOT, Readable
from headgate.catalog.openings import Opened
from headgate.catalog.stored_names import NAMES
from headgate.errors import LocationTaken
from headgate.kernel.index import look
from headgate.limits import NAMES_LOOKED_AT_MAX
from headgate.model.names import Identifier

_ID_BYTES = 8


async def with_holder(opened: Opened, taken: LocationTaken) -> LocationTaken:
    """The same error, which says who has the location if that is cheap to find, and if the caller
    may know that one."""
    path = await look(opened.head.index(NAMES), lambda tree: path_to(tree, taken.holder))
    if not path:
        return taken
    holder = Identifier(path[:-1], path[-1])
    if not (await opened.may(LOAD_TABLE, *holder) or await opened.may(LOAD_VIEW, *holder)):
        return taken
    name = ".".join(path)
    return LocationTaken(
        taken.what,
        why=f"{name} lies there, above it or below it",
        fix=f"Choose another location, or drop {name} without purge first",
        holder=taken.holder,
    )


def name_of(index: Readable, id: int) -> str:
    """The name of this entity with those of its namespaces, empty if it was not found."""
    return ".".join(path_to(index, id))


def path_to(index: Readable, id: int) -> tuple[str, ...]:
    """The same, one by one from the outermost."""
    return next(iter(paths_to(index, [id])), ())


def paths_to(index: Readable, ids: Iterable[int]) -> list[tuple[str, ...]]:
    """The same for several entities; those that were not found are left out."""
    found: dict[int, tuple[int, str]] = {}
    for key, value in islice(index.scan(b"", None), NAMES_LOOKED_AT_MAX):
        parent, name = int.from_bytes(key[:_ID_BYTES], "big"), key[_ID_BYTES + 1 :].decode()
        found[decode_entry(value).id] = parent, name
    return [path for path in (_path(found, id) for id in ids) if path]


def _path(found: Mapping[int, tuple[int, str]], id: int) -> tuple[str, ...]:
    levels: list[str] = []
    while id in found:
        id, name = found[id]
        levels.insert(0, name)
    return tuple(levels) if id == ROOT else ()
