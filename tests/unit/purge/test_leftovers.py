"""What lies in a purged table's own places and its metadata does not lead to."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from headgate.catalog.metadata_files import is_metadata_file, next_file
from headgate.limits import PURGE_LEFT_PATHS_MAX
from headgate.purge import leftovers
from headgate.purge.ledger import LeftFiles
from headgate.purge.steps import LAST, LEAVES, OLDER, ROOTS
from headgate.storage.deletions import Check, Deleted, Folders
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles
from tests.unit.purge.dropped import DroppedTable, Outcome, files_below, purge, run


def unfinished(table: DroppedTable, folder: str = "metadata", ending: str = "") -> Path:
    """The metadata file of a commit that never landed."""
    file = table.folder / folder / f"00003-{uuid4()}{ending}.metadata.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"{}")
    return file


def unreferenced(outcome: Outcome) -> LeftFiles:
    """What the last listing found."""
    return outcome.sums[OLDER].unreferenced


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (f"00000-{uuid4()}.metadata.json", True),
        (f"123456-{uuid4()}.gz.metadata.json", True),
        (f"00000-{uuid4()}.metadata.json.gz", False),
        (f"0-{uuid4()}.metadata.json", False),
        (f"00000-{uuid4()}.metadata.json.bak", False),
        ("00000-1.metadata.json", False),
        ("v1.metadata.json", False),
        ("snap-1.avro", False),
    ],
)
def test_metadata_files_are_known_by_their_names(name: str, is_one: bool) -> None:
    """By the names that the server gives them, and by no others."""
    assert is_metadata_file(name) is is_one


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_names_that_are_given_are_names_that_are_known(codec: str) -> None:
    """Whatever the version and the codec are."""
    properties = {"write.metadata.compression-codec": codec}
    file = next_file("/w/t", properties, f"/w/t/metadata/99999-{uuid4()}.metadata.json", "x")

    assert is_metadata_file(file.rpartition("/")[2].replace("-x", f"-{uuid4()}"))


def test_metadata_files_of_commits_that_never_landed_are_deleted(tmp_path: Path) -> None:
    """With their checksums, and also a checksum alone; they count as deleted."""
    table = DroppedTable(tmp_path).with_everything()
    files = len(files_below(tmp_path))
    strays = [unfinished(table), unfinished(table, ending=".gz")]
    (table.metadata / f".{strays[0].name}.crc").write_bytes(b"x")
    alone = unfinished(table)
    alone.rename(table.metadata / f".{alone.name}.crc")

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == set()
    assert not table.folder.exists()
    assert outcome.gone == files + len(strays) + 1
    assert unreferenced(outcome) == LeftFiles()


def test_the_folder_of_the_metadata_file_is_one_for_metadata(tmp_path: Path) -> None:
    """A table may keep its metadata elsewhere, and moved there from another place."""
    table = DroppedTable(tmp_path).with_everything()
    there = table.folder / "meta"
    there.mkdir()
    moved = table.root.rename(there / table.root.name)
    table.root = moved
    strays = [unfinished(table, "meta"), unfinished(table)]

    outcome = purge(table)

    assert [one for one in strays if one.exists()] == []
    assert outcome.failed == []


def test_a_former_path_of_metadata_is_looked_at(tmp_path: Path) -> None:
    """The table holds it still, and no metadata file in it is known any more; what was not written
    by the server stays there too."""
    table = DroppedTable(tmp_path).with_everything()
    former = tmp_path / "former"
    strays = [former / name for name in (f"00003-{uuid4()}.metadata.json", "notes.txt")]
    former.mkdir()
    for file in strays:
        file.write_bytes(b"{}")

    outcome = purge(table, own=(str(table.folder), str(former)))

    assert outcome.failed == []
    assert files_below(tmp_path) == {"former/notes.txt"}
    assert unreferenced(outcome).paths == (str(strays[1]),)


def test_other_files_that_nothing_refers_to_stay_and_are_listed(tmp_path: Path) -> None:
    """Whoever put them there; also metadata files in folders that are not for them."""
    table = DroppedTable(tmp_path).with_everything()
    theirs = [
        table.data / "orphan.parquet",
        table.metadata / "notes.txt",
        table.metadata / "snap-9.avro",
        unfinished(table, "backup"),
        unfinished(table, "data"),
    ]
    for file in theirs:
        file.write_bytes(b"x")

    outcome = purge(table)

    assert outcome.failed == []
    assert {Path(path) for path in unreferenced(outcome).paths} == set(theirs)
    assert unreferenced(outcome).count == len(theirs)
    assert {tmp_path / name for name in files_below(tmp_path)} == set(theirs)
    assert outcome.progress[-1].left_outside == LeftFiles()


def test_unreferenced_files_are_counted_beyond_those_that_are_listed(tmp_path: Path) -> None:
    """The list has an end, the count has none."""
    table = DroppedTable(tmp_path).with_everything()
    count = PURGE_LEFT_PATHS_MAX + 50
    for number in range(count):
        (table.data / f"orphan-{number}").touch()

    outcome = purge(table)

    assert unreferenced(outcome).count == count
    assert len(unreferenced(outcome).paths) == PURGE_LEFT_PATHS_MAX
    assert len(files_below(tmp_path)) == count


def test_data_that_a_table_keeps_is_counted(tmp_path: Path) -> None:
    """Where its garbage is not collected, nothing refers to its data files any more."""
    table = DroppedTable(tmp_path, properties={"gc.enabled": "false"}).with_everything()
    data = files_below(table.data)

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(table.data) == data
    assert unreferenced(outcome).count == len(data)


def test_a_stray_that_is_still_there_fails_the_step(tmp_path: Path) -> None:
    """A store that says yes and does nothing does not end a job, and is not asked for ever."""

    class Obliging:
        def delete(self, folders: Folders, _check: Check) -> Deleted:
            return Deleted(sum(map(len, folders.values())), [], [])

    class Lying(OpenedFiles):
        def deletion(self) -> Obliging:  # type: ignore[override]
            return Obliging()

    table = DroppedTable(tmp_path)
    table.table.snapshot(1, [table.table.manifest([])])
    table.root.write_bytes(table.table.metadata())
    for file in table.metadata.glob("*.avro"):
        file.unlink()
    stray = unfinished(table)
    files = Lying(WorkerFiles(StorageOptions(), (str(tmp_path),)))

    outcome = run(table.task(ROOTS), files)

    assert [line.path for line in outcome.failed] == [str(stray)]
    assert table.root.exists()


def test_strays_are_deleted_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of them is bounded: it is listed until none is left."""
    monkeypatch.setattr(leftovers, "PURGE_STRAYS_AT_ONCE", 2)
    table = DroppedTable(tmp_path).with_everything()
    for _ in range(5):
        unfinished(table)
    (table.data / "orphan").touch()

    outcome = purge(table)

    assert outcome.failed == []
    assert files_below(tmp_path) == {"ns/t/data/orphan"}
    assert unreferenced(outcome).count == 1


def test_own_places_are_listed_no_more_often_than_they_were(tmp_path: Path) -> None:
    """Once after the manifests, and once when all but the last file is gone."""
    listed: list[str] = []

    class Counting(OpenedFiles):
        def list(self, prefix: str) -> Iterator[str]:
            listed.append(prefix)
            return super().list(prefix)

    table = DroppedTable(tmp_path).with_everything()
    files = Counting(WorkerFiles(StorageOptions(), (str(tmp_path),)))
    run(table.task(LEAVES), files)
    assert len(listed) == 1
    run(table.task(ROOTS), files)

    assert len(listed) == 3
    assert files_below(tmp_path) == set()


def test_what_is_left_is_told_before_the_last_file_goes(tmp_path: Path) -> None:
    """Whoever finds the metadata file gone cannot count again."""
    table = DroppedTable(tmp_path).with_everything()
    (table.data / "orphan").touch()
    assert run(table.task(LEAVES)).failed == []

    outcome = run(table.task(ROOTS))

    counts = {one.phase: one.unreferenced.count for one in outcome.progress}
    assert (counts[OLDER], counts[LAST]) == (1, 0)
