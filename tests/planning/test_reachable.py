"""The walk over all files of a table."""

import json
from pathlib import Path
from typing import Literal

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestEntryStatus, ManifestFile, write_manifest

from headgate.errors import Forbidden, StorageUnavailable
from headgate.planning import reachable
from headgate.planning.files import LocalFiles, OpenFiles
from headgate.planning.reachable import Unread, Walk
from tests.planning.batches import Batch, Kind, batches
from tests.planning.tables import EQUALITY, POSITIONS, MetadataTable, data_file, entry

LOCATION = "00002.metadata.json"


def walk(table: MetadataTable, files: OpenFiles | None = None) -> list[Batch]:
    return list(batches(Walk(table.metadata(), files or LocalFiles()), LOCATION))


def by_kind(batches: list[Batch]) -> dict[Kind, list[str]]:
    found: dict[Kind, list[str]] = {}
    for batch in batches:
        found.setdefault(batch.kind, []).extend(batch.paths)
    return found


def manifest_paths(table: MetadataTable) -> set[str]:
    return {
        manifest.manifest_path
        for snapshot in table.snapshots.values()
        for manifest in snapshot.manifests
    }


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    """Two snapshots that share a manifest; the second deletes a file and rows of another."""
    table = MetadataTable(tmp_path)
    shared = table.manifest([data_file("a"), data_file("b")], number=1, snapshot=1)
    gone = entry(
        data_file("a"), ManifestEntryStatus.DELETED, sequence_number=1, file_sequence_number=1
    )
    changed = table.manifest([gone, data_file("c")], number=2, snapshot=2)
    removed = table.manifest(
        [
            data_file("d", content=POSITIONS),
            data_file("e", content=EQUALITY, equality_ids=[1]),
        ],
        number=2,
        snapshot=2,
    )
    table.snapshot(1, [shared])
    table.snapshot(2, [changed, removed, shared], parent=1)
    table.extra = {
        "statistics": [{"snapshot-id": 1, "statistics-path": "one.puffin"}],
        "partition-statistics": [{"snapshot-id": 1, "statistics-path": "parts.parquet"}],
        "metadata-log": [
            {"timestamp-ms": 1, "metadata-file": "00000.metadata.json"},
            {"timestamp-ms": 2, "metadata-file": "00001.metadata.json"},
            {"timestamp-ms": 3, "metadata-file": LOCATION},
        ],
    }
    return table


def test_every_file_is_found_once_and_leaves_come_first(table: MetadataTable) -> None:
    """Whatever leads to a file comes after it; the metadata file is the very last."""
    batches = walk(table)

    found = by_kind(batches)

    assert list(found) == [
        Kind.DATA,
        Kind.MANIFEST,
        Kind.MANIFEST_LIST,
        Kind.STATISTICS,
        Kind.OLD_METADATA,
        Kind.METADATA,
    ]
    assert sorted(found[Kind.DATA]) == ["a", "b", "c", "d", "e"]
    assert sorted(found[Kind.MANIFEST]) == sorted(manifest_paths(table))
    assert found[Kind.MANIFEST_LIST] == [str(table.folder / f"snap-{n}.avro") for n in (2, 1)]
    assert found[Kind.STATISTICS] == ["one.puffin", "parts.parquet"]
    assert found[Kind.OLD_METADATA] == ["00000.metadata.json", "00001.metadata.json"]
    assert batches[-1] == Batch(Kind.METADATA, [LOCATION])


def test_data_is_kept_where_garbage_is_not_collected(table: MetadataTable) -> None:
    """Files of a table with gc.enabled=false may belong to others."""
    table.properties = {"gc.enabled": "FALSE"}

    found = by_kind(walk(table))

    assert Kind.DATA not in found
    assert len(found[Kind.MANIFEST]) == 3


def test_a_missing_manifest_is_reported_and_the_rest_is_found(table: MetadataTable) -> None:
    """A purge that was interrupted must be able to go on."""
    path = table.snapshots[2].manifests[0].manifest_path
    Path(path).unlink()

    found = by_kind(walk(table))

    assert found[Kind.MISSING] == [path]
    assert sorted(found[Kind.DATA]) == ["a", "b", "d", "e"]
    assert path in found[Kind.MANIFEST]


def test_a_missing_manifest_list_is_reported_and_the_rest_is_found(table: MetadataTable) -> None:
    """What only that list led to stays unknown."""
    path = table.folder / "snap-2.avro"
    path.unlink()

    found = by_kind(walk(table))

    assert set(found[Kind.MISSING]) == {str(path)}
    assert sorted(found[Kind.DATA]) == ["a", "b"]
    assert str(path) in found[Kind.MANIFEST_LIST]


def test_a_damaged_manifest_is_reported_as_such(table: MetadataTable) -> None:
    """It is there, so what it leads to may be there too: whoever deletes should know."""
    path = table.snapshots[1].manifests[0].manifest_path
    Path(path).write_bytes(b"rubbish")

    found = by_kind(walk(table))

    assert found[Kind.DAMAGED] == [path]
    assert sorted(found[Kind.DATA]) == ["a", "c", "d", "e"]


