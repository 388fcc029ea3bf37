"""Which locations are taken: no two tables, and no two catalogs, share files or lie in one
another."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headgate.catalog.claimants import (
    ANYBODY,
    NOBODY,
    Claimant,
    Staged,
    holder_of,
    is_in_the_way,
    is_staged_by,
    left,
    owned,
    staged_at,
)
from headgate.catalog.naming import Readable
from headgate.catalog.staged_places import end_staged, hold_staged
from headgate.catalog.stored_names import LOCATIONS
from headgate.errors import BadRequest, LocationTaken
from headgate.kernel.draft import Draft
from headgate.limits import RESERVED_BYTES_MAX, RESERVED_LOCATIONS_MAX
from headgate.model.locations import (
    ancestors,
    index_key,
    index_range,
    is_within,
    metadata_paths,
    normalize,
)

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


def move(draft: Draft, wanted: Locations, claimant: Claimant, held: Holding | None) -> None:
    """Take these locations for this entity, and let go of all others that are held.

    It may take the place of another one: then nothing stays in the name of that.
    """
    before = set(held.locations) if held else set()
    kept = before & set(wanted) if held and held.id == claimant.id else set()
    release(draft, before - kept)
    with never_retried(held):
        take(draft, set(wanted) - kept, claimant)


def reserve(draft: Draft, locations: Iterable[str], id: int) -> None:
    """Take these locations for this entity; `LocationTaken` if anything is in the way."""
    take(draft, locations, Claimant(id))


def take(draft: Draft, locations: Iterable[str], claimant: Claimant) -> None:
    """The same for who may take more than what is vacant."""
    index, wanted = draft.index(LOCATIONS), list(locations)
    _clear(draft, wanted, claimant)
    for location in wanted:
        index.put(index_key(location), owned(claimant.id))


def stage(draft: Draft, locations: Iterable[str], claimant: Claimant, hold_ms: int) -> None:
    """Hold these locations for a table that the claimant's principal staged, for a while.

    Staging there again, on a node whose keys live shorter, does not shorten the hold.
    """
    wanted = list(locations)
    ended = _clear(draft, wanted, claimant)
    until_ms = max([draft.now_ms + hold_ms, *(one.until_ms for one in ended)])
    hold_staged(draft, map(index_key, wanted), claimant.principal or "", until_ms)


def leave(draft: Draft, locations: Iterable[str], id: int, schema: int) -> None:
    """Let only this schema, and who owns the catalog, use what this entity had: its files stay."""
    index = draft.index(LOCATIONS)
    for location in held_by(draft, locations, id):
        index.put(index_key(location), left(schema))


def reserve_among(draft: Draft, location: str, id: int, doomed: Collection[int]) -> bool:
    """Take a location for this entity although others have one above it or below it, if all of
    them go: it stays taken when they are gone."""
    index = draft.index(LOCATIONS)
    others = {holder_of(value) for _, value in others_at(index, location, Claimant(id))}
    if not others.issubset(doomed) or index.get(index_key(location)) is not None:
        return False
    index.put(index_key(location), owned(id))
    return True


def release(draft: Draft, locations: Iterable[str]) -> None:
    """Let others use these locations."""
    index = draft.index(LOCATIONS)
    for location in locations:
        index.remove(index_key(location))


def held_by(draft: Draft, locations: Iterable[str], id: int) -> set[str]:
    """Those of these locations that this entity holds."""
    index = draft.index(LOCATIONS)
    return {location for location in locations if index.get(index_key(location)) == owned(id)}


@contextmanager
def never_retried(held: Holding | None) -> Iterator[None]:
    """For what exists, a taken location is no conflict of versions: clients would try again."""
    try:
        yield
    except LocationTaken as error:
        if held is None:
            raise
        raise BadRequest(error.what, why=error.why, fix=error.fix) from error


def check_vacant(index: Readable, locations: Iterable[str], claimant: Claimant = ANYBODY) -> None:
    """Refuse locations where, above which or below which something is in the way."""
    for location in locations:
        for _, value in others_at(index, location, claimant):
            raise taken(location, holder_of(value))


def not_staged(index: Readable, locations: Iterable[str], claimant: Claimant) -> list[str]:
    """Those of these locations that are not held for a table which the claimant staged there."""
    values = ((place, index.get(index_key(place)) or b"") for place in locations)
    return [place for place, value in values if not is_staged_by(value, claimant)]


def is_vacant(index: Readable, location: str, own: int) -> bool:
    """Whether no other entity has one there, above it or below it."""
    return next(others_at(index, location, Claimant(own)), None) is None


def is_inside(index: Readable, location: str, claimant: Claimant) -> bool:
    """Whether a location is, or lies in, one that something else holds."""
    around = _at(index, (*ancestors(location), location))
    return any(is_in_the_way(value, claimant) for _, value in around)


def others_at(index: Readable, location: str, claimant: Claimant) -> Iterator[tuple[bytes, bytes]]:
    """What others hold above, at and below a location: keys, and who it is.

    What the claimant's principal staged makes way at the very location only: keys that were handed
    out for one above or below are good until it expires.
    """
    place, elsewhere = index_key(location), claimant._replace(principal=None)
    for key, value in all_at(index, location):
        if is_in_the_way(value, claimant if key == place else elsewhere):
            yield key, value


def taken(location: str, holder: int = NOBODY) -> LocationTaken:
    """What to say of a location that cannot be had; who has it is another matter."""
    return LocationTaken(
        f"Location is taken: {location}",
        why="another one, or the folder of a namespace, lies there, above it or below it",
        fix="Choose another location, or leave it out to get one of its own",
        holder=holder,
    )


def _clear(draft: Draft, wanted: list[str], claimant: Claimant) -> list[Staged]:
    """Refuse locations that others hold, and end the staged tables there that are in nobody's
    way; which these were.

    They are ended first: what a dropped table had left there before them counts again.
    """
    index = draft.index(LOCATIONS)
    ended: list[Staged] = []
    for location in wanted:
        held = {key for key, _ in others_at(index, location, claimant)}
        for key, value in list(all_at(index, location)):
            waiting = staged_at(value)
            if waiting is not None and key not in held:
                end_staged(draft, value)
                ended.append(waiting)
    check_vacant(index, wanted, claimant)
    return ended


def all_at(index: Readable, location: str) -> Iterator[tuple[bytes, bytes]]:
    """Everything that is held above, at and below a location."""
    yield from _at(index, ancestors(location))
    yield from index.scan(*index_range(location))


def _at(index: Readable, places: Iterable[str]) -> Iterator[tuple[bytes, bytes]]:
    """Everything that is held at exactly these places."""
    for key in map(index_key, places):
        value = index.get(key)
        if value is not None:
            yield key, value
