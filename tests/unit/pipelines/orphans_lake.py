"""Tables on disk whose every reference is known, and the steps that look for orphans in them, one
after the other and without Spark."""

import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import pyarrow as pa
from pyiceberg.manifest import ManifestEntryStatus, ManifestFile

from headgate.errors import TableNotFound
from headgate.pipelines.names import TableName
from headgate.pipelines.orphans_finding import Terms, find, schema
from headgate.pipelines.orphans_listing import divide, list_parts
from headgate.pipelines.orphans_places import Places
from headgate.pipelines.orphans_references import read_manifests, walk
from headgate.pipelines.orphans_subjects import AnyStore, State, Subject
from headgate.pipelines.orphans_survey import doubt_of, owners_of
from headgate.pipelines.server import LoadedTable, Server
from headgate.storage.listing import Listing
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.planning.tables import MetadataTable, data_file, entry

SPELLINGS = ("{}", "file:{}", "file://{}", "file://localhost{}")
DISTANT_MS = 1 << 45
FILES = pickle.dumps(AnyStore(StorageOptions()))


class Step(NamedTuple):
    """A snapshot of a table, and what becomes of it."""

    added: int
    removed: int
    """How many of the oldest files go with it."""
    is_kept: bool
    """Else it is expired, and nobody deleted its files."""
    has_statistics: bool


class Lake:
    """A folder with tables, and what they refer to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.referred: set[str] = set()
        self.tables: dict[TableName, LoadedTable] = {}

    def write(self, path: Path) -> str:
        """A file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
        return str(path)

    def add(self, name: str, version: int, steps: Sequence[Step], spelling: str) -> None:
        """A table with these snapshots, which names its files in this way."""
        place = self.folder / name
        place.mkdir()
        made = Making(self, MetadataTable(place, version=cast("Any", version)), spelling)
        for number, step in enumerate(steps, start=1):
            made.step(number, step)
        table = TableName("main", ("shop",), name)
        location = self.write(place / "00002-current.metadata.json")
        self.tables[table] = LoadedTable(table, made.metadata(), location)
        self.referred |= {location, *made.referred}

    def load(self, table: TableName) -> LoadedTable:
        """As a server does."""
        if table not in self.tables:
            raise TableNotFound(f"Table does not exist: {table}")
        return self.tables[table]

    def files(self) -> set[str]:
        """All that lie there."""
        return {str(path) for path in self.folder.rglob("*") if path.is_file()}

    def orphans(self, before_ms: int = DISTANT_MS) -> set[str]:
        """The paths of what is found."""
        subjects = [Subject("table", name) for name in self.tables]
        keys, states = references(cast("Server", self), subjects)
        roots = [str(self.folder)]
        where = WorkerFiles(StorageOptions(), tuple(roots))
        places = Places(roots, owners_of(subjects, states), doubt_of(subjects, states))
        left = [row for row in listed(where, roots) if row["key"] not in keys]
        batch = pa.RecordBatch.from_pylist(left, schema=LISTED)
        packed = find(Terms(where, places, before_ms), [batch])
        return {row["path"] for row in unpacked(packed)}


