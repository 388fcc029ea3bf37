"""What the walk over a table's files reports."""

from enum import Enum

import msgspec


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
