"""Finds the tables and views that hold locations, in whatever catalog they are.

A catalog that loses an allowed location keeps the tables and views in it, so the locations of
catalogs alone do not show all that is held.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from headgate.catalog.claimants import NOBODY, holder_of, is_left, staged_at
from headgate.catalog.dropped_catalogs import DROPPED, all_dropped
from headgate.catalog.holders import paths_to
from headgate.catalog.naming import CATALOGS, ROOT, Names, Readable
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGE, live_jobs
from headgate.catalog.reservations import all_at
from headgate.catalog.stored_names import LOCATIONS, NAMES
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED as FORMER_NAME
from headgate.kernel.realms import Realm, is_dropped
from headgate.kernel.records import PointerKey
from headgate.limits import HOLDERS_COUNTED_MAX, HOLDERS_NAMED_MAX, NAMES_LOOKED_AT_MAX
from headgate.model.locations import indexed, is_within

Metalakes = Sequence[tuple[Realm, HeadView]]


class Holders(NamedTuple):
    """Tables and views of one catalog that hold locations: live, staged, or being purged."""

    catalog: int
    full_name: str
    """The catalog with its metalake."""
    number: int
    """At most `HOLDERS_COUNTED_MAX`."""
    names: tuple[str, ...]
    """Some of them with their namespaces."""
    purging: int
    """How many of them are dropped, and their files are being deleted."""
    is_dropped: bool
    """Whether the catalog or its metalake is dropped: then all of them are purged."""

    def __str__(self) -> str:
        more = "at least " if self.number >= HOLDERS_COUNTED_MAX else ""
        noun = "table or view" if self.number == 1 else "tables or views"
        named = f", such as {', '.join(self.names)}" if self.names else ""
        dropped = f"; {self.purging} of them being purged" if self.purging else ""
        return f"{more}{self.number} {noun} of catalog {self.full_name}{named}{dropped}"


async def holders_in(
    kernel: Kernel,
    metalakes: Metalakes,
    places: Collection[str],
    *,
    but: Collection[int] = (),
    outside: Sequence[str] = (),
) -> list[Holders]:
    """What holds a location at, above or below these, by catalog.

    `but` are catalogs that do not count, and what lies in `outside` does not either.
    """
    looking = partial(_ids, places=list(places), outside=outside, now_ms=kernel.clock.wall_ms())
    if not places:
        return []
    found: list[Holders] = []
    for realm, head in metalakes:
        found += await _in_metalake(kernel, realm, head, but, looking)
    return found


async def _in_metalake(
    kernel: Kernel,
    realm: Realm,
    head: HeadView,
    but: Collection[int],
    looking: Callable[[Readable], set[int]],
) -> list[Holders]:
    metalake = realm.properties.get(FORMER_NAME, realm.name)
    named = await look(head.index(NAMES), lambda tree: list(Names(tree).below(ROOT, CATALOGS)))
    dropped = dict(await look(head.index(DROPPED), lambda tree: list(all_dropped(tree))))
    catalogs = {entry.id: name for name, entry in named if entry.id not in but}
    catalogs |= {id: gone.name for id, gone in dropped.items()}
    keys = [PointerKey(realm.id, head_pointer(id)) for id in catalogs]
    values = await kernel.pointers.read(keys)
    await kernel.store.fetch(realm.id, [value for value in values if value])
    found: list[Holders] = []
    for (id, name), value in zip(catalogs.items(), values, strict=True):
        one = await open_head(kernel.store, realm.id, value)
        held = await look(one.index(LOCATIONS), looking)
        if held:
            is_gone = id in dropped or is_dropped(realm)
            found.append(await _described(id, f"{metalake}.{name}", one, held, is_gone=is_gone))
    return found


def _ids(index: Readable, places: Sequence[str], outside: Sequence[str], now_ms: int) -> set[int]:
    """The ids of what holds a location; what a dropped table left is held by none."""
    ids: set[int] = set()
    for place in places:
        for key, value in all_at(index, place):
            id = _holder(value, now_ms)
            if id != NOBODY and not (outside and _is_in(indexed(key), outside)):
                ids.add(id)
            if len(ids) >= HOLDERS_COUNTED_MAX:
                return ids
    return ids


def _is_in(location: str, places: Sequence[str]) -> bool:
    return any(is_within(location, place) for place in places)


def _holder(value: bytes, now_ms: int) -> int:
    """The table or view behind a value of the index; a staged table counts until it expires."""
    if is_left(value):
        return NOBODY
    waiting = staged_at(value)
    if waiting is None:
        return holder_of(value)
    return waiting.id if waiting.until_ms > now_ms else NOBODY


async def _described(
    id: int, full_name: str, head: HeadView, held: set[int], *, is_gone: bool
) -> Holders:
    paths = await look(head.index(NAMES), lambda tree: paths_to(tree, held))
    jobs = await look(
        head.index(PURGE), lambda tree: list(islice(live_jobs(tree), NAMES_LOOKED_AT_MAX))
    )
    purged = [job.table for number, job in jobs if (job.table_id or number) in held]
    names = [".".join(path) for path in paths]
    names += [".".join((*table.namespace, table.name)) for table in purged]
    return Holders(
        id, full_name, len(held), tuple(sorted(names)[:HOLDERS_NAMED_MAX]), len(purged), is_gone
    )
