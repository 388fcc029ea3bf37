"""Every file that a table's metadata leads to, leaf first. Runs in a worker.

Whoever deletes in this order can be interrupted anywhere and start again: what leads to a file is
there as long as the file is.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import msgspec

from headgate.errors import (
    BadMetadata,
    FileMissing,
    Forbidden,
    HeadgateError,
    InvalidInput,
    StorageRefused,
    StorageUnavailable,
    TooLarge,
    Unsupported,
)
from headgate.limits import (
    MANIFESTS_LISTED_MAX,
    PLANNING_READS_AHEAD,
    WALK_AHEAD_BYTES_MAX,
    WALK_BATCH_PATHS,
    WALK_SEEN_PATHS_MAX,
)
from headgate.model.json_values import check_parts
from headgate.model.locations import index_key
from headgate.planning.avro_columns import Columns, columns
from headgate.planning.files import OpenFiles

FILE_PATH, FILE_SIZE = 100, 104  # ids of fields in a manifest
MANIFEST_PATH, MANIFEST_LENGTH, COUNTS = 500, 501, (504, 505, 506)  # and in a list of manifests


def _always(_path: str) -> bool:
    return True


class SnapshotFiles(msgspec.Struct, frozen=True, rename="kebab", gc=False):
    """What a snapshot leads to."""

    manifest_list: str | None = None
    manifests: list[str] | None = None
    """Instead of a list's location: the oldest tables of format 1."""


class StatisticsFile(msgspec.Struct, frozen=True, rename="kebab", gc=False):
    """A file of statistics."""

    statistics_path: str
    file_size_in_bytes: int = 0


class MetadataLogEntry(msgspec.Struct, frozen=True, rename="kebab", gc=False):
    """An older metadata file."""

    metadata_file: str


class Leads(msgspec.Struct, frozen=True, rename="kebab"):
    """A table's metadata as far as it leads to files."""

    snapshots: list[SnapshotFiles] | None = None
    properties: dict[str, str] | None = None
    statistics: list[StatisticsFile] | None = None
    partition_statistics: list[StatisticsFile] | None = None
    metadata_log: list[MetadataLogEntry] | None = None


class Found(NamedTuple):
    """Some files, and how large metadata says they are."""

    paths: list[str]
    sizes: list[int]


class Unread(NamedTuple):
    """A file that leads to others and could not be followed."""

    path: str
    why: str
    """Empty if it is missing."""
    only_here: bool = False
    """Other programs may read it: it is only that this one cannot."""
    is_away: bool = False
    """Its storage did not answer."""


class Listed(NamedTuple):
    """A manifest, as its list knows it."""

    path: str
    length: int = 0
    files: int = 0


