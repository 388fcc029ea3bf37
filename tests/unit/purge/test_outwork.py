"""Jobs that another program does, by reports to the server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count

import pytest

from headgate.catalog.ports import Roots
from headgate.errors import Conflict
from headgate.purge.claims import Claims
from headgate.purge.deleter import Deleting, Progress
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.ledger import Failed
from headgate.purge.orders import LOST, Order, Report
from headgate.purge.outwork import Outwork
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.stages import Children, Stages
from headgate.purge.steering import Steering
from headgate.purge.steps import LEAVES, ROOTS
from headgate.purge.surveyor import Outside, Surveyed
from headgate.testing.kernels import turns
from headgate.workers.frames import Failure
from tests.unit.catalog.lakes import Node, World
from tests.unit.catalog.purges import TERMS
from tests.unit.catalog.walking import Unrelated
from tests.unit.purge.scripted import Purging

LEASE_SECONDS = TERMS.lease_ms / 1_000

Outworks = Callable[[float], Outwork]


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node whose own workers do nothing."""
    return Purging(node, JobTerms(worker_threads=0))


class Counting(Unrelated):
    """Counts the tables that were read."""

    read = 0

    async def survey(
        self, tables: Sequence[Surveyed], _roots: Roots, _seconds: float = 0.0
    ) -> list[Outside]:
        self.read += len(tables)
        return await super().survey(tables, _roots)


@pytest.fixture
def surveyor() -> Counting:
    return Counting()


@pytest.fixture
async def outworks(purging: Purging, surveyor: Counting) -> AsyncIterator[Outworks]:
    """Makes the part of a server that programs speak to, with a lease of so many seconds."""
    node, made = purging.node, list[Outwork]()
    numbers = count()

    def tokens() -> str:
        return f"token {next(numbers)}"

    children = Children(purging.deleter, surveyor)
    stages = Stages(node.kernel, Queue(node.kernel), node.storage, children, TERMS)

    def runner(deleter: Deleting) -> Runner:
        return Runner(stages.with_deleter(deleter), node.events, lambda: 0.5)

    def make(lease_seconds: float) -> Outwork:
        made.append(Outwork(Claims(node.kernel, TERMS, "host:1"), runner, lease_seconds, tokens))
        return made[-1]

    yield make
    for one in made:
        await one.close()


@pytest.fixture
def outwork(outworks: Outworks) -> Outwork:
    """With the usual lease."""
    return outworks(LEASE_SECONDS)


async def test_a_program_does_a_job_stage_by_stage(purging: Purging, outwork: Outwork) -> None:
    """Each answer says what is next, and the job ends like any other."""
    live = await purging.drop()
    claimed = await outwork.claim(live)
    gone = Progress("data", deleted=3, missing=1, bytes=30, expected=4)
    told = await outwork.tell(live.id, Report(claimed.token, 1, gone))
    ended = await outwork.tell(live.id, Report(claimed.token, 2, has_ended=True))
    last = await outwork.tell(live.id, Report(claimed.token, 3, Progress("last"), has_ended=True))

    assert claimed.silence_seconds < LEASE_SECONDS
    assert claimed.order.task is not None
    assert claimed.order.task.stage == LEAVES
    assert told == Order()
    assert ended.task is not None
    assert ended.task.stage == ROOTS
    assert last == Order(state=State.SUCCEEDED)
    assert await purging.live() == []
    assert purging.names() == ["table dropped", "purge started", "purge completed"]


async def test_a_report_that_comes_twice_counts_once(purging: Purging, outwork: Outwork) -> None:
    """Its answer was lost, and is given again; one that leaves others out is refused."""
    live = await purging.drop()
    token = (await outwork.claim(live)).token
    report = Report(token, 1, Progress("data"), has_ended=True)
    answers = [await outwork.tell(live.id, report) for _ in range(2)]

    assert answers[0] == answers[1]
    assert answers[0].task is not None
    with pytest.raises(Conflict, match="Report 3 is not the next one"):
        await outwork.tell(live.id, Report(token, 3))


async def test_a_job_is_claimed_once(purging: Purging, outwork: Outwork) -> None:
    """Nobody else gets it, and no other token is listened to."""
    live = await purging.drop()
    await outwork.claim(live)

    with pytest.raises(Conflict, match="cannot be claimed"):
        await outwork.claim(live)
    with pytest.raises(Conflict, match="not worked on with this token"):
        await outwork.tell(live.id, Report("made up", 1))


