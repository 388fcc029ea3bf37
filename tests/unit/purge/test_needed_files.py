"""Files of a dropped table that other tables refer to: the steps of its purge leave them."""

from pathlib import Path

import msgspec
import pytest

from headgate.errors import StorageUnavailable
from headgate.purge import sweeping
from headgate.purge.steps import LEAVES
from headgate.purge.surveying import survey
from headgate.purge.surveyor import Referrer
from tests.planning.tables import data_file
from tests.unit.purge.dropped import DroppedTable, Outcome, files_below, purge, run
from tests.unit.purge.surveys import Counted, referring, surveyed


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "PAUSES_SECONDS", (0, 0, 0))


def referrer(table: DroppedTable) -> Referrer:
    """A table as the parent tells of it."""
    own = surveyed(table)
    found = survey(own, Counted(table.warehouse))
    return Referrer(own, found.digest)


def kept(outcome: Outcome) -> int:
    return sum(one.kept for one in outcome.sums.values())


def test_data_that_another_table_took_up_stays(tmp_path: Path) -> None:
    """All else goes, nothing is said to have failed, and what stays is counted."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(table.folder)
    other = referring(tmp_path, f"file:{table.data}/a.parquet", f"{table.data}/p=1/b.parquet")
    theirs = files_below(other.folder)

    outcome = purge(table, referrers=(referrer(other),))

    assert outcome.failed == []
    assert files_below(table.folder) == {"data/a.parquet", "data/p=1/b.parquet"}
    assert files_below(other.folder) == theirs
    assert (kept(outcome), outcome.gone) == (2, len(there) - 2)
    assert outcome.sums["data"].expected == outcome.sums["data"].deleted


def test_a_manifest_that_another_table_took_over_stays_with_its_data(tmp_path: Path) -> None:
    """A list elsewhere names it, so all that it leads to is needed."""
    table = DroppedTable(tmp_path).with_everything()
    [shared] = table.table.snapshots[1].manifests
    other = DroppedTable(tmp_path, name="b")
    other.table.snapshot(1, [shared])
    other.root.write_bytes(other.table.metadata())

    outcome = purge(table, referrers=(referrer(other),))

    assert outcome.failed == []
    manifest = Path(shared.manifest_path).relative_to(table.folder).as_posix()
    assert files_below(table.folder) == {"data/a.parquet", "data/p=1/b.parquet", manifest}
    assert kept(outcome) == 3


def test_a_copy_of_the_whole_table_keeps_all_but_its_last_metadata(tmp_path: Path) -> None:
    """Somebody registered a copy of its metadata file elsewhere."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(table.folder)
    other = DroppedTable(tmp_path, name="b")
    other.root.write_bytes(table.root.read_bytes())

    outcome = purge(table, referrers=(referrer(other),))

    assert outcome.failed == []
    assert files_below(table.folder) == there - {"metadata/00002.metadata.json"}
    assert (kept(outcome), outcome.gone) == (len(there) - 1, 1)


def test_the_last_metadata_file_may_be_needed_too(tmp_path: Path) -> None:
    """It is the older one of another table."""
    table = DroppedTable(tmp_path).with_everything()
    other = DroppedTable(tmp_path, name="b")
    other.table.extra = {"metadata-log": [{"timestamp-ms": 1, "metadata-file": str(table.root)}]}
    other.root.write_bytes(other.table.metadata())

    outcome = purge(table, referrers=(referrer(other),))

    assert outcome.failed == []
    assert files_below(table.folder) == {"metadata/00002.metadata.json"}


def test_checksums_of_needed_files_stay_with_them(tmp_path: Path) -> None:
    """They are found when all is verified, and that is as it should be."""
    table = DroppedTable(tmp_path).with_everything()
    (table.data / ".a.parquet.crc").write_bytes(b"x")
    other = referring(tmp_path, str(table.data / "a.parquet"))

    outcome = purge(table, referrers=(referrer(other),))

    assert outcome.failed == []
    assert files_below(table.folder) == {"data/a.parquet", "data/.a.parquet.crc"}


