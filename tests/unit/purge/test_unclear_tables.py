"""Tables of which not all can be read: what is said of them, and whom that concerns."""

from pathlib import Path

import msgspec
import pytest

from headgate.errors import StorageRefused, StorageUnavailable, TooLarge
from headgate.limits import PLANNING_READS_AHEAD, REFERENCE_STORE_FAILURES_MAX
from headgate.model.locations import index_key
from headgate.purge import surveying
from headgate.purge.surveying import shared_by, survey
from headgate.purge.surveyor import Referrer, Shared
from headgate.testing.manual_clock import ManualClock
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.surveys import Counted, look, referring, surveyed


def test_a_storage_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    """A disk that is not mounted, or is empty: what lies there may be needed all the same."""
    table = DroppedTable(tmp_path / "w").with_everything()
    (tmp_path / "w").rename(tmp_path / "away")
    gone = look(table)
    (tmp_path / "w").mkdir()
    empty = look(table)

    assert gone.is_away
    assert empty.is_away
    assert "w is empty" in empty.unclear


def test_a_storage_that_refuses_is_asked_a_few_times_and_the_rest_is_read(tmp_path: Path) -> None:
    """What it refuses to show may be needed; what it shows counts."""

    class Refusing(Counted):
        def read(self, location: str) -> bytes:
            if "manifest-" in location:
                self.names.append(location.rpartition("/")[2])
                raise StorageUnavailable("no", why="AccessDenied")
            return super().read(location)

    table = DroppedTable(tmp_path)
    manifests = [table.table.manifest([table.row(f"{number}.parquet")]) for number in range(9)]
    table.table.snapshot(1, manifests)
    table.root.write_bytes(table.table.metadata())
    files = Refusing(tmp_path)

    found = look(table, table.data, files=files)

    assert (found.is_away, found.folders) == (True, (index_key(str(table.metadata)),))
    assert "AccessDenied" in found.unclear
    assert len(files.manifests) <= REFERENCE_STORE_FAILURES_MAX + PLANNING_READS_AHEAD


@pytest.mark.parametrize("refused", ["manifest-", "snap-", "metadata.json"])
def test_one_file_that_a_store_refuses_is_no_store_that_is_away(
    tmp_path: Path, refused: str
) -> None:
    """An archived object of one table postpones no purge of another one."""

    class Refusing(Counted):
        def read(self, location: str) -> bytes:
            if refused in location:
                raise StorageRefused("no", why="InvalidObjectState")
            return super().read(location)

    table = DroppedTable(tmp_path).with_everything()

    found = look(table, table.data, files=Refusing(tmp_path))

    assert "InvalidObjectState" in found.unclear
    assert not found.is_away


@pytest.mark.parametrize("error", [MemoryError, ImportError("snappy"), TooLarge("it is large")])
def test_what_only_this_program_cannot_read_is_no_answer(
    tmp_path: Path, error: Exception | type[Exception]
) -> None:
    """Others may, and need what it leads to."""

    class Unable(Counted):
        def read(self, location: str) -> bytes:
            if "manifest-" in location:
                raise error
            return super().read(location)

    table = DroppedTable(tmp_path).with_everything()

    found = look(table, files=Unable(tmp_path))

    assert (bool(found.unclear), found.is_away) == (True, False)


def with_unknown_codec(table: DroppedTable) -> None:
    for manifest in table.metadata.glob("manifest-*.avro"):
        manifest.write_bytes(manifest.read_bytes().replace(b"deflate", b"xeflate"))


