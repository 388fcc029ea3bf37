"""A purge job in the hands of a program: what it reports, and what it does then."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from headgate.clock import SystemClock, deadline_from
from headgate.errors import Conflict, HeadgateError, LeaseLost, OutcomeUnknown, StorageUnavailable
from headgate.pipelines import purge_work
from headgate.pipelines.purge_work import ClaimedJob, Work
from headgate.pipelines.server import Server
from headgate.purge.deleter import Progress, Task
from headgate.purge.fence import Fence, new_fence
from headgate.purge.ledger import Failed, LeftFiles
from headgate.purge.orders import Order, Report
from headgate.purge.steps import LEAVES, ROOTS
from headgate.storage.options import StorageOptions

SILENCE_SECONDS = 60.0
FAILED = Progress("data", failed=[Failed("/w/a", "stuck")])
PLAIN = Progress("data", deleted=1)
DONE = Order(state="SUCCEEDED")


def task(stage: str = LEAVES) -> Task:
    return Task("/w/t/metadata/1.json", ("/w",), ("/w/t",), foreign=(b"/x\0",), stage=stage)


class Told:
    """A server that answers with what a test says; what it was told."""

    def __init__(self, *answers: Order | HeadgateError) -> None:
        self.reports: list[Report] = []
        self._answers = list(answers)

    def post(self, path: str, body: object) -> Any:
        assert path == "/management/v1/jobs/7/report"
        self.reports.append(msgspec.json.decode(msgspec.json.encode(body), type=Report))
        answer = self._answers.pop(0)
        if isinstance(answer, HeadgateError):
            raise answer
        return msgspec.json.decode(msgspec.json.encode(answer))


class Deletes:
    """A child that tells what a test says; the tasks it was given."""

    def __init__(self, *steps: Progress | HeadgateError) -> None:
        self.tasks: list[Task] = []
        self._steps = steps

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        assert fence.exists()
        self.tasks.append(task)
        for step in self._steps:
            if isinstance(step, HeadgateError):
                raise step
            yield step


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_work, "RETRY_SECONDS", 0.0)


@contextmanager
def at_work(
    server: Told, silence_seconds: float = SILENCE_SECONDS, first: Order | None = None
) -> Iterator[tuple[Work, Fence]]:
    """A program that has claimed job 7."""
    clock = SystemClock()
    claimed = ClaimedJob("token", silence_seconds, first or Order(task()), storage=StorageOptions())
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(silence_seconds))
        yield Work(cast("Server", server), "7", claimed, fence), fence


async def done(server: Told, deletes: Deletes) -> Order:
    """How the job ends."""
    shown: list[Progress] = []
    with at_work(server) as (work, _):
        return await work.run(deletes, shown.append)


async def test_stages_are_done_as_the_server_says() -> None:
    """Each is reported to its end, with what was told last; bytes of keys cross the wire."""
    server, deletes = Told(Order(), Order(task(ROOTS)), DONE), Deletes(PLAIN, PLAIN)
    order = await done(server, deletes)

    assert order == DONE
    assert [one.stage for one in deletes.tasks] == [LEAVES, ROOTS]
    assert deletes.tasks[0].foreign == (b"/x\0",)
    assert [(one.number, one.has_ended) for one in server.reports] == [
        (1, False),
        (2, True),
        (3, True),
    ]
    assert server.reports[1].progress == PLAIN
    assert {one.token for one in server.reports} == {"token"}


async def test_what_asks_for_something_is_reported_at_once() -> None:
    """All else only now and then."""
    server = Told(Order(), Order(), Order(), DONE)
    await done(server, Deletes(PLAIN, PLAIN, FAILED, PLAIN, FAILED))

    assert [one.progress for one in server.reports] == [PLAIN, FAILED, FAILED, None]


async def test_what_is_left_is_reported_before_the_last_file_goes() -> None:
    """After that nobody can count it again. Of leaves it can wait."""
    left = Progress("data", left_outside=LeftFiles(1, ("/x",)))
    server = Told(Order(), Order(task(ROOTS)), Order(), Order(), DONE)
    await done(server, Deletes(PLAIN, left, left, PLAIN))

    told = [
        (one.has_ended, one.progress and one.progress.left_outside.count) for one in server.reports
    ]
    assert told == [(False, 0), (True, 0), (False, 1), (False, 0), (True, None)]


async def test_a_stage_is_begun_anew_when_the_server_says_so() -> None:
    """Places may belong to others by now."""
    server, deletes = Told(Order(task()), Order(task(ROOTS)), DONE), Deletes(FAILED, FAILED)
    await done(server, deletes)

    assert [one.stage for one in deletes.tasks] == [LEAVES, LEAVES, ROOTS]


async def test_why_a_stage_failed_is_reported() -> None:
    """The server decides what comes then."""
    server = Told(Order(state="PENDING", why="it is closed"))
    order = await done(server, Deletes(StorageUnavailable("no bucket", why="it is closed")))
    [report] = server.reports

    assert order.state == "PENDING"
    assert report.error is not None
    assert (report.error.error, report.error.what) == ("StorageUnavailable", "no bucket")


async def test_a_report_is_sent_until_it_is_answered() -> None:
    """The same one, and each answer moves the end of our time."""
    server = Told(OutcomeUnknown("lost"), StorageUnavailable("busy"), DONE)
    with at_work(server) as (work, fence):
        await work.run(Deletes(FAILED), lambda _: None)
        fence.check()

    assert [one.number for one in server.reports] == [1, 1, 1]


async def test_who_is_not_answered_in_time_stops() -> None:
    """By its own stopwatch, before anybody else begins."""
    server = Told(*[OutcomeUnknown("lost")] * 1_000_000)
    with at_work(server, silence_seconds=0.05) as (work, _), pytest.raises(LeaseLost):
        await work.run(Deletes(FAILED), lambda _: None)


async def test_who_lost_its_job_stops() -> None:
    """The server does not know its token any more."""
    with at_work(Told(Conflict("not yours"))) as (work, _), pytest.raises(LeaseLost):
        await work.run(Deletes(FAILED), lambda _: None)


async def test_who_is_not_told_what_to_do_first_asks_again() -> None:
    """The server may have to look at many tables before it knows what may be deleted."""
    server, deletes = Told(Order(), Order(task(ROOTS)), DONE), Deletes()
    with at_work(server, first=Order()) as (work, _):
        order = await work.run(deletes, lambda _: None)

    assert order == DONE
    assert [one.number for one in server.reports] == [0, 0, 1]
    assert [one.stage for one in deletes.tasks] == [ROOTS]
