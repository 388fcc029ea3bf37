"""A whole walk over a table's files: some of one kind at a time, as tests compare them."""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from itertools import islice

import msgspec

from headgate.limits import WALK_BATCH_PATHS
from headgate.planning.reachable import Found, Seen, Walk


class Kind(Enum):
    """What the files of a batch are, in the order in which they can be deleted."""

    DATA = "data"
    """Data and delete files."""
    MANIFEST = "manifest"
    MANIFEST_LIST = "manifest-list"
    STATISTICS = "statistics"
    """Statistics, also of partitions."""
    OLD_METADATA = "old-metadata"
    METADATA = "metadata"
    """The metadata file that the walk began with: the last file of all."""
    MISSING = "missing"
    """Manifests and lists that are gone. What they led to is not known."""
    DAMAGED = "damaged"
    """Manifests and lists that cannot be read. What they lead to is not known."""


class Batch(msgspec.Struct, frozen=True):
    """Some files of one kind."""

    kind: Kind
    paths: list[str]


def batches(walk: Walk, location: str) -> Iterator[Batch]:
    """All files in the order in which they can be deleted, and what could not be followed."""
    kinds: dict[Kind, Callable[[], Iterator[Found]]] = {
        Kind.DATA: walk.data,
        Kind.MANIFEST: walk.manifests,
        Kind.MANIFEST_LIST: walk.lists,
        Kind.STATISTICS: walk.statistics,
        Kind.OLD_METADATA: partial(walk.older, location),
    }
    for kind, found in kinds.items():
        seen = Seen()
        rest = (path for some in found() for path in some.paths if seen.is_new(path))
        while paths := list(islice(rest, WALK_BATCH_PATHS)):
            yield Batch(kind, paths)
        for one in walk.unread:
            yield Batch(Kind.DAMAGED if one.why else Kind.MISSING, [one.path])
        walk.unread.clear()
    yield Batch(Kind.METADATA, [location])