async def test_what_is_known_of_other_tables_is_known_for_all_programs(
    purging: Purging, outwork: Outwork, surveyor: Counting
) -> None:
    """They are read for the first one, and stay the same."""
    for name in ("u", "v"):
        await purging.node.table(name)
    jobs = [await purging.drop(name) for name in ("s", "t")]

    claimed = [await outwork.claim(live) for live in jobs]

    assert all(one.order.task is not None for one in claimed)
    assert surveyor.read == 2


async def test_what_a_program_cannot_delete_is_on_the_ledger(
    purging: Purging, outwork: Outwork
) -> None:
    """The job stays open, and is tried again later."""
    live = await purging.drop()
    token = (await outwork.claim(live)).token
    stuck = Progress("data", deleted=1, expected=2, failed=[Failed("/w/stuck", "it is stuck")])
    order = await outwork.tell(live.id, Report(token, 1, stuck, has_ended=True))
    row = await purging.row(live)

    assert order.state == State.PENDING
    assert "/w/stuck" in order.why
    assert row is not None
    assert (row.state, row.deleted, row.failed) == (State.PENDING, 1, 1)
    assert row.ledger == (Failed("/w/stuck", "it is stuck"),)
    with pytest.raises(Conflict):
        await outwork.tell(live.id, Report(token, 2))


async def test_why_a_program_failed_is_on_the_row(purging: Purging, outwork: Outwork) -> None:
    """As if a child of the server had failed."""
    live = await purging.drop()
    token = (await outwork.claim(live)).token
    failure = Failure("StorageUnavailable", "the bucket does not answer", "it is closed")
    order = await outwork.tell(live.id, Report(token, 1, error=failure))
    row = await purging.row(live)

    assert order == Order(state=State.PENDING, why="the bucket does not answer: it is closed")
    assert row is not None
    assert (row.state, row.error, row.attempts) == (State.PENDING, order.why, 1)


async def test_a_program_that_falls_silent_loses_its_job(
    purging: Purging, outworks: Outworks
) -> None:
    """Others may go on with it then."""
    live = await purging.drop()
    outwork = outworks(0.05)
    token = (await outwork.claim(live)).token
    while (row := await purging.row(live)) is None or row.state == State.RUNNING:
        await asyncio.sleep(0.01)

    assert row.state == State.PENDING
    assert "was silent for 0.05 s" in row.error
    with pytest.raises(Conflict):
        await outwork.tell(live.id, Report(token, 1))


async def test_a_job_that_is_cancelled_ends_when_its_program_has_heard_of_it(
    world: World, purging: Purging, outwork: Outwork
) -> None:
    """Its place is not free before the program asks what to do, as it may still delete."""
    live = await purging.drop()
    token = (await outwork.claim(live)).token
    kernel = purging.node.kernel
    await Steering(kernel, Inspector(kernel)).cancel(live.id, "ann")
    world.rig.clock.advance(1_000)
    await turns(100)
    waiting = await purging.live()
    order = await outwork.tell(live.id, Report(token, 1, Progress("data", deleted=1)))

    assert waiting == [live]
    assert order.state in {State.CANCELLED, LOST}
    assert await purging.live() == []


async def test_a_server_that_stops_gives_its_jobs_back(
    purging: Purging, outwork: Outwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt does not count, and its program hears that it is over."""
    monkeypatch.setattr("headgate.purge.outwork.STOP_SECONDS", 0.05)
    live = await purging.drop()
    await outwork.claim(live)
    await outwork.close()
    row = await purging.row(live)

    assert row is not None
    assert (row.state, row.attempts) == (State.PENDING, 0)


async def test_a_claim_is_answered_before_all_is_known(
    purging: Purging, outwork: Outwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then report 0 asks what is to be done first."""
    monkeypatch.setattr("headgate.purge.outwork.FIRST_SECONDS", 0.0)
    live = await purging.drop()
    claimed = await outwork.claim(live)
    order = await outwork.tell(live.id, Report(claimed.token, 0))

    assert claimed.order == Order()
    assert order.task is not None
    assert order.task.stage == LEAVES