def test_a_manifest_that_is_cut_between_blocks_is_damaged(tmp_path: Path) -> None:
    """Its list knows how long it was; what is in it does not tell."""
    table = MetadataTable(tmp_path)
    path = tmp_path / "m.avro"
    output = PyArrowFileIO().new_output(str(path))
    with write_manifest(2, table.specs[0], table.schema, output, 1, "null") as writer:
        for name in ("a", "b"):
            writer.add_entry(entry(data_file(name), snapshot_id=1, sequence_number=1))
    manifest = writer.to_manifest_file()
    manifest.sequence_number = manifest.min_sequence_number = 1
    table.snapshot(1, [manifest])
    assert sorted(by_kind(walk(table))[Kind.DATA]) == ["a", "b"]

    data = path.read_bytes()
    block = data[data.rindex(data[-16:], 0, -16) + 16 :]
    path.write_bytes(data.removesuffix(block))

    found = by_kind(walk(table))
    assert found[Kind.DAMAGED] == [str(path)]
    assert Kind.DATA not in found


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_of_all_formats_are_found(tmp_path: Path, version: Literal[1, 2, 3]) -> None:
    """Also those of the oldest tables, whose snapshots name their manifests themselves."""
    table = MetadataTable(tmp_path, version=version)
    manifest = table.manifest([data_file("a"), data_file("b")])
    table.snapshot(1, [manifest])
    assert by_kind(walk(table))[Kind.DATA] == ["a", "b"]
    metadata = json.loads(table.metadata())
    metadata["snapshots"][0]["manifests"] = [manifest.manifest_path]
    del metadata["snapshots"][0]["manifest-list"]

    found = list(batches(Walk(json.dumps(metadata).encode(), LocalFiles()), LOCATION))

    assert [batch.kind for batch in found] == [Kind.DATA, Kind.MANIFEST, Kind.METADATA]
    assert by_kind(found)[Kind.DATA] == ["a", "b"]


def test_a_manifest_that_may_not_be_read_is_told(table: MetadataTable) -> None:
    """It lies where the catalog has no business; what it leads to is not known."""
    path = table.snapshots[1].manifests[0].manifest_path

    class Strict(LocalFiles):
        def read(self, location: str) -> bytes:
            if location == path:
                raise Forbidden("no", why="it is elsewhere")
            return super().read(location)

    found = Walk(table.metadata(), Strict())
    assert sorted(name for some in found.data() for name in some.paths) == ["a", "c", "d", "e"]
    assert found.unread == [Unread(path, "it is elsewhere")]


def test_lists_say_how_many_files_there_are(table: MetadataTable) -> None:
    """Before the first manifest is read; the same manifest counts once."""
    found = Walk(table.metadata(), LocalFiles())

    first = next(found.data())

    assert found.listed == 6
    assert len(first.paths) == len(first.sizes) == 2
    assert first.sizes == [1_000, 1_000]


def test_few_bytes_are_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large manifests wait for their turn in their store, not in memory."""
    monkeypatch.setattr(reachable, "WALK_AHEAD_BYTES_MAX", 1)
    table = MetadataTable(tmp_path)
    table.snapshot(1, [table.manifest([data_file(str(number))]) for number in range(6)])
    reads: list[str] = []

    class Counting(LocalFiles):
        def read(self, location: str) -> bytes:
            reads.append(location)
            return super().read(location)

    data = Walk(table.metadata(), Counting()).data()
    next(data)
    data.close()  # type: ignore[attr-defined]

    assert len(reads) <= 3  # the list, and two manifests


def test_a_store_that_does_not_answer_ends_the_walk(table: MetadataTable) -> None:
    """A file that could not be asked for is not a missing one."""

    class Unreachable:
        def read(self, location: str) -> bytes:
            raise StorageUnavailable(location)

    with pytest.raises(StorageUnavailable):
        walk(table, Unreachable())


def test_a_table_without_snapshots_has_only_metadata(tmp_path: Path) -> None:
    """An empty table is one file."""
    assert walk(MetadataTable(tmp_path)) == [Batch(Kind.METADATA, [LOCATION])]


def test_many_files_come_in_batches(tmp_path: Path) -> None:
    """No batch is large, and manifests are read as they are needed."""
    table = MetadataTable(tmp_path)
    manifests = [
        table.manifest([data_file(f"{m}-{n}") for n in range(900)], number=1) for m in range(4)
    ]
    table.snapshot(1, manifests)

    batches = [batch for batch in walk(table) if batch.kind == Kind.DATA]

    assert [len(batch.paths) for batch in batches] == [1000, 1000, 1000, 600]


def test_manifests_are_read_once_however_many_snapshots_share_them(
    table: MetadataTable,
) -> None:
    """A table with thousands of snapshots has hardly more manifests than its last one."""
    reads: list[str] = []

    class Counting(LocalFiles):
        def read(self, location: str) -> bytes:
            reads.append(location)
            return super().read(location)

    walk(table, Counting())

    shared: ManifestFile = table.snapshots[1].manifests[0]
    assert reads.count(shared.manifest_path) == 1


def test_what_is_remembered_is_bounded(
    table: MetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a short memory files come twice, and none is left out."""
    monkeypatch.setattr(reachable, "WALK_SEEN_PATHS_MAX", 1)

    found = by_kind(walk(table))

    assert set(found[Kind.DATA]) == {"a", "b", "c", "d", "e"}
    assert set(found[Kind.MANIFEST]) == manifest_paths(table)