class Walk:
    """A walk over a table's files. Manifest lists are read as often as something is asked for, so
    that little is remembered."""

    def __init__(
        self,
        metadata: bytes,
        files: OpenFiles,
        *,
        goes_on: bool = False,
        follows: Callable[[str], bool] = _always,
    ) -> None:
        """`goes_on`: also without what a store leads to that does not answer. `follows` says which
        lists and manifests are read: others are found, and what they lead to is not."""
        check_parts(metadata, "the table's metadata")
        try:
            self._table = msgspec.json.decode(metadata, type=Leads)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadMetadata("Cannot parse the table's metadata", why=str(error)) from error
        self._files = files
        self._goes_on = goes_on
        self._follows = follows
        self.unread: list[Unread] = []
        """What could not be followed; whoever walks may take it away."""
        self.listed = 0
        """How many files lists say there are in the manifests that were found so far."""

    @property
    def keeps_data(self) -> bool:
        """Whether data files may belong to others."""
        return (self._table.properties or {}).get("gc.enabled", "true").lower() == "false"

    def data(self) -> Iterator[Found]:
        """Data and delete files, if they are the table's. The same file may come several times."""
        if not self.keeps_data:
            for _, found in self.content():
                yield found

    def content(
        self, leaves_out: Callable[[Listed], bool] | None = None
    ) -> Iterator[tuple[str, Found]]:
        """Data and delete files, whoever they belong to, with the manifest that leads to them.

        Every manifest is asked about once; those that are left out are not read.
        """
        listed = self.every_manifest()
        yield from self.content_of(
            listed if leaves_out is None else (one for one in listed if not leaves_out(one))
        )

    def content_of(self, manifests: Iterable[Listed]) -> Iterator[tuple[str, Found]]:
        """The same, of these manifests."""
        for manifest, read in _read_ahead(self._files, self.followed(manifests)):
            with self._followed("manifest", manifest.path):
                data = read()
                if len(data) < manifest.length:  # cut between blocks, which nothing in it tells
                    raise ValueError(f"{len(data)} bytes of {manifest.length} are there")
                for paths, sizes in columns(data, FILE_PATH, FILE_SIZE):
                    yield manifest.path, Found(paths, sizes)

    def followed(self, listed: Iterable[Listed]) -> Iterator[Listed]:
        """Those of these files that are read."""
        return (one for one in listed if self._follows(one.path))

    def manifests(self) -> Iterator[Found]:
        """Manifests of all snapshots."""
        found = self.every_manifest()
        while some := list(islice(found, WALK_BATCH_PATHS)):
            yield Found([one.path for one in some], [one.length for one in some])

    def lists(self) -> Iterator[Found]:
        """Manifest lists."""
        yield from _unsized(one.path for one in self._lists())

    def statistics(self) -> Iterator[Found]:
        """Statistics, also of partitions."""
        files = [*(self._table.statistics or []), *(self._table.partition_statistics or [])]
        if files:
            yield Found(
                [one.statistics_path for one in files], [one.file_size_in_bytes for one in files]
            )

    def older(self, location: str) -> Iterator[Found]:
        """Metadata files before this one."""
        log = self._table.metadata_log or []
        yield from _unsized(one.metadata_file for one in log if one.metadata_file != location)

    def every_manifest(self) -> Iterator[Listed]:
        """Manifests of all snapshots, as lists know them; each once, however it is written."""
        seen = Seen()
        self.listed = 0
        for one, read in _read_ahead(self._files, self.followed(self._lists())):
            with self._followed("manifest list", one.path):
                fields = MANIFEST_PATH, MANIFEST_LENGTH, *COUNTS
                for some in columns(read(), *fields, rows_max=MANIFESTS_LISTED_MAX):
                    new = [found for found in _listed(some) if seen.is_new(_key(found.path))]
                    self.listed += sum(found.files for found in new)
                    yield from new
        for snapshot in self._table.snapshots or []:
            if snapshot.manifest_list is None:
                paths = snapshot.manifests or []
                yield from (Listed(path) for path in paths if seen.is_new(_key(path)))

    def _lists(self) -> Iterator[Listed]:
        """The newest first: it names most of what there is."""
        seen = Seen()
        for snapshot in reversed(self._table.snapshots or []):
            path = snapshot.manifest_list
            if path is not None and seen.is_new(_key(path)):
                yield Listed(path)

    @contextmanager
    def _followed(self, what: str, path: str) -> Iterator[None]:
        """Go on without what one file leads to, unless its store does not answer."""
        try:
            yield
        except (TooLarge, Unsupported, ImportError, MemoryError) as error:
            self.unread.append(Unread(path, f"{type(error).__name__}: {error}", only_here=True))
        except (FileMissing, Forbidden, InvalidInput) as error:
            is_missing = isinstance(error, FileMissing) and not error.why
            self.unread.append(Unread(path, "" if is_missing else error.why or error.what))
        except StorageUnavailable as error:
            if not self._goes_on:
                raise
            is_away = not isinstance(error, StorageRefused)
            self.unread.append(Unread(path, f"{error}", only_here=True, is_away=is_away))
        except (HeadgateError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001  whatever a decoder makes of rubbish
            why = f"the {what} cannot be read: {type(error).__name__}: {error}"
            self.unread.append(Unread(path, why))


class Seen:
    """Remembers which paths came by: all of the last ones, in bounded memory."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def is_new(self, path: Hashable) -> bool:
        """Whether it did not come by yet, as far as we remember."""
        key = hash(path)
        if key in self._hashes:
            return False
        if len(self._hashes) >= WALK_SEEN_PATHS_MAX:
            self._hashes.clear()
        self._hashes.add(key)
        return True


def _key(path: str) -> bytes | str:
    """The same for all spellings of a file; of what is no location, the path itself."""
    try:
        return index_key(path)
    except InvalidInput:
        return path


def _listed(some: Columns) -> Iterator[Listed]:
    for path, length, *counts in zip(*some, strict=True):
        yield Listed(path, length or 0, sum(count or 0 for count in counts))


def _unsized(paths: Iterable[str]) -> Iterator[Found]:
    rest = iter(paths)
    while some := list(islice(rest, WALK_BATCH_PATHS)):
        yield Found(some, [0] * len(some))


def _read_ahead(
    files: OpenFiles, wanted: Iterable[Listed]
) -> Iterator[tuple[Listed, Callable[[], bytes]]]:
    """Files, in their order, with what gives their bytes or raises why it cannot.

    Object stores take their time. What was read ahead waits in memory, so it is not much.
    """
    waiting: deque[tuple[Listed, Future[bytes]]] = deque()
    ahead_bytes = 0
    threads = ThreadPoolExecutor(PLANNING_READS_AHEAD)
    try:
        for one in wanted:
            waiting.append((one, threads.submit(files.read, one.path)))
            ahead_bytes += one.length
            while len(waiting) > PLANNING_READS_AHEAD or (
                len(waiting) > 1 and ahead_bytes > WALK_AHEAD_BYTES_MAX
            ):
                first, read = waiting.popleft()
                ahead_bytes -= first.length
                yield first, read.result
        for first, read in waiting:
            yield first, read.result
    finally:
        threads.shutdown(wait=True, cancel_futures=True)
