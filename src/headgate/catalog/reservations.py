"""Which locations are taken: no two tables, and no two catalogs, share files or lie in one
another."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headgate.catalog.naming import Readable
from headgate.catalog.openings import Opened
from headgate.catalog.stored_names import LOCATIONS
from headgate.errors import BadRequest, LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.limits import RESERVED_BYTES_MAX, RESERVED_LOCATIONS_MAX
from headgate.model.locations import (
    ancestors,
    index_key,
    index_range,
    is_within,
    metadata_paths,
    normalize,
)

NOBODY = 0
_ID_BYTES = 8

Locations = tuple[str, ...]


class Holding(NamedTuple):
    """What an entity holds already."""

    id: int
    locations: Locations


def locations_of(location: str, properties: dict[str, str]) -> Locations:
    """All locations that a table or view writes to, those inside of another left out."""
    own = normalize(location)
    paths = {normalize(path) for path in metadata_paths(properties, location)}
    return (own, *sorted(path for path in paths if not is_within(path, own)))


def with_former(current: Locations, former: Locations) -> Locations:
    """All locations that a table or view keeps: its current ones, and those it had before.

    A location inside of another one is part of that. `BadRequest` if there are too many.
    """
    known = tuple(dict.fromkeys((*current, *former)))
    kept = tuple(dict.fromkeys(_outermost(one, known) for one in known))
    is_more = not set(kept).issubset(former)
    size = sum(len(one.encode()) for one in kept)
    if is_more and (len(kept) > RESERVED_LOCATIONS_MAX or size > RESERVED_BYTES_MAX):
        raise BadRequest(
            f"Location cannot be added: {current[0]}",
            why=f"a table or view keeps all locations that it had, since its older files are "
            f"there; with this one they are {len(kept)} with {size:,} bytes, and at most "
            f"{RESERVED_LOCATIONS_MAX} with {RESERVED_BYTES_MAX:,} bytes are kept",
            fix="Choose a location inside of one that it has or had, or create another one",
        )
    return kept


def _outermost(location: str, among: Locations) -> str:
    """The location around this one that lies in no other; the location itself if there is none."""
    return min((one for one in among if is_within(location, one)), key=len)


async def check_locations(opened: Opened, wanted: Locations, held: Holding | None = None) -> None:
    """Refuse what is not allowed or taken, before anything is written there.

    Only the commit decides: until then another one may come.
    """
    opened.check_allowed(wanted)
    added = [location for location in wanted if not held or location not in held.locations]
    own = held.id if held else NOBODY
    with _never_retried(held):
        await look(opened.head.index(LOCATIONS), lambda tree: check_vacant(tree, added, own))


def move(draft: Draft, wanted: Locations, id: int, held: Holding | None) -> None:
    """Take these locations for this entity, and let go of all others that are held.

    It may take the place of another one: then nothing stays in the name of that.
    """
    before = set(held.locations) if held else set()
    kept = before & set(wanted) if held and held.id == id else set()
    release(draft, before - kept)
    with _never_retried(held):
        reserve(draft, set(wanted) - kept, id)


def reserve(draft: Draft, locations: Iterable[str], id: int) -> None:
    """Take these locations for this entity; `LocationTaken` if another one is in the way."""
    index, wanted = draft.index(LOCATIONS), list(locations)
    check_vacant(index, wanted, id)
    for location in wanted:
        index.put(index_key(location), _holder(id))


def reserve_among(draft: Draft, location: str, id: int, doomed: Collection[int]) -> bool:
    """Take a location for this entity although others have one above it or below it, if all of
    them go: it stays taken when they are gone."""
    index = draft.index(LOCATIONS)
    others = {int.from_bytes(holder, "big") for _, holder in others_at(index, location, id)}
    if not others.issubset(doomed) or index.get(index_key(location)) is not None:
        return False
    index.put(index_key(location), _holder(id))
    return True


def release(draft: Draft, locations: Iterable[str]) -> None:
    """Let others use these locations."""
    index = draft.index(LOCATIONS)
    for location in locations:
        index.remove(index_key(location))


def held_by(draft: Draft, locations: Iterable[str], id: int) -> set[str]:
    """Those of these locations that this entity holds."""
    index = draft.index(LOCATIONS)
    return {location for location in locations if index.get(index_key(location)) == _holder(id)}


@contextmanager
def _never_retried(held: Holding | None) -> Iterator[None]:
    """For what exists, a taken location is no conflict of versions: clients would try again."""
    try:
        yield
    except LocationTaken as error:
        if held is None:
            raise
        raise BadRequest(error.what, why=error.why, fix=error.fix) from error


def check_vacant(index: Readable, locations: Iterable[str], own: int = NOBODY) -> None:
    """Refuse locations where, above which or below which another entity has one."""
    for location in locations:
        for _, holder in others_at(index, location, own):
            raise _taken(location, holder)


def is_vacant(index: Readable, location: str, own: int) -> bool:
    """Whether no other entity has one there, above it or below it."""
    return next(others_at(index, location, own), None) is None


def others_at(index: Readable, location: str, own: int) -> Iterator[tuple[bytes, bytes]]:
    """What others hold above, at and below a location: keys, and who it is."""
    for above in ancestors(location):
        key = index_key(above)
        holder = index.get(key)
        if holder is not None and holder != _holder(own):
            yield key, holder
    for key, holder in index.scan(*index_range(location)):
        if holder != _holder(own):
            yield key, holder


def _holder(id: int) -> bytes:
    return id.to_bytes(_ID_BYTES, "big")


def _taken(location: str, holder: bytes) -> LocationTaken:
    return LocationTaken(
        f"Location is taken: {location}",
        why="another one lies there, above it or below it",
        fix="Choose another location, or leave it out to get one of its own",
        holder=int.from_bytes(holder, "big"),
    )
