"""Which locations are taken: no two tables, and no two catalogs, share files or lie in one
another."""

from collections.abc import Iterable

from headgate.errors import LocationTaken
from headgate.kernel.draft import Draft
from headgate.model.locations import (
    ancestors,
    index_key,
    index_range,
    is_within,
    metadata_paths,
    normalize,
)

LOCATIONS = "locations"
_ID_BYTES = 8


def locations_of(location: str, properties: dict[str, str]) -> tuple[str, ...]:
    """All locations that a table or view writes to, those inside of another left out."""
    own = normalize(location)
    paths = {normalize(path) for path in metadata_paths(properties, location)}
    return (own, *sorted(path for path in paths if not is_within(path, own)))


def reserve(draft: Draft, locations: Iterable[str], id: int) -> None:
    """Take these locations for this entity; `LocationTaken` if another one is in the way."""
    index = draft.index(LOCATIONS)
    own = id.to_bytes(_ID_BYTES, "big")
    for location in locations:
        for above in ancestors(location):
            holder = index.get(index_key(above))
            if holder not in {None, own}:
                raise _taken(location)
        for _, holder in index.scan(*index_range(location)):
            if holder != own:
                raise _taken(location)
        index.put(index_key(location), own)


def release(draft: Draft, locations: Iterable[str]) -> None:
    """Let others use these locations."""
    index = draft.index(LOCATIONS)
    for location in locations:
        index.remove(index_key(location))


def _taken(location: str) -> LocationTaken:
    return LocationTaken(
        f"Location is taken: {location}",
        why="another one lies there, above it or below it",
        fix="Choose another location, or leave it out to get one of its own",
    )
