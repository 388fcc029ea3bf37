"""The folders of namespaces: where their tables lie if nobody says, or where the namespace says.

No table or view lies where a namespace has its folder, or above it: nobody else could create one
there any more. A namespace that comes later than the table lets its own tables lie elsewhere.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice

from headgate.catalog.claimants import Claimant
from headgate.catalog.entities import Entry
from headgate.catalog.naming import NAMESPACES, ROOT, Names, NamesDraft, Readable, id_bytes
from headgate.catalog.reservations import is_inside, not_staged, taken
from headgate.catalog.stored_names import FOLDERS, FOLDERS_UNTIL, LOCATIONS
from headgate.errors import BadRequest
from headgate.kernel.draft import MARK_MAX, Draft
from headgate.limits import NAMES_LOOKED_AT_MAX
from headgate.model.locations import index_key, index_range, is_within, normalize, place_of
from headgate.model.physical import is_kept_segment, is_shortened, path_segment, segment_name

LOCATION = "location"
"""The property of a namespace that says where its tables lie."""
COMPLETE = MARK_MAX
"""The mark of an index that has the folders of all namespaces: none of them has a larger id."""


def is_complete(marks: Mapping[str, int]) -> bool:
    """Whether every folder that a namespace of this catalog chose is in the index."""
    return marks.get(FOLDERS_UNTIL) == COMPLETE


def check_default(names: Names, warehouse: str, locations: Iterable[str]) -> None:
    """Refuse locations of a table or view that are, or hold, the default folder of a namespace."""
    for location in locations:
        if _is_above(names, warehouse, location):
            raise taken(location)


def check_chosen(folders: Readable, locations: Iterable[str]) -> None:
    """Refuse those that are, or hold, a folder that a namespace chose."""
    for location in locations:
        if next(folders.scan(*index_range(location)), None) is not None:
            raise taken(location)


def check_apart(draft: Draft, warehouse: str, locations: Iterable[str], claimant: Claimant) -> None:
    """The same in a commit. What the claimant staged it has: no namespace takes it away later."""
    added = not_staged(draft.index(LOCATIONS), locations, claimant)
    check_default(NamesDraft(draft), warehouse, added)
    if added and warehouse:
        assert is_complete(draft.marks), "the check before the commit completes the index"
        check_chosen(draft.index(FOLDERS), added)


def is_below(names: Names, schema: int, folder: str, location: str) -> bool:
    """Whether a location in the folder of a namespace is in that of a namespace below it."""
    if not is_within(location, folder):
        return False
    segments = place_of(location).segments[len(place_of(folder).segments) :]
    if not segments:
        return False
    return is_kept_segment(segments[0]) or _written_so(names, schema, segments[0]) is not None


def settle_folder(
    draft: Draft, claimant: Claimant, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    """Keep in mind where a namespace says that its tables lie, in the commit that changes its
    properties; `BadRequest` if nothing could be created there."""
    index, id = draft.index(FOLDERS), claimant.schema
    old, new = before.get(LOCATION), after.get(LOCATION)
    if old and old != new:
        index.remove(_key(old, id))
    if new:
        if new != old and is_inside(draft.index(LOCATIONS), normalize(new), claimant):
            raise BadRequest(
                f"Location is taken: {new}",
                why="a table or view lies there or above it, or has left files there",
                fix="Choose another location, or leave it out",
            )
        index.put(_key(new, id), b"")


def keep_folder(draft: Draft, id: int, properties: Mapping[str, str]) -> None:
    """Add the folder that a namespace chose to the index, where an older program did not."""
    location = properties.get(LOCATION)
    if location:
        with suppress(BadRequest):  # an older program took what is no location: nothing lies there
            draft.index(FOLDERS).put(_key(location, id), b"")


def _key(location: str, id: int) -> bytes:
    return index_key(normalize(location)) + id_bytes(id)


def _is_above(names: Names, warehouse: str, location: str) -> bool:
    """Whether the default folder of a namespace is at a location or below it."""
    if not warehouse:
        return False
    if is_within(warehouse, location):
        return True  # there all of them are
    if not is_within(location, warehouse):
        return False
    depth = len(place_of(warehouse).segments)
    segments = place_of(location).segments[depth:]
    if is_kept_segment(segments[-1]):
        return True
    parent = ROOT
    for segment in segments:  # a folder that holds others is that of a namespace as well
        entry = _written_so(names, parent, segment)
        if entry is None:
            return False
        parent = entry.id
    return True


def _written_so(names: Names, parent: int, segment: str) -> Entry | None:
    """The namespace below this one whose name is written so in a path."""
    name = segment_name(segment)
    if name is not None:
        return names.find(parent, NAMESPACES, name)
    if not is_shortened(segment):
        return None
    some = islice(names.below(parent, NAMESPACES), NAMES_LOOKED_AT_MAX)
    return next((entry for name, entry in some if path_segment(name) == segment), None)
