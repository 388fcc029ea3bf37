"""Tables of every kind of file, as they lie on a disk when they are dropped."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyiceberg.manifest import ManifestEntryStatus

from headgate.clock import SystemClock
from headgate.errors import HeadgateError
from headgate.purge.deleter import Progress, Task
from headgate.purge.deleting import Files, Step, Tools
from headgate.purge.ledger import Failed
from headgate.purge.removal import Hands, Removal
from headgate.purge.steps import LEAVES, ROOTS, STEPS
from headgate.storage.deletions import Check, may_go_on
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.planning.tables import EQUALITY, POSITIONS, MetadataTable, data_file, entry

Version = Literal[1, 2, 3]
SIZE = 10


@dataclass
class DroppedTable:
    """A table below a warehouse, with real files."""

    warehouse: Path
    version: Version = 2
    name: str = "t"
    properties: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.warehouse / "ns" / self.name
        self.metadata = self.folder / "metadata"
        self.data = self.folder / "data"
        for folder in (self.metadata, self.data):
            folder.mkdir(parents=True)
        self.table = MetadataTable(self.metadata, version=self.version, properties=self.properties)
        self.root = self.metadata / "00002.metadata.json"

    def file(self, name: str) -> str:
        """Make a file of data."""
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * SIZE)
        return str(path)

    def row(self, name: str, **fields: Any) -> Any:
        """An entry of a manifest, for a new file."""
        return data_file(self.file(name), file_size_in_bytes=SIZE, **fields)

    def with_everything(self) -> "DroppedTable":
        """Two snapshots that share a manifest, deletes as the version has them, statistics."""
        shared = self.table.manifest([self.row("a.parquet"), self.row("p=1/b.parquet")])
        gone = entry(
            data_file(str(self.data / "a.parquet"), file_size_in_bytes=SIZE),
            ManifestEntryStatus.DELETED,
            snapshot_id=2,
            sequence_number=1,
            file_sequence_number=1,
        )
        changed = self.table.manifest([gone, self.row("c.parquet")], number=2, snapshot=2)
        self.table.snapshot(1, [shared])
        later = [changed, *self._deletes(), shared]
        self.table.snapshot(2, later, parent=1)
        self._extra()
        self.root.write_bytes(self.table.metadata())
        return self

    def _deletes(self) -> list[Any]:
        if self.version == 1:
            return []
        rows = [
            self.row("d.parquet", content=POSITIONS),
            self.row("e.parquet", content=EQUALITY, equality_ids=[1]),
        ]
        if self.version == 3:
            self.file("vectors.puffin")
            rows += [
                data_file(
                    str(self.data / "vectors.puffin"),
                    content=POSITIONS,
                    file_format="PUFFIN",
                    file_size_in_bytes=SIZE,
                    referenced_data_file=str(self.data / name),
                    content_offset=offset,
                    content_size_in_bytes=5,
                )
                for offset, name in ((0, "a.parquet"), (5, "p=1/b.parquet"))
            ]
        return [self.table.manifest(rows, number=2, snapshot=2)]

    def _extra(self) -> None:
        written = {
            name: str(self.metadata / name)
            for name in ("one.stats", "parts.parquet", "00000.metadata.json", "00001.metadata.json")
        }
        for path in written.values():
            Path(path).write_bytes(b"x" * SIZE)
        sizes = {"file-size-in-bytes": SIZE, "snapshot-id": 1}
        self.table.extra = {
            "statistics": [{**sizes, "statistics-path": written["one.stats"]}],
            "partition-statistics": [{**sizes, "statistics-path": written["parts.parquet"]}],
            "metadata-log": [
                {"timestamp-ms": 1, "metadata-file": written["00000.metadata.json"]},
                {"timestamp-ms": 2, "metadata-file": written["00001.metadata.json"]},
            ],
        }

    def with_many(self, files: int, manifests: int = 1) -> "DroppedTable":
        """One snapshot of so many files."""
        each = files // manifests
        listed = [
            self.table.manifest([self.row(f"{part}-{number}.parquet") for number in range(each)])
            for part in range(manifests)
        ]
        self.table.snapshot(1, listed)
        self.root.write_bytes(self.table.metadata())
        return self

    def task(self, stage: str = LEAVES, **fields: Any) -> Task:
        """What a parent asks for."""
        given = {"roots": (str(self.warehouse),), "own": (str(self.folder),), **fields}
        return Task(metadata_location=str(self.root), stage=stage, **given)


def files_below(folder: Path) -> set[str]:
    """Everything but folders."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@dataclass
class Outcome:
    """What the steps of a task told."""

    progress: list[Progress] = field(default_factory=list)
    sums: dict[str, Progress] = field(default_factory=dict)
    error: HeadgateError | None = None

    @property
    def failed(self) -> list[Failed]:
        return [line for one in self.progress for line in one.failed]

    @property
    def outside(self) -> list[str]:
        return [path for one in self.progress for path in one.outside]

    @property
    def gone(self) -> int:
        return sum(one.deleted + one.missing for one in self.sums.values())


def run(
    task: Task,
    files: Files | None = None,
    check: Check = may_go_on,
    hands: Hands = Removal,
) -> Outcome:
    """All steps of a stage in this process, until one fails."""
    outcome = Outcome()
    opened = files or WorkerFiles(StorageOptions(), task.roots)()
    others = WorkerFiles(StorageOptions(), task.others)() if task.others else opened
    for name in STEPS[task.stage]:
        tools = Tools(opened, others, SystemClock(), check, outcome.progress.append)
        Step(name, task, tools, hands).run()
        outcome.sums[name] = outcome.progress[-1]
        if outcome.failed:
            break
    return outcome


def purge(table: DroppedTable, hands: Hands = Removal, **fields: Any) -> Outcome:
    """Both stages."""
    leaves = run(table.task(LEAVES, **fields), hands=hands)
    if leaves.failed:
        return leaves
    roots = run(table.task(ROOTS, **fields), hands=hands)
    return Outcome([*leaves.progress, *roots.progress], leaves.sums | roots.sums)
