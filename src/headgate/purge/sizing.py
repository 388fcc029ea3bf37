"""How many files a table has, found out with little effort. Runs in a child process."""

from collections.abc import Iterator

import msgspec

from headgate.catalog.metadata_files import unzipped
from headgate.errors import BadMetadata
from headgate.planning.files import OpenFiles
from headgate.planning.reachable import Found, Walk


class Sizes(msgspec.Struct, frozen=True, rename="kebab"):
    """How many files of each kind a table has, as lists of manifests say."""

    data: int = 0
    """Data and delete files, about: as many as snapshots say, or fewer if there are fewer in lists
    of manifests. Without the snapshots' word, one that several manifests name counts as often."""
    manifests: int = 0
    manifest_lists: int = 0
    other: int = 0
    """Statistics and metadata files."""


class Summary(msgspec.Struct, frozen=True, rename="kebab"):
    """What a snapshot says of its files; all numbers are texts."""

    total_data_files: str = ""
    total_delete_files: str = "0"
    deleted_data_files: str = "0"
    removed_delete_files: str = "0"

    @property
    def total(self) -> int:
        """How many there are in the table; ValueError if it does not say."""
        return int(self.total_data_files) + int(self.total_delete_files)

    @property
    def gone(self) -> int:
        """How many only older snapshots have."""
        return int(self.deleted_data_files) + int(self.removed_delete_files)


class SizedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot as far as it says how many files there are."""

    summary: Summary = Summary()


class SizedTable(msgspec.Struct, frozen=True):
    """A table's metadata as far as it says how many files there are."""

    snapshots: list[SizedSnapshot] | None = None


def sizes(location: str, files: OpenFiles) -> Sizes:
    """Count the files of a table; FileMissing if its metadata is gone."""
    metadata = unzipped(files.read(location), location)
    walk = Walk(metadata, files)
    manifests = sum(1 for _ in walk.every_manifest())
    told = told_files(metadata)
    listed = walk.listed if told is None else min(told, walk.listed)
    data = 0 if walk.keeps_data else listed
    other = _count(walk.statistics()) + _count(walk.older(location)) + 1
    return Sizes(data, manifests, _count(walk.lists()), other)


def has_files(location: str, least: int, files: OpenFiles) -> bool:
    """Whether a table has so many data and delete files, as its snapshots say, or else lists of
    manifests; FileMissing if its metadata is gone."""
    metadata = unzipped(files.read(location), location)
    told = told_files(metadata)
    if told is not None:
        return told >= least
    found = 0
    for manifest in Walk(metadata, files).every_manifest():
        found += manifest.files
        if found >= least:
            return True
    return False


def told_files(metadata: bytes) -> int | None:
    """How many files the snapshots say there are, older ones included; None if they do not."""
    try:
        table = msgspec.json.decode(metadata, type=SizedTable)
        told = [one.summary for one in table.snapshots or []]
        return max((one.total for one in told), default=0) + sum(one.gone for one in told)
    except msgspec.ValidationError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadMetadata("Cannot parse the table's metadata", why=str(error)) from error
    except ValueError:  # no number
        return None


def _count(found: Iterator[Found]) -> int:
    return sum(len(some.paths) for some in found)
