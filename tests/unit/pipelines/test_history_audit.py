"""Audits are read once, line by line, whatever their files are called by then."""

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from headgate.access.auditing import Decision
from headgate.errors import BadRequest
from headgate.http.audit_log import _line as written
from headgate.pipelines.appends import OnceTable, Reached
from headgate.pipelines.history import OwnNames
from headgate.pipelines.history_audit import (
    COLUMNS,
    AuditHistory,
    FilePosition,
    Positions,
    check_audit,
    next_batch,
)
from headgate.pipelines.history_files import LINE_BYTES_MAX, find_files

NOW_MS = 1_000_000
OWN = OwnNames("main", ("headgate_history",))


class Table:
    """A table as the pipeline sees it."""

    def __init__(self) -> None:
        self.there: list[dict[str, Any]] = []
        self.now = Reached()
        self.commits = 0

    def reached(self) -> Reached:
        return self.now

    def frame(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return rows

    def append(self, rows: Sequence[dict[str, Any]], reached: Reached, position: str) -> bool:
        if reached != self.now:
            return False
        self.there += rows
        self.commits += 1
        self.now = Reached((reached.snapshot or 0) + 1, position)
        return True

    @property
    def requests(self) -> list[str]:
        return [row["request"] for row in self.there if row["request"]]


def line(request: str, *levels: str) -> str:
    told = {"time": "2026-03-01T12:00:00.123Z", "request": request, "principal": "ann"}
    told |= {"action": "dropTable", "metalake": "default"}
    object = list(levels or ("main", "s", "t"))
    return json.dumps({**told, "object": object, "allowed": False, "why": "no"}) + "\n"


def write(path: Path, *requests: str) -> None:
    with path.open("a") as file:
        file.writelines(map(line, requests))


def run(table: Table, *paths: Path, size: int = 2, host: str = "here") -> AuditHistory:
    files = find_files(list(paths), host)
    made = AuditHistory(cast("OnceTable", table), files, OWN.has, NOW_MS)
    made.append(size, lambda _rows: None)
    return made


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def test_lines_come_in_batches_and_once(path: Path) -> None:
    """Two runs append each line once, in order, so many in a commit."""
    table = Table()
    write(path, "a", "b", "c")
    first = run(table, path)
    write(path, "d")
    run(table, path)

    assert table.requests == ["a", "b", "c", "d"]
    assert (first.done.records, first.done.commits) == (3, 2)


def test_what_a_server_writes_is_understood(path: Path) -> None:
    """A line as the server makes it becomes a row with every value."""
    decision = Decision(
        1_772_366_400_123,
        "r1",
        "ann",
        "dropTable",
        "lake",
        ("main", "a.b", "t"),
        False,
        "no",
        ("g",),
    )
    path.write_bytes(written(decision))
    table = Table()
    run(table, path)

    [row] = table.there
    assert row.keys() == {column.name for column in COLUMNS}
    assert (row["time"], row["principal"], row["allowed"]) == (1_772_366_400_123, "ann", False)
    assert (row["levels"], row["object"]) == (["main", "a.b", "t"], "main.a.b.t")
    assert (row["why"], row["groups"], row["text"]) == ("no", ["g"], None)


def test_a_line_in_the_making_is_left_for_the_next_run(path: Path) -> None:
    """What has no end yet is read when it has one."""
    table = Table()
    write(path, "a")
    with path.open("a") as file:
        file.write(line("b")[:20])
    run(table, path)
    with path.open("a") as file:
        file.write(line("b")[20:])
    before = list(table.requests)
    run(table, path)

    assert (before, table.requests) == (["a"], ["a", "b"])


def test_a_broken_line_is_kept_as_text(path: Path) -> None:
    """A line that the disk had no room for is a row with its text, and the next ones are read."""
    table = Table()
    write(path, "a")
    with path.open("ab") as file:
        file.write(b'{"time":"2026\xff\n\n')
    write(path, "b")
    made = run(table, path, size=10)

    assert table.requests == ["a", "b"]
    assert [row["text"] for row in table.there if row["text"]] == ['{"time":"2026�']
    assert (made.done.records, made.done.damaged) == (2, 1)


def test_a_rotated_file_is_read_to_its_end(path: Path) -> None:
    """What came before and after the file was moved away comes once, and no gap is told."""
    table = Table()
    write(path, "a")
    run(table, path)
    write(path, "b")
    path.rename(path.with_name("audit.log.1"))
    write(path, "c")
    run(table, path)
    path.with_name("audit.log.1").rename(path.with_name("audit.log.2"))
    write(path, "d")
    made = run(table, path)

    assert table.requests == ["a", "b", "c", "d"]
    assert made.done.gaps == []


def test_a_compressed_file_is_read_on(path: Path) -> None:
    """A file that was rotated and compressed is known by its first line."""
    table = Table()
    write(path, "a", "b", "c")
    run(table, path, size=1)
    write(path, "d", "e", "f")
    packed = path.with_name("audit.log.1.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    write(path, "g")
    run(table, path)

    assert table.requests == list("abcdefg")


def test_an_archive_in_the_making_is_read_as_far_as_it_goes(path: Path) -> None:
    """Half of a compressed file is no error."""
    table = Table()
    write(path, *(f"r{number}" for number in range(2_000)))
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    packed = path.with_name("audit.log.1.gz")
    packed.write_bytes(whole[: len(whole) // 2])
    run(table, path, size=10_000)
    half = len(table.requests)
    packed.write_bytes(whole)
    run(table, path, size=10_000)

    assert 0 < half < 2_000
    assert table.requests == [f"r{number}" for number in range(2_000)]


def test_a_file_and_its_copy_are_one(path: Path) -> None:
    """Rotation by copy and truncation repeats nothing."""
    table = Table()
    write(path, "a", "b")
    run(table, path)
    write(path, "c")
    shutil.copy(path, path.with_name("audit.log.1"))
    run(table, path)
    path.write_text("")
    write(path, "d")
    run(table, path)

    assert table.requests == ["a", "b", "c", "d"]


def test_a_file_that_went_before_its_end_was_read_is_a_gap(path: Path) -> None:
    """Nobody knows what was in it, so that is said, once."""
    table = Table()
    write(path, "a")
    run(table, path)
    path.unlink()
    write(path, "c")
    made = run(table, path)
    again = run(table, path)

    assert table.requests == ["a", "c"]
    assert len(made.done.gaps) == 1
    assert "was rotated and is gone" in made.done.gaps[0]
    assert [row["why"] for row in table.there if row["action"] == "gap"] == made.done.gaps
    assert again.done.gaps == []


def test_a_file_that_was_read_to_its_end_may_go(path: Path) -> None:
    """A rotated file that is deleted later is no gap."""
    table = Table()
    write(path, "a")
    path.rename(path.with_name("audit.log.1"))
    write(path, "b")
    run(table, path)
    path.with_name("audit.log.1").unlink()
    write(path, "c")

    assert run(table, path).done.gaps == []


def test_a_file_that_has_shrunk_is_a_gap(path: Path) -> None:
    """What is there of it is not repeated, and what comes is read."""
    table = Table()
    write(path, "a", "b", "c")
    run(table, path)
    path.write_text(line("a"))
    made = run(table, path)
    write(path, "d")
    again = run(table, path)

    assert "has shrunk" in made.done.gaps[0]
    assert table.requests == ["a", "b", "c", "d"]
    assert again.done.gaps == []


def test_files_of_other_machines_are_no_gaps(tmp_path: Path) -> None:
    """Each node appends its own files to the same table; none misses those of the others."""
    table = Table()
    for host in ("one", "two", "one"):
        folder = tmp_path / host
        folder.mkdir(exist_ok=True)
        write(folder / "audit.log", f"{host}{table.commits}")
        (tmp_path / "logs").unlink(missing_ok=True)
        (tmp_path / "logs").symlink_to(folder)
        assert run(table, tmp_path / "logs" / "audit.log", host=host).done.gaps == []

    assert table.requests == ["one0", "two1", "one2"]


def test_what_is_written_meanwhile_is_for_the_next_run(path: Path) -> None:
    """A run reads as far as a file went when it began: its own traces do not keep it busy."""
    table = Table()
    write(path, "a", "b", "c")
    files = find_files([path], "here")
    made = AuditHistory(cast("OnceTable", table), files, OWN.has, NOW_MS)
    made.append(1, lambda _rows: write(path, "x"))

    assert table.requests == ["a", "b", "c"]


def test_its_own_traces_wait_for_something_else(path: Path) -> None:
    """Lines about the tables of the history alone are left for the next time, and not lost."""
    table = Table()
    write(path, "a")
    run(table, path)
    own = ("main", "headgate_history", "audit")
    with path.open("a") as file:
        file.write(line("own", *own))
    commits = run(table, path).done.commits
    write(path, "b")
    run(table, path)

    assert commits == 0
    assert table.requests == ["a", "own", "b"]


def test_an_endless_line_is_read_in_pieces(path: Path) -> None:
    """A file without an end of line takes no more memory than a megabyte at a time."""
    write(path, "a")
    with path.open("ab") as file:
        file.write(b"x" * (LINE_BYTES_MAX + 10) + b"\n")
    write(path, "b")
    table = Table()
    made = run(table, path, size=10)

    assert (table.requests, made.done.damaged) == (["a", "b"], 2)


def test_two_files_under_one_name_each_keep_their_place(tmp_path: Path) -> None:
    """Several audits are read in one run."""
    table = Table()
    write(tmp_path / "one.log", "a")
    write(tmp_path / "two.log", "b")
    run(table, tmp_path / "one.log", tmp_path / "two.log")
    write(tmp_path / "one.log", "c")
    run(table, tmp_path / "one.log", tmp_path / "two.log")

    assert table.requests == ["a", "b", "c"]


def test_an_empty_audit_is_no_error(path: Path) -> None:
    """A server that has decided nothing yet has an empty file."""
    path.touch()
    table = Table()

    assert run(table, path).done.records == 0
    assert table.commits == 0


def test_positions_of_very_many_files_are_not_kept_for_ever(tmp_path: Path) -> None:
    """The first of more than a thousand are forgotten."""
    path = tmp_path / "audit.log"
    write(path, "a")
    known: Positions = {f"f{number}": FilePosition(1, "x", done=True) for number in range(1_500)}
    reached = next_batch(find_files([path], "here"), known, 10, NOW_MS).reached

    assert len(reached) == 1_000
    assert "f0" not in reached
    assert msgspec.json.decode(msgspec.json.encode(reached), type=Positions) == reached


def test_a_missing_audit_is_said_before_anything_starts(tmp_path: Path) -> None:
    """A path that nothing is at can be a slip of the pen only."""
    with pytest.raises(BadRequest, match="no file of this name"):
        find_files([tmp_path / "no.log"], "here")


def test_a_file_that_is_no_audit_is_refused(path: Path) -> None:
    """Another log by mistake does not become a table of broken lines."""
    path.write_text("hello\n" * 50)
    [file] = find_files([path], "here")

    with pytest.raises(BadRequest, match="not those of an audit"):
        check_audit(file)


def test_an_audit_is_accepted(path: Path) -> None:
    """A broken first line does not matter."""
    path.write_text("{broken\n" + line("a"))
    [file] = find_files([path], "here")

    check_audit(file)
