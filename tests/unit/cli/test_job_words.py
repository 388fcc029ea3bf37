"""Purge jobs in words."""

from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.cli.job_words import bar, described, listed, progress
from headgate.model.names import Identifier
from headgate.purge.job_states import State
from headgate.purge.job_views import view
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import Failed, LeftFiles

NOW_MS = 1_767_225_600_000
JOB = PurgeJob(Identifier(("a",), "t\n"), "file:/m.json", created_ms=NOW_MS)
LIVE = LiveJob("1", "lake", 2, "main", 17, JOB, ())


def test_what_could_drive_a_terminal_is_escaped() -> None:
    """Names, errors and paths come from anybody."""
    row = JobRow(State.PENDING, error="\x1b[2J", failed=1, ledger=(Failed("x\r", "y\n"),))
    lines = list(described(view(LIVE, row), NOW_MS))

    assert all(line.isprintable() for line in lines)
    assert "table       lake.main.a.t\\n" in lines
    assert progress(view(LIVE, row), NOW_MS).isprintable()


def test_a_job_says_what_it_waits_for() -> None:
    """The end of its grace period, or its next attempt."""
    graced = LIVE._replace(job=PurgeJob(JOB.table, "", object=1, not_before_ms=NOW_MS + 65_000))
    later = JobRow(State.PENDING, attempts=1, next_attempt_ms=NOW_MS + 30_000, error="away")

    assert progress(view(graced, None), NOW_MS).endswith("its grace period ends in 1:05")
    assert progress(view(LIVE, later), NOW_MS).endswith("tried again in 0:30  away")
    assert progress(view(LIVE, None), NOW_MS) == "PENDING      not counted"


def test_files_that_nobody_counted_are_not_said_to_be_none() -> None:
    """A job that was not begun, and one whose purger counts nothing."""
    for row in (None, JobRow(State.RUNNING), JobRow(State.SUCCEEDED)):
        lines = list(described(view(LIVE, row), NOW_MS))
        assert "files       not counted" in lines
        assert not any(line.startswith("size") for line in lines)
    assert listed(view(LIVE, None))[3:5] == ("not counted", "")
    assert listed(view(LIVE, JobRow(State.RUNNING, deleted=3)))[3] == "3"


def test_an_error_is_that_of_the_attempt_before_while_another_one_runs() -> None:
    """It is not how things stand."""
    running, waiting = (JobRow(state, error="away") for state in (State.RUNNING, State.PENDING))

    assert "away" not in progress(view(LIVE, running), NOW_MS)
    assert "away" in progress(view(LIVE, waiting), NOW_MS)
    assert "last error  away" in described(view(LIVE, running), NOW_MS)
    assert "error       away" in described(view(LIVE, waiting), NOW_MS)


def test_a_job_says_what_it_kept() -> None:
    """Files that other tables refer to; most jobs keep none, and say nothing."""
    rows = [JobRow(State.SUCCEEDED, deleted=9, kept=count) for count in (0, 1, 2_000)]
    told = [
        [line for line in described(view(LIVE, row), NOW_MS) if line.startswith("kept")]
        for row in rows
    ]

    assert told == [
        [],
        ["kept        1 file that other tables refer to"],
        ["kept        2,000 files that other tables refer to"],
    ]


def test_a_job_says_what_it_left() -> None:
    """Outside of the table's locations and in them, each with the first of these files."""
    row = JobRow(
        State.SUCCEEDED,
        left_outside=LeftFiles(2_000, ("/w/x\x1b", *("/w/y" for _ in range(29)))),
        unreferenced=LeftFiles(1, ("/w/t/z",)),
    )
    lines = list(described(view(LIVE, row), NOW_MS))

    words = "2,000 outside of its own locations and 1 in them that nothing refers to"
    assert f"left        {words}" in lines
    assert lines[-22:-19] == ["outside     /w/x\\x1b", "outside     /w/y", "outside     /w/y"]
    assert lines[-2:] == [
        "outside     and 1,980 more; --json shows more of them",
        "unreferenced /w/t/z",
    ]
    alone = JobRow(State.SUCCEEDED, unreferenced=LeftFiles(3, ()))
    words = "left        3 in its own locations that nothing refers to"
    assert words in list(described(view(LIVE, alone), NOW_MS))
    words = "2,000 left outside of its locations  1 unreferenced"
    assert words in progress(view(LIVE, row), NOW_MS)


def test_failures_are_told_on_the_way() -> None:
    """Nobody has to wait for the end to learn of them."""
    row = JobRow(State.RUNNING, failed=3, deleted=1, expected=4)

    assert "3 failed" in progress(view(LIVE, row), NOW_MS)


def test_a_bar_never_leaves_its_frame() -> None:
    """Also if more files are gone than were expected, or nothing is known yet."""
    for row in (JobRow(State.RUNNING), JobRow(State.RUNNING, deleted=9, expected=3)):
        assert bar(view(LIVE, row), NOW_MS, 200).index("]") == 25
    assert bar(view(LIVE, None), NOW_MS, 1) == "["


def test_a_bar_takes_the_room_that_the_words_leave() -> None:
    """In a narrow terminal it is the first to shrink, and only then words are cut."""
    one = view(LIVE, JobRow(State.RUNNING, deleted=1, expected=2))
    words = f" 50%  {progress(one, NOW_MS)}"
    ends = [bar(one, NOW_MS, width).index("]") for width in (200, len(words) + 16, 20)]

    assert ends == [25, 13, 9]
    assert bar(one, NOW_MS, len(words) + 16) == f"[######......] {words}"
    assert len(bar(one, NOW_MS, 20)) == 19


def test_only_so_much_of_a_ledger_is_printed() -> None:
    """The rest is for scripts."""
    ledger = tuple(Failed(f"x{n}", "no") for n in range(30))
    *_, last = described(view(LIVE, JobRow(State.DEAD_LETTER, failed=50, ledger=ledger)), NOW_MS)

    assert last == "failed      and 30 more; --json shows those that are kept"