def test_nothing_is_deleted_if_another_table_changed_meanwhile(tmp_path: Path) -> None:
    """It refers to another file by now: the parent has to look again."""
    table = DroppedTable(tmp_path).with_everything()
    other = referring(tmp_path, str(table.data / "a.parquet"))
    before = referrer(other)
    added = other.table.manifest([data_file(str(table.data / "c.parquet"))], number=3, snapshot=3)
    other.table.snapshot(3, [added, *other.table.snapshots[2].manifests], parent=2)
    other.root.write_bytes(other.table.metadata())
    there = files_below(tmp_path)

    outcome = run(table.task(LEAVES, referrers=(before,)))

    assert [one.is_stale for one in outcome.progress] == [True]
    assert files_below(tmp_path) == there


def test_a_table_of_another_schema_that_names_too_many_files_protects_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported, the purge goes on, and what others need stays."""
    monkeypatch.setattr("headgate.purge.needed_files.WALK_SEEN_PATHS_MAX", 2)
    table = DroppedTable(tmp_path).with_everything()
    names = ("a.parquet", "c.parquet", "d.parquet")
    large = referring(tmp_path, *(str(table.data / name) for name in names))
    small = referring(tmp_path, str(table.data / "e.parquet"), name="c")
    others = [
        msgspec.structs.replace(referrer(one), holds_up=False, schema=one.folder.name)
        for one in (large, small, large)
    ]

    outcome = purge(table, referrers=tuple(others))

    assert files_below(table.folder) == {"data/e.parquet"}
    assert outcome.failed == []
    passed_over = {one.table for told in outcome.progress for one in told.passed_over}
    assert passed_over == {str(large.root)}


def test_files_that_one_schema_makes_up_leave_what_another_one_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schema that names most protects none, also if it was looked at first."""
    monkeypatch.setattr("headgate.purge.needed_files.WALK_SEEN_PATHS_MAX", 3)
    table = DroppedTable(tmp_path).with_everything()
    made_up = [str(table.data / f"{number}.parquet") for number in range(3)]
    hostile = referring(tmp_path, *made_up)
    honest = referring(tmp_path, str(table.data / "a.parquet"), name="c")
    others = [
        msgspec.structs.replace(referrer(one), holds_up=False, schema=one.folder.name)
        for one in (hostile, honest)
    ]

    purge(table, referrers=tuple(others))

    assert files_below(table.folder) == {"data/a.parquet"}


def test_tables_of_other_schemas_leave_room_for_those_of_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they name does not count against what the schema itself needs."""
    monkeypatch.setattr("headgate.purge.needed_files.WALK_SEEN_PATHS_MAX", 1)
    table = DroppedTable(tmp_path).with_everything()
    far = referring(tmp_path, str(table.data / "a.parquet"))
    near = referring(tmp_path, str(table.data / "c.parquet"), name="c")
    other = msgspec.structs.replace(referrer(far), holds_up=False)

    purge(table, referrers=(other, referrer(near)))

    assert files_below(table.folder) == {"data/a.parquet", "data/c.parquet"}


def test_nothing_is_deleted_while_a_storage_is_awaited(tmp_path: Path) -> None:
    """The step tells which table it could not read, and ends."""
    table = DroppedTable(tmp_path / "w").with_everything()
    other = referring(tmp_path / "v", str(table.data / "a.parquet"))
    away = msgspec.structs.replace(referrer(other), holds_up=False, is_awaited=True)
    (tmp_path / "v").rename(tmp_path / "gone")
    there = files_below(tmp_path)

    outcome = run(table.task(LEAVES, referrers=(away,), others=(str(tmp_path / "v"),)))

    assert [one.away for one in outcome.progress] == [str(other.root)]
    assert files_below(tmp_path) == there


def test_more_than_can_be_remembered_is_not_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever forgot some of them would delete these."""
    monkeypatch.setattr("headgate.purge.needed_files.WALK_SEEN_PATHS_MAX", 1)
    table = DroppedTable(tmp_path).with_everything()
    other = referring(tmp_path, *(str(table.data / name) for name in ("a.parquet", "c.parquet")))
    there = files_below(tmp_path)

    with pytest.raises(StorageUnavailable, match="more than 1 files"):
        run(table.task(LEAVES, referrers=(referrer(other),)))

    assert files_below(tmp_path) == there
