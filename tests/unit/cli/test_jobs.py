"""`headgate jobs`: what it shows, what it does, and how it says no."""

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.cli import jobs as command
from headgate.cli.jobs import ERASE_LINE
from headgate.cli.main import run
from headgate.errors import HeadgateError
from headgate.model.names import Identifier
from headgate.purge.inspecting import Found, no_job
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import Failed
from tests.unit.catalog.dropping import HOUR_MS, drop, loaded
from tests.unit.cli.stores import opened_store
from tests.unit.purge.rows import write_row

Output = pytest.CaptureFixture[str]
Follow = list[Found | HeadgateError]
LEDGER = (Failed("file:/x", "it is stuck"),)


class Shop:
    """A store, and commands on it."""

    def __init__(self, folder: Path, capsys: Output) -> None:
        self.folder = folder
        self._capsys = capsys

    def dropped(self, name: str = "t", grace_ms: int = 0, row: JobRow | None = None) -> str:
        """The id of the job of a table that was dropped."""

        async def make() -> int:
            async with opened_store(self.folder) as node:
                await node.table(name)
                job = await drop(node, name, grace_ms)
                if row is not None:
                    await write_row(node, job, row)
                return job

        return str(asyncio.run(make()))

    def loaded(self, name: str) -> tuple[bytes, str]:
        """A table as clients load it."""

        async def load() -> tuple[bytes, str]:
            async with opened_store(self.folder) as node:
                return await loaded(node, name)

        return asyncio.run(load())

    def run(self, *arguments: str, code: int = 0) -> str:
        """All that a command says; it must end with this code."""
        ended = run(["jobs", *arguments, "--data", str(self.folder)])
        said = self._capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def shop(tmp_path: Path, capsys: Output) -> Shop:
    return Shop(tmp_path / "data", capsys)


def test_jobs_are_listed_for_people(shop: Shop) -> None:
    """The newest first, and how to learn more."""
    first = shop.dropped("t1")
    row = JobRow(State.RUNNING, deleted=1_500, missing=2, expected=3_000, bytes=2_500_000)
    second = shop.dropped("t2", row=row)
    heading, newest, oldest, _, hint = shop.run("list").splitlines()

    assert heading.split() == ["ID", "STATE", "TABLE", "FILES", "SIZE", "DROPPED"]
    assert newest.split()[:3] == [second, "RUNNING", "default.main.a.t2"]
    assert "1,502 of 3,000" in newest
    assert "2.5 MB" in newest
    assert oldest.split()[:3] == [first, "PENDING", "default.main.a.t1"]
    assert hint == f"`headgate jobs show ID --data {shop.folder}` tells all of one."


def test_jobs_are_listed_for_scripts_and_chosen(shop: Shop) -> None:
    """An array of objects, as over HTTP."""
    first, second = shop.dropped("t1"), shop.dropped("t2", row=JobRow(State.DEAD_LETTER))

    assert [one["id"] for one in shop.json("list")] == [second, first]
    assert [one["id"] for one in shop.json("list", "--state", "dead-letter")] == [second]
    assert [one["id"] for one in shop.json("list", "--limit", "1")] == [second]
    assert "There are more; --limit shows them." in shop.run("list", "--limit", "1")
    assert shop.json("list", "--catalog", "other") == []
    assert [one["id"] for one in shop.json("list", "--metalake", "default")] == [second, first]


