"""Decisions as lines of JSON: which, where, and what happens if they cannot be written."""

import errno
import json
import logging
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.access.auditing import Decision
from headgate.errors import BadSetting
from headgate.http.audit_file import AuditFile
from headgate.http.audit_log import AuditLog

REFUSED = Decision(
    1_700_000_000_123,
    "r-1",
    "eve",
    "loadTable",
    "demo",
    ("main", "a", "t"),
    False,
    "no",
    ("staff",),
)
READ = Decision(0, "r-2", "eve", "loadTable", "demo", ("main", "a", "t"), True)
CHANGE = READ._replace(action="dropTable")


class Broken:
    """A disk that is full until somebody frees some space."""

    def __init__(self) -> None:
        self.is_full = True
        self.lines: list[bytes] = []
        self.tried = threading.Semaphore(0)

    def append(self, lines: bytes) -> None:
        self.tried.release()
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.lines += lines.splitlines()

    def close(self) -> None:
        pass


def written(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def place(file: Path) -> Iterator[AuditFile]:
    """An audit file that is open."""
    place = AuditFile(file)
    place.open()
    yield place
    place.close()


def test_a_decision_is_one_line_of_json(file: Path, place: AuditFile) -> None:
    """Who, what, on what, and why not; all is there when the audit is closed."""
    with AuditLog(place, 0, lambda: 0.5) as audit:
        audit.decided(REFUSED)

    assert written(file) == [
        {
            "time": "2023-11-14T22:13:20.123000Z",
            "request": "r-1",
            "principal": "eve",
            "action": "loadTable",
            "metalake": "demo",
            "object": ["main", "a", "t"],
            "allowed": False,
            "why": "no",
            "groups": ["staff"],
        }
    ]


def test_a_name_cannot_forge_a_line(file: Path, place: AuditFile) -> None:
    """Whatever is in it, it stays a text in one object."""
    name = 'eve"}\n{"principal": "adam\u2028\x00\x1b[31m'
    with AuditLog(place, 0, lambda: 0.5) as audit:
        audit.decided(REFUSED._replace(principal=name))

    [line] = file.read_bytes().split(b"\n")[:-1]
    assert json.loads(line)["principal"] == name
    assert b"\x1b" not in line


def test_refusals_and_changes_are_always_recorded(file: Path, place: AuditFile) -> None:
    """And no read that is allowed, if none is wanted."""
    with AuditLog(place, 0, lambda: 0.0) as audit:
        for decision in (REFUSED, READ, CHANGE):
            audit.decided(decision)

    assert [(line["action"], line["allowed"]) for line in written(file)] == [
        ("loadTable", False),
        ("dropTable", True),
    ]


def test_some_reads_are_recorded(file: Path, place: AuditFile) -> None:
    """Those whose lot is below the share; all if the share is one."""
    lots = iter([0.05, 0.1, 0.5, 0.0])
    with AuditLog(place, 0.1, lambda: next(lots)) as audit:
        for number in range(4):
            audit.decided(READ._replace(request=str(number)))

    assert [line["request"] for line in written(file)] == ["0", "3"]


def test_only_its_owner_reads_the_file(file: Path, place: AuditFile) -> None:
    """Names of people and tables are nobody else's business."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_is_moved_away_is_made_anew(file: Path, place: AuditFile) -> None:
    """Rotation needs no restart, and loses nothing."""
    place.append(b"1\n")
    moved = file.rename(file.with_suffix(".1"))
    place.append(b"2\n")

    assert (moved.read_bytes(), file.read_bytes()) == (b"1\n", b"2\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_there_stays(file: Path) -> None:
    """A restart goes on behind it."""
    for line in (b"1\n", b"2\n"):
        place = AuditFile(file)
        place.open()
        place.append(line)
        place.close()

    assert file.read_bytes() == b"1\n2\n"


def test_a_line_that_was_cut_off_spoils_no_other(
    file: Path, place: AuditFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a disk was full in the middle of a line, the next one begins anew."""
    write = os.write

    def cut_off(descriptor: int, data: memoryview) -> int:
        if len(data) > 3:
            return write(descriptor, data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", cut_off)
        with pytest.raises(OSError, match="No space"):
            place.append(b"12345\n")
    place.append(b"67890\n")

    assert file.read_bytes() == b"123\n67890\n"


def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    """An audit that nobody keeps is noticed before the first request."""
    with pytest.raises(BadSetting, match=r"No such file.*audit\.file"):
        AuditFile(tmp_path / "missing" / "audit.log").open()


def test_what_is_no_file_is_refused_at_the_start(tmp_path: Path) -> None:
    """A link would lead the audit elsewhere, and a pipe would be waited for."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "elsewhere")
    for place in (pipe, link, Path(os.devnull)):
        with pytest.raises(BadSetting, match="the audit cannot be written"):
            AuditFile(place).open()
    assert not (tmp_path / "elsewhere").exists()


def test_lines_go_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """Which is not closed with the audit."""
    place = AuditFile(None)
    place.open()
    with AuditLog(place, 0, lambda: 0.5) as audit:
        audit.decided(REFUSED)
    print("still open", flush=True)

    line, rest = capfd.readouterr().out.splitlines()
    assert json.loads(line)["principal"] == "eve"
    assert rest == "still open"


def test_a_full_disk_is_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Requests go on; so does the audit, when there is space again."""
    disk = Broken()
    with caplog.at_level(logging.ERROR), AuditLog(disk, 0, lambda: 0.5) as audit:
        for _ in range(2):
            audit.decided(CHANGE)
            assert disk.tried.acquire(timeout=10)
        disk.is_full = False
        audit.decided(CHANGE)
        assert disk.tried.acquire(timeout=10)

    assert audit.samples() == {
        "headgate_audit_records_total": 1,
        "headgate_audit_records_lost_total": 2,
    }
    assert len(disk.lines) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "the audit cannot be written: [Errno 28] No space left on device; requests go on without it"
    ]


def test_a_disk_that_hangs_holds_up_nobody(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too much to keep is counted as lost."""
    monkeypatch.setattr("headgate.http.audit_log.AUDIT_WAITING_MAX", 3)
    audit = AuditLog(Broken(), 0, lambda: 0.5)  # nobody writes yet
    for _ in range(5):
        audit.decided(CHANGE)

    assert audit.lost == 2
    assert "written too slowly" in caplog.text


def test_what_is_no_text_is_lost_and_ends_nothing(file: Path, place: AuditFile) -> None:
    """A name that UTF-8 cannot write does not stop the audit of others."""
    with AuditLog(place, 0, lambda: 0.5) as audit:
        audit.decided(CHANGE._replace(principal="\ud800"))
        while not audit.lost:
            threading.Event().wait(0.01)
        audit.decided(CHANGE)

    assert [line["principal"] for line in written(file)] == ["eve"]
