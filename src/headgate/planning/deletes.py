"""Which delete files apply to a data file: the rules of the specification by sequence number.

- An equality delete applies to older data (a smaller number) of its partition, or of all
  partitions if its spec has none.
- A position delete applies to data of its partition up to its own number, or only to the one file
  that it names.
- A deletion vector names one file, and stands for all position deletes of that file.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import VoidTransform

from headgate.planning.manifests import FILE_FORMAT, REFERENCED_DATA_FILE, Entry

PATH_COLUMN = 2147483546
VECTORS = "PUFFIN"

Partition = tuple[int, tuple[Any, ...]]


class Numbered:
    """Delete files in the order of their sequence numbers."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._numbers: list[int] | None = None

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._numbers = None

    def since(self, number: int) -> list[Entry]:
        return self._entries[bisect_left(self._sorted(), number) :]

    def after(self, number: int) -> list[Entry]:
        return self._entries[bisect_right(self._sorted(), number) :]

    def _sorted(self) -> list[int]:
        if self._numbers is None:
            self._entries.sort(key=lambda entry: entry.sequence_number)
            self._numbers = [entry.sequence_number for entry in self._entries]
        return self._numbers


NONE = Numbered()


class DeleteIndex:
    """The live delete files of a snapshot."""

    def __init__(self, entries: Iterable[Entry], specs: dict[int, PartitionSpec]) -> None:
        self._everywhere = Numbered()
        self._equality: dict[Partition, Numbered] = defaultdict(Numbered)
        self._positions: dict[Partition, Numbered] = defaultdict(Numbered)
        self._by_path: dict[str, Numbered] = defaultdict(Numbered)
        self._vectors: dict[str, Entry] = {}
        self._unpartitioned = {id for id, spec in specs.items() if _is_unpartitioned(spec)}
        self.is_empty = True
        for entry in entries:
            self.is_empty = False
            self._add(entry)

    def for_file(self, entry: Entry) -> Iterator[DataFile]:
        """The delete files to read with a data file."""
        if not self.is_empty:
            partition = partition_of(entry.file)
            for found in chain(
                self._everywhere.after(entry.sequence_number),
                self._equality.get(partition, NONE).after(entry.sequence_number),
                self._positions_for(entry, partition),
            ):
                yield found.file

    def _positions_for(self, entry: Entry, partition: Partition) -> Iterable[Entry]:
        path, number = entry.file.file_path, entry.sequence_number
        vector = self._vectors.get(path)
        if vector is not None and vector.sequence_number >= number:
            return [vector]
        of_partition = self._positions.get(partition, NONE).since(number)
        return chain(
            (found for found in of_partition if _may_name(found.file, path)),
            self._by_path.get(path, NONE).since(number),
        )

    def _add(self, entry: Entry) -> None:
        file = entry.file
        if file.content == DataFileContent.EQUALITY_DELETES:
            if file.spec_id in self._unpartitioned:
                self._everywhere.add(entry)
            else:
                self._equality[partition_of(file)].add(entry)
            return
        path = _only_path(file)
        if path is None:
            self._positions[partition_of(file)].add(entry)
        elif file[FILE_FORMAT].upper() == VECTORS:
            self._vectors[path] = entry
        else:
            self._by_path[path].add(entry)


def partition_of(file: DataFile) -> Partition:
    """The spec and the values of a file's partition."""
    return file.spec_id, tuple(file.partition[i] for i in range(len(file.partition)))


def _is_unpartitioned(spec: PartitionSpec) -> bool:
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def _only_path(file: DataFile) -> str | None:
    """The one data file whose positions are deleted, if there is only one."""
    if file[REFERENCED_DATA_FILE] is not None:
        path: str = file[REFERENCED_DATA_FILE]
        return path
    lower, upper = _path_bounds(file)
    return lower.decode() if lower is not None and lower == upper else None


def _may_name(file: DataFile, path: str) -> bool:
    lower, upper = _path_bounds(file)
    name = path.encode()
    return (lower is None or lower <= name) and (upper is None or name <= upper)


def _path_bounds(file: DataFile) -> tuple[bytes | None, bytes | None]:
    return (
        (file.lower_bounds or {}).get(PATH_COLUMN),
        (file.upper_bounds or {}).get(PATH_COLUMN),
    )