def test_a_codec_that_nobody_here_knows_is_no_answer(tmp_path: Path) -> None:
    """Another program wrote it, and reads it."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    with_unknown_codec(table)

    found = look(table)

    assert "codec 'xeflate' is not known" in found.unclear
    assert not found.is_away


def test_a_table_has_so_much_time_to_be_read(tmp_path: Path) -> None:
    """After that nothing of it is read, and it is not known what it refers to."""
    table, files = DroppedTable(tmp_path).with_everything(), Counted(tmp_path)

    found = survey(surveyed(table), files, -1.0)

    assert "takes more than" in found.unclear
    assert found.is_late
    assert files.names == []


def test_what_was_read_in_time_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table whose time is over in the middle protects what is known of it by then."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table, clock = referring(tmp_path, str(other.data / "a.parquet")), ManualClock()
    monkeypatch.setattr(surveying, "SystemClock", lambda: clock)

    class Slow(Counted):
        def read(self, location: str) -> bytes:
            if "manifest-" in location:
                clock.advance(11_000)
            return super().read(location)

    found = survey(surveyed(table, table.data), Slow(tmp_path), 10.0)

    assert found.is_late
    assert found.folders == (index_key(str(table.metadata)),)


@pytest.mark.parametrize("holds_up", [True, False])
def test_tables_of_other_schemas_have_a_time_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, holds_up: bool
) -> None:
    """When it is over the others are passed over and reported; a schema waits for its own."""
    monkeypatch.setattr(surveying, "allowance", lambda _tables: 15.0)
    monkeypatch.setattr(surveying, "REFERENCE_TABLE_SECONDS_MAX", 0.0)
    clock = ManualClock()
    monkeypatch.setattr(surveying, "SystemClock", lambda: clock)
    other = DroppedTable(tmp_path, name="a").with_everything()
    asked = [str(other.data / "a.parquet")]
    tables = [referring(tmp_path, *asked, name=f"b{number}") for number in range(4)]
    referrers = [Referrer(surveyed(one), look(one).digest, holds_up) for one in tables]
    surveying._known.clear()

    class Slow(Counted):
        def read(self, location: str) -> bytes:
            if location.endswith(".metadata.json"):
                clock.advance(7_000)
            return super().read(location)

    files = Slow(tmp_path)
    found = shared_by(referrers, files, asked)

    assert found.paths == asked
    passed = [] if holds_up else [str(one.root) for one in tables[2:]]
    assert [one.table for one in found.passed_over] == passed


def test_whatever_is_wrong_with_a_table_is_said_of_it(tmp_path: Path) -> None:
    """Also a mistake of ours: others are looked at all the same."""

    class Broken(Counted):
        def read(self, location: str) -> bytes:
            raise KeyError(location)

    table = DroppedTable(tmp_path).with_everything()

    found = look(table, files=Broken(tmp_path))

    assert found.unclear.startswith("KeyError")
    assert found.unread == (str(table.root),)


@pytest.mark.parametrize("holds_up", [True, False])
def test_only_a_table_of_the_same_schema_holds_up_what_it_cannot_show(
    tmp_path: Path, *, holds_up: bool
) -> None:
    """What could be read of another one still counts, and is not remembered as all."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    referrer = Referrer(surveyed(table), look(table).digest, holds_up)
    surveying._known.clear()
    with_unknown_codec(table)
    asked = [str(other.data / "a.parquet")]

    found = shared_by([referrer], Counted(tmp_path), asked)

    assert (found.paths, found.is_held_up) == ([], holds_up)
    assert [one.table for one in found.passed_over] == [str(table.root)]
    assert surveying._referred == {}


def test_who_is_not_checked_may_be_other_than_it_was(tmp_path: Path) -> None:
    """Files that are rewritten all the time would hold up purges of others for ever."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    asked = [str(other.data / "a.parquet")]
    table = referring(tmp_path, *asked)
    referrer = Referrer(surveyed(table), b"another", holds_up=False, is_checked=False)

    assert shared_by([referrer], Counted(tmp_path), asked) == Shared(asked)


def test_a_store_that_answers_again_is_no_doubt(tmp_path: Path) -> None:
    """A file that others need is not deleted because of one answer that did not come."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    asked = [str(other.data / "a.parquet")]
    table = referring(tmp_path, *asked)
    referrer = Referrer(surveyed(table), look(table).digest, holds_up=False)

    class Shaky(Counted):
        has_failed = False

        def read(self, location: str) -> bytes:
            if "manifest-" in location and not self.has_failed:
                self.has_failed = True
                raise StorageUnavailable("slow down")
            return super().read(location)

    assert shared_by([referrer], Shaky(tmp_path), asked) == Shared(asked)


def test_a_table_that_is_awaited_is_no_answer_while_its_store_is_away(tmp_path: Path) -> None:
    """Nothing is deleted then; one that is not awaited protects what can be read of it."""
    other = DroppedTable(tmp_path / "w", name="a").with_everything()
    asked = [str(other.data / "a.parquet")]
    table = referring(tmp_path / "w", *asked)
    referrer = Referrer(surveyed(table), look(table).digest, holds_up=False, is_awaited=True)
    (tmp_path / "w").rename(tmp_path / "away")
    files = Counted(tmp_path / "w")

    awaited = shared_by([referrer], files, asked)
    passed = shared_by([msgspec.structs.replace(referrer, is_awaited=False)], files, asked)

    assert awaited == Shared(away=str(table.root))
    assert (passed.away, len(passed.passed_over)) == ("", 1)


def test_lists_that_name_too_much_are_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one table names must not take the memory in which others are looked at."""
    monkeypatch.setattr(surveying, "REFERENCE_NOTED_CHARS_MAX", 10)
    table = DroppedTable(tmp_path).with_everything()

    found = look(table, table.data)

    assert "name too many files" in found.unclear
