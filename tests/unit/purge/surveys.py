"""Tables of a disk, looked at for what they refer to outside of their places."""

from pathlib import Path

from headgate.purge.surveying import survey
from headgate.purge.surveyor import Outside, Surveyed
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles
from tests.planning.tables import data_file
from tests.unit.purge.dropped import DroppedTable


class Counted(OpenedFiles):
    """Files that remember which were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(WorkerFiles(StorageOptions(), (str(root),)))
        self.names: list[str] = []
        self.checks = 0

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        self.checks += 1
        super().check_store(location, may_be_empty=may_be_empty)

    def read(self, location: str) -> bytes:
        self.names.append(location.rpartition("/")[2])
        return super().read(location)

    @property
    def manifests(self) -> list[str]:
        return [name for name in self.names if name.startswith("manifest-")]


def surveyed(table: DroppedTable, *own: Path) -> Surveyed:
    """A table, with its folder or these as its places."""
    return Surveyed(str(table.root), tuple(map(str, own or (table.folder,))))


def look(table: DroppedTable, *own: Path, files: OpenedFiles | None = None) -> Outside:
    return survey(surveyed(table, *own), files or Counted(table.warehouse))


def referring(
    warehouse: Path, *paths: str, name: str = "b", properties: dict[str, str] | None = None
) -> DroppedTable:
    """A table with a file of its own, and a second snapshot with these files."""
    table = DroppedTable(warehouse, name=name, properties=properties or {})
    own = table.table.manifest([table.row("own.parquet")])
    table.table.snapshot(1, [own])
    took = table.table.manifest([data_file(path) for path in paths], number=2, snapshot=2)
    table.table.snapshot(2, [took, own], parent=1)
    table.root.write_bytes(table.table.metadata())
    return table
