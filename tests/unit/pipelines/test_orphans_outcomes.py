"""What comes of orphans: deleted, summed up, and reported."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from headgate.errors import BadSetting, Unavailable
from headgate.pipelines.orphans import age_ms, check_age
from headgate.pipelines.orphans_account import Account, NotDeleted, PlaceSum
from headgate.pipelines.orphans_finding import schema
from headgate.pipelines.orphans_removal import remove_files, with_outcomes
from headgate.pipelines.orphans_report import check_report, report_file
from headgate.pipelines.orphans_spool import spool
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles

HOUR_MS = 3_600_000
THEN = datetime(2026, 1, 2, tzinfo=UTC)


def orphans(*paths: str, place: str = "/w") -> pa.Table:
    """Each has a byte more than the one before."""
    rows = [
        {"key": path, "path": path, "size": size, "modified": THEN, "place": place, "table": "t"}
        for size, path in enumerate(paths, start=1)
    ]
    return pa.Table.from_pylist(rows, schema=schema())


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_file_is_accounted_for_once(tmp_path: Path) -> None:
    """Deleted with its checksum, missing, or failed with the reason; again, all is missing."""
    for name in ("a", ".a.crc", "b", "other/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    paths = [f"{tmp_path}/{name}" for name in ("a", "b", "gone", "link/c")]
    where = WorkerFiles(StorageOptions(), (str(tmp_path),))
    batch = pa.RecordBatch.from_pydict({"path": paths})

    first = pa.Table.from_batches(remove_files(where, [batch])).to_pylist()
    second = pa.Table.from_batches(remove_files(where, [batch])).to_pylist()

    left = {row["path"]: row["why"] for row in first if row["path"]}
    assert sum(row["deleted"] for row in first) == 2
    assert left[paths[2]] is None
    assert "symbolic link" in left[paths[3]]
    assert {row["path"] for row in second if row["path"]} == set(paths)
    assert names_in(tmp_path) == ["link", "other"]
    assert (tmp_path / "other" / "c").exists()


def test_sums_are_those_of_places() -> None:
    """Those with most bytes come first; the first failures are named."""
    account = Account()
    account.add(with_outcomes(orphans("/w/a"), None))
    account.add(
        with_outcomes(orphans("/x/a", "/x/b", "/x/c", place="/x"), {"/x/b": None, "/x/c": "stuck"})
    )

    assert account.places == [
        PlaceSum("/x", "t", 3, 6, deleted=1, missing=1, failed=1),
        PlaceSum("/w", "t", 1, 1),
    ]
    assert account.failures == [NotDeleted("/x/c", "stuck")]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_a_report_is_a_table(tmp_path: Path, suffix: str) -> None:
    """In the format of its name, with the same rows, and under its name only once it is whole."""
    file = tmp_path / f"orphans{suffix}"
    with report_file(str(file)) as write:
        write(with_outcomes(orphans("/w/a, b"), None))
        write(with_outcomes(orphans("/w/c"), {"/w/c": "stuck"}))
        assert not file.exists()

    if suffix == ".json":
        rows = json.loads(file.read_bytes())
    else:
        reader = {".parquet": pa.parquet.read_table, ".csv": pa.csv.read_csv}[suffix]
        rows = reader(file).to_pylist()
    assert [(row["path"], row["size"], row["outcome"], row["why"] or "") for row in rows] == [
        ("/w/a, b", 1, "found", ""),
        ("/w/c", 1, "failed", "stuck"),
    ]
    assert str(rows[0]["modified"])[:10] == "2026-01-02"
    assert names_in(tmp_path) == [file.name]


def test_a_report_without_orphans_is_a_table_too(tmp_path: Path) -> None:
    """Scripts read it in any case."""
    for suffix in (".parquet", ".csv", ".json"):
        with report_file(str(tmp_path / f"none{suffix}")):
            pass

    assert json.loads((tmp_path / "none.json").read_bytes()) == []
    assert pa.parquet.read_table(tmp_path / "none.parquet").num_rows == 0
    assert (tmp_path / "none.csv").read_text().startswith('"path"')


def test_a_report_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """An older one is as good as before."""
    file = tmp_path / "orphans.json"
    file.write_text("[]")

    with pytest.raises(ZeroDivisionError), report_file(str(file)):
        raise ZeroDivisionError

    assert names_in(tmp_path) == [file.name]
    assert file.read_text() == "[]"


def rows_in(file: Path) -> list[str]:
    """The paths in a report of any format."""
    if file.suffix == ".json":
        return [row["path"] for row in json.loads(file.read_bytes())]
    reader = {".parquet": pa.parquet.read_table, ".csv": pa.csv.read_csv}[file.suffix]
    return list(reader(file)["path"].to_pylist())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_what_was_written_before_the_disk_was_full_is_kept(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before more is deleted, and says where the rest is; nothing is written over."""
    file = tmp_path / f"orphans{suffix}"
    deleted: list[str] = []

    def delete(*paths: str) -> None:
        with report_file(str(file)) as write, monkeypatch.context() as disk:
            for path in paths:
                write.make_room(orphans(path))
                deleted.append(path)
                write(with_outcomes(orphans(path), {}))
                disk.setattr(Path, "write_bytes", _full)

    for number in (1, 2):
        with pytest.raises(Unavailable, match=rf"until then is in .*orphans\.part-{number}"):
            delete(f"/w/{number}", "/w/other")

    assert deleted == ["/w/1", "/w/2"]
    assert names_in(tmp_path) == [f"orphans.part-1{suffix}", f"orphans.part-2{suffix}"]
    assert [rows_in(tmp_path / name) for name in names_in(tmp_path)] == [["/w/1"], ["/w/2"]]


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_report_for_which_there_was_no_room_at_all_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says no more than that."""
    monkeypatch.setattr(Path, "write_bytes", _full)
    with (
        pytest.raises(Unavailable, match=r"No space left on device\. Make room and run it again$"),
        report_file(str(tmp_path / "orphans.csv")) as write,
    ):
        write.make_room(orphans("/w/a"))

    assert names_in(tmp_path) == []


def test_what_was_written_before_a_run_failed_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever made it fail."""
    file = tmp_path / "orphans.parquet"

    def fail() -> None:
        with report_file(str(file)) as write:
            write(with_outcomes(orphans("/w/a"), {}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert names_in(tmp_path) == ["orphans.part-1.parquet"]
    assert rows_in(tmp_path / "orphans.part-1.parquet") == ["/w/a"]
    assert "what was written until then is in" in caplog.text


@pytest.mark.parametrize("name", ["orphans.txt", "orphans", "no/such/folder/orphans.csv"])
def test_a_report_that_cannot_be_written_is_refused_before_all(name: str) -> None:
    """Nobody waits for hours to hear it."""
    with pytest.raises(BadSetting, match="--report"):
        check_report(name)


def test_a_spool_gives_back_what_was_put_in_some_at_a_time() -> None:
    """Memory holds no more than a part."""
    with spool() as found:
        for number in range(5):
            sink = pa.BufferOutputStream()
            table = orphans(f"/w/{number}", f"/w/{number}b")
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            assert found.add(sink.getvalue().to_pybytes()) == 2
        parts = [part["path"].to_pylist() for part in found.parts(4)]

    assert found.files == 10
    assert [len(part) for part in parts] == [4, 4, 2]
    assert len({path for part in parts for path in part}) == 10


@pytest.mark.parametrize(("text", "hours"), [("24h", 24), ("3d", 72), ("2w", 336), ("90m", 1.5)])
def test_ages_are_written_as_people_do(text: str, hours: float) -> None:
    """A number and a unit."""
    assert age_ms(text) == hours * HOUR_MS


@pytest.mark.parametrize("text", ["", "3", "d", "-3d", "3 d", "1.5d", "3y", "9999999d", "999999w"])
def test_what_is_no_age_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(BadSetting, match="36h"):
        age_ms(text)


def test_files_are_no_orphans_on_their_first_day() -> None:
    """Whoever writes to a table needs them until the commit."""
    check_age(24 * HOUR_MS)

    with pytest.raises(BadSetting, match="24h or more"):
        check_age(24 * HOUR_MS - 1)
