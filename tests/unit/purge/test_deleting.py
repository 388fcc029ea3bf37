"""The steps of deleting a table's files, on a disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.errors import BadMetadata, FileMissing, LeaseLost, StorageUnavailable
from headgate.purge import sweeping
from headgate.purge.steps import LEAVES, ROOTS
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles
from tests.unit.purge.dropped import SIZE, DroppedTable, Version, files_below, purge, run

LEAF_FILES = {1: 3, 2: 5, 3: 6}  # of `with_everything`
LISTED_FILES = {1: 4, 2: 6, 3: 8}  # the same file may be in several manifests, and several times


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "PAUSES_SECONDS", (0, 0, 0))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_file_of_a_table_is_deleted_and_its_folders_too(
    tmp_path: Path, version: Version
) -> None:
    """Data, deletes of all kinds, manifests, lists, statistics, older metadata, and the last."""
    table = DroppedTable(tmp_path, version).with_everything()
    there = files_below(tmp_path)

    outcome = purge(table)

    assert outcome.failed == []
    assert outcome.outside == []
    assert outcome.gone == len(there)
    assert sum(one.missing for one in outcome.sums.values()) == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "ns"]
    assert list((tmp_path / "ns").iterdir()) == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_leaves_go_first_and_are_counted_once(tmp_path: Path, version: Version) -> None:
    """A file is expected as often as manifests name it, until it is known to be the same."""
    table = DroppedTable(tmp_path, version).with_everything()

    outcome = run(table.task(LEAVES))

    assert files_below(table.data) == set()
    assert table.root.exists()
    sums = outcome.sums["data"]
    count = LEAF_FILES[version]
    assert (sums.deleted, sums.missing, sums.bytes) == (count, 0, count * SIZE)
    assert sums.expected == count
    assert outcome.progress[0].expected == LISTED_FILES[version]


def test_the_order_of_the_roots_is_such_that_nothing_is_lost(tmp_path: Path) -> None:
    """What leads to a file is there as long as the file: manifests, lists, older ones, the last."""
    table = DroppedTable(tmp_path).with_everything()
    run(table.task(LEAVES))
    deleted: list[str] = []

    class Watching(OpenedFiles):
        def remove_folders(self, location: str) -> None:
            deleted.append("folders")
            super().remove_folders(location)

    files = Watching(WorkerFiles(StorageOptions(), (str(tmp_path),)))
    before = files_below(table.metadata)
    outcome = run(table.task(ROOTS), files)

    counts = {step: sums.deleted for step, sums in outcome.sums.items()}
    assert counts == {"manifests": 3, "manifest-lists": 2, "older": 4, "last": 1}
    assert sum(counts.values()) == len(before)
    assert deleted == ["folders"]


def test_a_table_that_does_not_collect_garbage_keeps_its_data(tmp_path: Path) -> None:
    """Its data may belong to others; its metadata goes."""
    table = DroppedTable(tmp_path, properties={"gc.enabled": "false"}).with_everything()
    data = files_below(table.data)

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == {f"ns/t/data/{name}" for name in data}
    assert not table.metadata.exists()


def test_what_is_not_reachable_stays(tmp_path: Path) -> None:
    """Somebody put files between those of the table, and beside its folder."""
    table = DroppedTable(tmp_path).with_everything()
    strange = {
        "ns/t/data/orphan.parquet",
        "ns/t/metadata/version-hint.text",
        "ns/t2/data/a.parquet",
    }
    for name in strange:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == strange


def test_checksums_go_with_their_files(tmp_path: Path) -> None:
    """Hadoop writes a hidden twin beside each file; that of another file stays."""
    table = DroppedTable(tmp_path).with_everything()
    for name in files_below(tmp_path):
        path = tmp_path / name
        path.with_name(f".{path.name}.crc").write_bytes(b"x")
    (table.data / ".orphan.parquet.crc").write_bytes(b"x")

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == {"ns/t/data/.orphan.parquet.crc"}


def test_a_purge_that_was_interrupted_goes_on_anywhere(tmp_path: Path) -> None:
    """Whatever was deleted before, the rest goes, and what is gone counts as missing."""
    whole = DroppedTable(tmp_path / "whole").with_everything()
    for cut in range(len(files_below(whole.warehouse))):
        table = DroppedTable(tmp_path / str(cut)).with_everything()
        there = files_below(table.warehouse)
        order = [path for path in sorted(table.data.rglob("*")) if path.is_file()]
        for pattern in ("manifest-*.avro", "snap-*.avro", "[!0]*", "0000[01]*", "0*"):
            order += [path for path in sorted(table.metadata.glob(pattern)) if path not in order]
        for path in order[:cut]:
            path.unlink()

        outcome = purge(table)

        assert outcome.failed == []
        assert files_below(table.warehouse) == set()
        assert sum(one.deleted for one in outcome.sums.values()) == len(there) - cut


def test_a_file_that_cannot_be_deleted_is_told_and_what_leads_to_it_stays(tmp_path: Path) -> None:
    """The others go; when the obstacle is gone, so is the file."""
    table = DroppedTable(tmp_path).with_everything()
    stuck = table.data / "c.parquet"
    stuck.unlink()
    (stuck / "inside").mkdir(parents=True)

    outcome = run(table.task(LEAVES))

    assert [(line.path, line.why) for line in outcome.failed] == [(str(stuck), "it is a folder")]
    sums = outcome.sums["data"]
    assert (sums.deleted, sums.missing, sums.expected) == (4, 0, 5)
    assert sums.bytes == 4 * SIZE
    assert len(list(table.metadata.glob("*.avro"))) == 5
    (stuck / "inside").rmdir()
    stuck.rmdir()
    assert purge(table).failed == []
    assert files_below(tmp_path) == set()


@pytest.mark.parametrize("name", ["manifest-*.avro", "snap-*.avro", "00000.metadata.json"])
def test_a_root_that_cannot_be_deleted_keeps_those_that_lead_to_it(
    tmp_path: Path, name: str
) -> None:
    """Each step ends the stage if it leaves anything."""
    table = DroppedTable(tmp_path).with_everything()
    run(table.task(LEAVES))
    stuck = max(table.metadata.glob(name))
    content = stuck.read_bytes()
    stuck.unlink()
    (stuck / "inside").mkdir(parents=True)

    outcome = run(table.task(ROOTS))

    assert {line.path for line in outcome.failed} == {str(stuck)}
    assert table.root.exists()
    (stuck / "inside").rmdir()
    stuck.rmdir()
    stuck.write_bytes(content)
    assert purge(table).failed == []
    assert files_below(tmp_path) == set()


@pytest.mark.parametrize("rubbish", [b"rubbish", b"", None])
@pytest.mark.parametrize("name", ["manifest-0.avro", "snap-2.avro"])
def test_what_a_damaged_manifest_leads_to_is_not_given_up(
    tmp_path: Path, name: str, rubbish: bytes | None
) -> None:
    """A manifest that is rubbish, empty or cut keeps the job open, and is told with the reason."""
    table = DroppedTable(tmp_path).with_everything()
    path = table.metadata / name
    path.write_bytes(path.read_bytes()[:-20] if rubbish is None else rubbish)

    outcome = run(table.task(LEAVES))

    assert [line.path for line in outcome.failed] == [str(path)]
    assert "cannot be read" in outcome.failed[0].why
    assert path.exists()


def test_links_do_not_lead_elsewhere(tmp_path: Path) -> None:
    """A folder of the table that is a link out of the roots is not followed, and is told."""
    table = DroppedTable(tmp_path / "w").with_everything()
    outside = tmp_path / "outside"
    (table.data / "p=1").rename(outside)
    (table.data / "p=1").symlink_to(outside)

    outcome = run(table.task(LEAVES))

    assert files_below(outside) == {"b.parquet"}
    assert [line.path for line in outcome.failed] == [str(table.data / "p=1" / "b.parquet")]
    assert "symbolic link" in outcome.failed[0].why


def test_a_file_that_is_still_there_is_told(tmp_path: Path) -> None:
    """A store that says yes and does nothing does not end a job."""

    class Lying(OpenedFiles):
        def list(self, prefix: str) -> Iterator[str]:
            yield from super().list(prefix)
            yield f"{table.data}/.a.parquet.crc"

    table = DroppedTable(tmp_path).with_everything()
    files = Lying(WorkerFiles(StorageOptions(), (str(tmp_path),)))

    outcome = run(table.task(LEAVES), files)

    assert {line.path for line in outcome.failed} == {str(table.data / "a.parquet")}
    assert "still there" in outcome.failed[0].why


def test_an_empty_warehouse_is_a_disk_that_is_not_there(tmp_path: Path) -> None:
    """Unless it is empty because all went: only roots go before the last metadata file."""
    table = DroppedTable(tmp_path / "w").with_everything()
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    (tmp_path / "w").mkdir()

    with pytest.raises(StorageUnavailable, match="w is empty"):
        run(table.task(LEAVES))
    with pytest.raises(FileMissing):
        run(table.task(ROOTS))


def test_a_metadata_file_that_is_gone_says_that_all_is(tmp_path: Path) -> None:
    """It goes last. But a disk that is not there, or a folder in its place, says nothing."""
    table = DroppedTable(tmp_path / "w").with_everything()
    content = table.root.read_bytes()
    table.root.unlink()
    with pytest.raises(FileMissing):
        run(table.task(LEAVES))
    table.root.mkdir()
    with pytest.raises(StorageUnavailable, match="it is a folder"):
        run(table.task(LEAVES))
    table.root.rmdir()
    table.root.write_bytes(content[:-1])
    with pytest.raises(BadMetadata):
        run(table.task(LEAVES))
    (tmp_path / "w").rename(tmp_path / "away")
    with pytest.raises(StorageUnavailable, match="there is no folder"):
        run(table.task(LEAVES))


def test_nothing_is_deleted_when_time_is_over(tmp_path: Path) -> None:
    """Another worker may have the job by now."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(tmp_path)

    def over() -> None:
        raise LeaseLost("over")

    with pytest.raises(LeaseLost):
        run(table.task(LEAVES), check=over)

    assert files_below(tmp_path) == there