def test_a_long_list_is_read_in_pages(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are wanted, however few come at once."""
    jobs = [shop.dropped(f"t{n}") for n in range(5)]
    monkeypatch.setattr("headgate.cli.jobs.JOBS_MAX", 2)

    assert [one["id"] for one in shop.json("list", "--limit", "4")] == jobs[:0:-1]
    assert [one["id"] for one in shop.json("list")] == jobs[::-1]


def test_nothing_to_list_is_told(shop: Shop) -> None:
    """Not an empty table; and that there may be others."""
    shop.dropped()

    said = shop.run("list", "--state", "RUNNING")
    assert said.startswith("There is no job that is RUNNING; `headgate jobs list --data ")
    here = shop.run("list", "--catalog", "other", "--metalake", "default")
    assert here.startswith("There is no job of catalog 'other' in metalake 'default'; ")


def test_a_job_is_shown_with_its_ledger(shop: Shop) -> None:
    """All that is known of it, and no more."""
    row = JobRow(
        State.DEAD_LETTER, attempts=5, error="denied", failed=3, ledger=LEDGER, owner="host:7"
    )
    job = shop.dropped(row=row)
    said = shop.run("show", job)

    assert f"job         {job}\ntable       default.main.a.t\nstate       DEAD_LETTER\n" in said
    assert "attempts    5\n" in said
    assert "error       denied\nworker      host:7\n" in said
    assert "failed      file:/x: it is stuck\nfailed      and 2 more" in said
    assert "next try" not in said
    assert shop.json("show", job)["ledger"] == [{"path": "file:/x", "why": "it is stuck"}]


def test_a_job_is_tried_again(shop: Shop) -> None:
    """And then it is due."""
    job = shop.dropped(row=JobRow(State.DEAD_LETTER, attempts=5))

    assert shop.run("retry", job) == f"Job {job} is due: default.main.a.t will be purged.\n"
    assert shop.json("retry", job)["attempts"] == 0


def test_a_grace_period_is_ended_early_by_who_says_so(shop: Shop) -> None:
    """A word of its own: after that the table cannot come back."""
    job = shop.dropped(grace_ms=HOUR_MS)
    assert f"`headgate jobs retry {job} --end-grace --data " in shop.run("retry", job, code=1)

    assert shop.run("retry", job, "--end-grace") == (
        f"Job {job} is due: default.main.a.t will be purged, and cannot come back.\n"
    )
    assert "are being deleted" in shop.run("undrop", job, code=1)
    assert "grace ends" not in shop.run("show", job)


def test_a_job_is_cancelled_once(shop: Shop) -> None:
    """Its files stay; after that it has ended."""
    job = shop.dropped()

    assert shop.run("cancel", job, "--yes") == (
        f"Job {job} is cancelled; what is left of default.main.a.t stays.\n"
    )
    assert shop.json("show", job)["error"] == "cancelled by operator"
    assert "it has ended and is CANCELLED" in shop.run("cancel", job, "--yes", code=1)
    refused = shop.run("retry", job, code=1)
    assert "it has ended and is CANCELLED. What is left of its files is in " in refused
    assert f"{shop.folder}/warehouse/" in refused
    assert "Register it again" in shop.run("undrop", job, code=1)


def test_who_runs_it_is_told_when_a_job_is_cancelled(shop: Shop) -> None:
    """It stops by itself, in a moment."""
    job = shop.dropped(row=JobRow(State.RUNNING, owner="host:7"))

    assert "The worker host:7 stops in a moment.\n" in shop.run("cancel", job, "--yes")
    assert shop.json("cancel", shop.dropped("u"), "--yes")["state"] == "CANCELLED"


@pytest.mark.parametrize(
    ("options", "answer", "code", "state"),
    [([], "n", 1, "PENDING"), ([], "y", 0, "CANCELLED"), (["--yes"], "", 0, "CANCELLED")],
)
def test_a_person_is_asked_before_files_are_left_for_good(
    options: list[str],
    answer: str,
    code: int,
    state: str,
    shop: Shop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the person said so before."""
    job = shop.dropped()
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    shop.run("cancel", job, *options, code=code)

    assert shop.json("show", job)["state"] == state


def test_a_table_is_undropped(shop: Shop) -> None:
    """As it was; and under another name if its own is taken."""
    first = shop.dropped("t", HOUR_MS)
    hint = f"undrop      `headgate jobs undrop {first} --data {shop.folder}`"
    assert hint in shop.run("show", first)
    assert shop.run("undrop", first) == "Table 'default.main.a.t' is back.\n"
    before = shop.loaded("t")
    second = shop.dropped("u", HOUR_MS)
    third = shop.dropped("u", HOUR_MS)
    shop.run("undrop", second)
    said = shop.run("undrop", third, code=1)
    assert f"`headgate jobs undrop {third} --as NAMESPACE.NAME --data " in said
    answer = shop.json("undrop", third, "--as", "a.w")

    assert answer == {"metalake": "default", "catalog": "main", "name": ["a", "w"]}
    assert shop.loaded("t") == before
    assert shop.loaded("w") != shop.loaded("u")


def test_the_change_log_names_the_operator(shop: Shop, tmp_path: Path, capsys: Output) -> None:
    """For what was undone and for what was given up."""
    shop.run("undrop", shop.dropped("t", HOUR_MS))
    shop.run("cancel", shop.dropped("u"), "--yes")
    data = str(tmp_path / "data")
    assert run(["log", "--changes", "--kind", "table", "--json", "--data", data]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(["log", "--changes", "--kind", "table", "--data", data]) == 0
    said = capsys.readouterr().out

    assert [(one["do"], one["name"]) for one in told] == [
        ("create", ["a", "t"]),
        ("drop", ["a", "t"]),
        ("undrop", ["a", "t"]),
        ("create", ["a", "u"]),
        ("drop", ["a", "u"]),
        ("cancel-purge", ["a", "u"]),
    ]
    assert [told[at]["by"] for at in (2, 5)] == ["operator", "operator"]
    assert "table a.t was undropped by operator" in said
    assert "table a.u was left with its files by operator" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "abc"], 2, "Invalid job id: 'abc'"),
        (["show", "17", "--follow"], 1, "Job does not exist: 17"),
        (["retry", "17"], 1, "`headgate jobs list --data"),
        (["cancel", "0"], 2, "it is no whole number of 64 bits"),
        (["cancel", "17"], 2, "there is no terminal. Confirm it: `headgate jobs cancel 17 --yes"),
        (["undrop", "17", "--as", "t"], 2, "it has no namespace"),
        (["undrop", "17", "--as", "a..t"], 2, "or an empty part"),
        (["list", "--state", "runing"], 2, "the nearest known one is RUNNING"),
        (["list", "--metalake", "nowhere"], 1, "Metalake does not exist: nowhere"),
        (["list", "--limit", "0"], 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_done_is_told(
    arguments: list[str], code: int, said: str, shop: Shop
) -> None:
    """With what is wrong and what to do."""
    shop.dropped()

    assert said in shop.run(*arguments, code=code)


def test_who_looks_makes_no_store(tmp_path: Path, capsys: Output) -> None:
    """It was most likely looked for in a wrong place."""
    assert run(["jobs", "list", "--data", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()
    assert run(["jobs"]) == 0
    assert "undrop" in capsys.readouterr().out


class Scripted:
    """An inspector that sees a job change."""

    def __init__(self, seen: Follow) -> None:
        self._seen = iter(seen)

    async def find(self, _id: int) -> Found:
        one = next(self._seen)
        if isinstance(one, HeadgateError):
            raise one
        return one


JOB = PurgeJob(Identifier(("a",), "t"), "file:/m.json", created_ms=1)
LIVE = LiveJob("1", "default", 2, "main", 17, JOB, ())
RUNNING = JobRow(
    State.RUNNING,
    claimed_ms=1_000,
    updated_ms=2_000,
    deleted=50,
    expected=100,
    bytes=5_000,
)
DONE = msgspec.structs.replace(RUNNING, state=State.SUCCEEDED, deleted=100, bytes=10_000)


@pytest.fixture
def follow(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """What an inspector sees; looks follow each other at once."""
    shop.dropped("x")
    seen: Follow = []
    monkeypatch.setattr(command, "Inspector", lambda _kernel: Scripted(seen))
    monkeypatch.setattr(command, "FOLLOW_SECONDS", 0.0)
    return seen


def test_a_job_is_followed_line_by_line(shop: Shop, follow: Follow) -> None:
    """One for each change, until all files are gone: then the exit code is 0."""
    follow += [Found(LIVE, None), Found(LIVE, RUNNING), Found(LIVE, RUNNING), Found(LIVE, DONE)]
    first, second, third = shop.run("show", "17", "--follow").splitlines()

    assert first.startswith("PENDING      not counted")
    assert second.startswith("RUNNING      50 of 100  5.0 kB  50 files/s  ends in 0:0")
    assert third.startswith("SUCCEEDED    100 of 100  10.0 kB")


def test_a_job_is_followed_by_scripts(shop: Shop, follow: Follow) -> None:
    """One object for each change."""
    follow += [Found(LIVE, RUNNING), Found(LIVE, RUNNING), Found(LIVE, DONE)]
    lines = shop.run("show", "17", "--follow", "--json").splitlines()

    assert [json.loads(line)["files-deleted"] for line in lines] == [50, 100]


def test_a_bar_is_drawn_on_a_terminal(
    shop: Shop, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, as long as there is room, and with a line end at its end."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    follow += [Found(LIVE, RUNNING), Found(LIVE, RUNNING), Found(LIVE, DONE)]
    begin, *drawn = shop.run("show", "17", "--follow").split(ERASE_LINE)

    assert begin == ""
    assert [line[:17] for line in drawn] == [
        "[####....]  50%  ",
        "[####....]  50%  ",
        "[################",
    ]
    assert all(len(line.rstrip("\n")) <= 59 for line in drawn)
    assert drawn[-1].endswith("\n")


@pytest.mark.parametrize("state", [State.DEAD_LETTER, State.CANCELLED])
def test_a_job_that_ends_otherwise_is_a_failure(state: State, shop: Shop, follow: Follow) -> None:
    """For scripts that wait for it; they see why."""
    follow += [Found(LIVE, RUNNING), Found(LIVE, JobRow(state, error="denied"))]

    assert "denied" in shop.run("show", "17", "--follow", code=1)


def test_a_job_that_vanishes_is_a_failure(shop: Shop, follow: Follow) -> None:
    """Its table was undropped meanwhile."""
    follow += [Found(LIVE, None), no_job("17")]

    assert "its table was undropped" in shop.run("show", "17", "--follow", code=1)


def test_sigterm_ends_it_as_an_interruption(
    shop: Shop, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited for the job must not take that for success."""

    async def told(_seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr("headgate.cli.jobs.asyncio.sleep", told)
    follow += [Found(LIVE, RUNNING)]

    assert "headgate: interrupted" in shop.run("show", "17", "--follow", code=1)
