"""How far a pipeline is."""

import io
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from headgate.pipelines import reporting
from headgate.pipelines.reporting import Report, Stage, tasks
from headgate.testing.manual_clock import ManualClock


class Summary(msgspec.Struct):
    files: int


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(name="clock")
def _clock() -> ManualClock:
    return ManualClock()


def test_a_stage_tells_how_far_it_is(clock: ManualClock) -> None:
    """Files, bytes, rates and time; with a total also the share."""
    stage = Stage("deleting", 4_000, clock)
    stage.advance(files=600, bytes=1_000_000)
    stage.advance(files=400, bytes=500_000)
    clock.advance(10_000)

    assert stage.line() == ("deleting   25%  1,000 of 4,000 files  1.5 MB  100 files/s  0:10")


def test_a_guess_is_called_one(clock: ManualClock) -> None:
    """It is never all, and becomes a number when all is done."""
    stage = Stage("deleting", None, clock)
    stage.expect(8, is_guess=True)
    stage.advance(files=25)
    clock.advance(1_000)

    assert stage.line() == "deleting   99%  25 of about 8 files  25 files/s  0:01"
    stage.expect(25)
    assert stage.line() == "deleting  100%  25 of 25 files  25 files/s  0:01"


def test_a_stage_without_a_total_tells_what_it_did(clock: ManualClock) -> None:
    """Rows are counted like files."""
    stage = Stage("reading", None, clock)
    stage.advance(rows=50)
    stage.tasks = (3, 8)
    clock.advance(500)

    assert stage.line() == "reading  50 rows  100 rows/s  3 of 8 tasks  0:00"


def test_a_bar_fits_the_terminal(clock: ManualClock) -> None:
    """It is never wrapped, and never more than full."""
    stage = Stage("deleting", 10, clock)
    stage.advance(files=20)

    assert f"[{'#' * 24}] 100%" in stage.line(200).replace("]  ", "] ")
    assert len(stage.line(40)) == 39


def test_each_stage_leaves_one_line(clock: ManualClock) -> None:
    """Also one that fails, which says so."""
    stream = io.StringIO()
    report = Report(stream=stream, clock=clock)

    with report.stage("one") as stage:
        stage.advance(files=2)
        clock.advance(2_000)
    with pytest.raises(ValueError), report.stage("two"):
        raise ValueError

    assert stream.getvalue().splitlines() == [
        "one  2 files  1 files/s  0:02",
        "two  failed after 0:00",
    ]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_news_come_while_it_goes_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line now and then, or a bar that is drawn again and again in its place."""
    for name in ("REPORT_BAR_SECONDS", "REPORT_LINE_SECONDS"):
        monkeypatch.setattr(reporting, name, 0.001)
    with Report(stream=stream).stage("busy", total=2) as stage:
        stage.advance(files=1)
        while stream.getvalue().count("1 of 2 files") < 3:
            pass

    assert ("\x1b[K" in stream.getvalue()) == stream.isatty()


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_what_nobody_expects_is_announced(stream: io.StringIO, clock: ManualClock) -> None:
    """Where a bar would not show it at once."""
    report = Report(stream=stream, clock=clock)
    with report.stage("downloading a.jar", is_announced=True) as stage:
        stage.advance(bytes=48_000_000)

    said = stream.getvalue().replace(reporting.ERASE_LINE, "").splitlines()
    first = [] if stream.isatty() else ["downloading a.jar…"]
    assert said == [*first, "downloading a.jar  48.0 MB  0:00"]


def test_for_scripts_there_is_nothing_but_the_end(clock: ManualClock) -> None:
    """The summary goes to whoever shows it."""
    stream, shown = io.StringIO(), list[msgspec.Struct]()
    report = Report(is_quiet=True, show=shown.append, stream=stream, clock=clock)

    with report.stage("one") as stage:
        stage.advance(files=1)
    report.say("unheard")
    report.end(Summary(1))

    assert stream.getvalue() == ""
    assert shown == [report.summary] == [Summary(1)]


def test_a_reader_that_went_away_stops_nothing(clock: ManualClock) -> None:
    """What was to be done is done."""
    stream = io.StringIO()
    stream.close()
    report = Report(stream=cast("Any", SimpleNamespace(isatty=lambda: False, write=stream.write)))

    with report.stage("one") as stage:
        stage.advance(files=1)

    assert stage.files == 1


def test_tasks_of_spark_are_added_up() -> None:
    """Over all stages of all jobs; what Spark has forgotten counts for nothing."""
    jobs = {1: SimpleNamespace(stageIds=[10, 11]), 2: None}
    stages = {10: SimpleNamespace(numTasks=4, numCompletedTasks=3), 11: None}
    tracker = SimpleNamespace(
        getJobIdsForGroup=lambda _group: [1, 2], getJobInfo=jobs.get, getStageInfo=stages.get
    )
    context = cast("Any", SimpleNamespace(statusTracker=lambda: tracker))

    assert tasks(context, "x") == (3, 4)
    stages.clear()
    assert tasks(context, "x") is None