def test_time_is_looked_at_between_files_of_a_batch(tmp_path: Path) -> None:
    """A disk may be so slow that a batch takes longer than a lease."""
    table = DroppedTable(tmp_path).with_many(1_000)
    checks: list[int] = []

    def soon_over() -> None:
        checks.append(len(checks))
        if len(checks) == 6:
            raise LeaseLost("over")

    with pytest.raises(LeaseLost):
        run(table.task(LEAVES), check=soon_over)

    assert 0 < len(files_below(table.data)) < 1_000


def test_progress_is_told_for_each_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that only grow, with what is expected from the beginning."""
    monkeypatch.setattr(sweeping, "QUICK_SECONDS", 1_000)
    table = DroppedTable(tmp_path).with_many(4_500, manifests=3)

    outcome = run(table.task(LEAVES))

    deleted = [one.deleted for one in outcome.progress if one.phase == "data"]
    assert deleted == [1_000, 2_000, 3_000, 4_000, 4_500, 4_500]
    assert {one.expected for one in outcome.progress} == {4_500}


def test_slow_batches_are_deleted_on_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is the same, and no batch is forgotten."""
    monkeypatch.setattr(sweeping, "QUICK_SECONDS", -1)
    table = DroppedTable(tmp_path).with_many(6_000, manifests=2)

    outcome = run(table.task(LEAVES, threads=3))

    assert files_below(table.data) == set()
    assert outcome.progress[-1].deleted == outcome.progress[-1].expected == 6_000


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a short memory a file is deleted twice, and none is left out or thought to be left."""
    monkeypatch.setattr("headgate.planning.reachable.WALK_SEEN_PATHS_MAX", 1)
    monkeypatch.setattr("headgate.purge.deleting.WALK_SEEN_PATHS_MAX", 1)
    table = DroppedTable(tmp_path).with_everything()
    (table.data / "orphan").write_bytes(b"x")

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == {"ns/t/data/orphan"}