class Making:
    """A table that is being made."""

    def __init__(self, lake: Lake, table: MetadataTable, spelling: str) -> None:
        self.referred: set[str] = set()
        self._lake = lake
        self._table = table
        self._spelling = spelling
        self._live: list[tuple[ManifestFile, list[str]]] = []
        """Manifests, each with its files."""
        self._paths: dict[str, str] = {}
        """Of manifests, by the way they are spelt."""
        self._statistics: dict[int, str] = {}

    def step(self, number: int, step: Step) -> None:
        """One snapshot more."""
        new = [self._file(f"data/{number}-{at}.parquet") for at in range(step.added)]
        before, self._live = self._live, []
        removed = 0
        for manifest, files in before:
            gone = files[: max(step.removed - removed, 0)]
            removed += len(gone)
            kept = files[len(gone) :]
            if gone:
                self._live.append((self._manifest(number, kept, gone), kept))
            else:
                self._live.append((manifest, files))
        if new:
            self._live.append((self._manifest(number, new, []), new))
        manifests = [manifest for manifest, _ in self._live]
        self._table.snapshot(number, manifests)
        if not step.is_kept:
            del self._table.snapshots[number]
            return
        self.referred.add(str(self._table.folder / f"snap-{number}.avro"))
        self.referred |= {self._paths[manifest.manifest_path] for manifest in manifests}
        self.referred |= {path for _, files in self._live for path in files}
        if step.has_statistics:
            self._statistics[number] = self._file(f"metadata/{number}.stats")
            self.referred.add(self._statistics[number])

    def metadata(self) -> bytes:
        """With a branch and a tag, statistics of both kinds, and a log."""
        kept = list(self._table.snapshots)
        old = self._file("metadata/00001-old.metadata.json")
        of_partitions = self._file("metadata/partitions.stats")
        self.referred |= {old, of_partitions}
        self._table.extra = {
            "refs": {
                f"ref{id}": {"snapshot-id": id, "type": "branch" if id % 2 else "tag"}
                for id in kept
            },
            "statistics": [
                {"snapshot-id": id, "statistics-path": self._spelt(path)}
                for id, path in self._statistics.items()
            ],
            "partition-statistics": [
                {"snapshot-id": 1, "statistics-path": self._spelt(of_partitions)}
            ],
            "metadata-log": [{"timestamp-ms": 1, "metadata-file": self._spelt(old)}],
        }
        return self._table.metadata()

    def _file(self, name: str) -> str:
        return self._lake.write(self._table.folder / name)

    def _manifest(self, number: int, kept: list[str], gone: list[str]) -> ManifestFile:
        before = {"snapshot_id": 1, "sequence_number": 1, "file_sequence_number": 1}
        deleted = ManifestEntryStatus.DELETED
        entries = [
            *(entry(data_file(self._spelt(path))) for path in kept),
            *(entry(data_file(self._spelt(path)), deleted, **before) for path in gone),
        ]
        written = self._table.manifest(entries, number=number, snapshot=number)
        path = written.manifest_path
        written[0] = self._spelt(path)
        self._paths[written.manifest_path] = path
        return written

    def _spelt(self, path: str) -> str:
        return self._spelling.format(path)


LISTED = pa.schema([("key", pa.string()), ("size", pa.int64()), ("modified", pa.int64())])


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Rows as executors give them back."""
    for batch in batches:
        yield from batch.to_pylist()


def references(
    server: Server, subjects: Sequence[Subject]
) -> tuple[set[str], dict[tuple[str, ...], State]]:
    """The keys of all that subjects refer to, and what they are."""
    texts = [json.dumps(msgspec.to_builtins(one)) for one in subjects]
    asked = pa.RecordBatch.from_pydict({"number": range(len(texts)), "subject": texts})
    walked = list(rows_of(walk(server, FILES, [asked])))
    manifests = [row for row in walked if row["path"] is not None]
    wanted = pa.RecordBatch.from_pydict(
        {name: [row[name] for row in manifests] for name in ("number", "path", "length")}
    )
    read = list(rows_of(read_manifests(FILES, [wanted])))
    states = {
        subjects[row["number"]].identity: msgspec.json.decode(row["state"], type=State)
        for row in walked
        if row["state"] is not None
    }
    for row in read:
        if row["why"] is not None:
            id = subjects[row["number"]].identity
            states[id] = states[id].doubted(row["why"])
    return {row["key"] for row in (*walked, *read) if row["key"] is not None}, states


def listed(where: WorkerFiles, roots: Sequence[str]) -> list[dict[str, Any]]:
    """All files below some places."""
    parts = divide(roots, Listing(where).folders)
    locations, depths = zip(*parts, strict=True)
    batch = pa.RecordBatch.from_pydict({"location": locations, "deep": depths})
    return list(rows_of(list_parts(where, [batch])))


def unpacked(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Orphans, as the driver gets them."""
    found = []
    for row in rows_of(batches):
        table = pa.ipc.open_stream(row["orphans"]).read_all()
        assert table.schema == schema()
        found += table.to_pylist()
    return found
