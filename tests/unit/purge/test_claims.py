"""Claims and leases: one worker at a time has a job, whatever databases and clocks do."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from headgate.catalog.purging import LiveJob
from headgate.errors import BackendUnavailable, LeaseLost
from headgate.kernel.store import Versioned
from headgate.purge import claims
from headgate.purge.claims import MARGIN, REST_SECONDS_MAX, Claims, Key
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms, cancelled, postponed, succeeded
from headgate.testing.faults import Fault
from tests.unit.purge.claiming import TERMS, Worker, job, opened_workers

LEASE_MS = TERMS.lease_ms
TEN_YEARS_MS = 10 * 365 * 86_400_000
USABLE_MS = LEASE_MS - LEASE_MS // MARGIN


@pytest.fixture(params=["memory", "sqlite"])
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Worker]]:
    """Two workers on one database, in memory and on disk."""
    async with opened_workers(request.param, tmp_path) as workers:
        yield workers


async def test_the_first_claim_makes_the_row(workers: list[Worker]) -> None:
    """A job without one was never tried."""
    [one, _] = workers
    lease = await one.claimed(job())

    assert await one.row(job()) == lease.row
    assert (lease.row.state, lease.row.attempts, lease.row.owner) == (State.RUNNING, 1, "host:0")
    assert lease.holds()


async def test_two_workers_never_have_a_job_at_the_same_time(workers: list[Worker]) -> None:
    """However they meet: both look before either writes, again and again."""
    for id in range(1, 21):
        leases = await asyncio.gather(*(worker.claims.claim(job(id)) for worker in workers))
        assert [lease is None for lease in leases].count(True) == 1


async def test_a_holder_stops_before_another_worker_can_begin(workers: list[Worker]) -> None:
    """It gets no more heartbeat through; the other one waits for the whole lease."""
    [holder, taker] = workers
    lease = await holder.claimed(job())
    assert await taker.claims.claim(job()) is None
    holder.clock.advance(USABLE_MS - 1)
    taker.clock.advance(USABLE_MS - 1)
    assert lease.holds()
    assert await taker.claims.claim(job()) is None

    holder.clock.advance(1)
    taker.clock.advance(1)
    assert not lease.holds()
    assert await taker.claims.claim(job()) is None
    taker.clock.advance(LEASE_MS - USABLE_MS)
    taken = await taker.claimed(job())
    assert (taken.row.owner, taken.row.attempts) == ("host:1", 1)


async def test_a_job_that_is_worked_on_is_not_taken(workers: list[Worker]) -> None:
    """Each heartbeat changes the row, and whoever waits begins to wait anew."""
    [holder, taker] = workers
    lease = await holder.claimed(job())
    for _ in range(5):
        assert await taker.claims.claim(job()) is None
        for worker in workers:
            worker.clock.advance(LEASE_MS // 3)
        await lease.beat(lease.row)

    assert lease.holds()
    assert await taker.claims.claim(job()) is None


async def test_a_worker_that_lost_its_lease_writes_nothing(workers: list[Worker]) -> None:
    """It wakes up late: the row is another one's, in each way of writing."""
    [holder, taker] = workers
    lease = await holder.claimed(job())
    assert await taker.claims.claim(job()) is None
    taker.clock.advance(LEASE_MS)
    taken = await taker.claimed(job())
    for write in (lease.beat, lease.end):
        with pytest.raises(LeaseLost, match="job 7 is not worked on here any more"):
            await write(succeeded(lease.row, 1))

    assert await taker.row(job()) == taken.row
    await taken.beat(taken.row)


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_an_unknown_outcome_is_looked_up(workers: list[Worker], fault: Fault) -> None:
    """Of a claim, of a heartbeat and of the end; also if the write lands when nobody expects it."""
    [one, other] = workers
    one.faults.schedule("insert", fault)
    lease = await one.claimed(job())
    for _ in range(3):
        one.faults.schedule("update", fault)
        await lease.beat(lease.row)
    one.faults.schedule("update", fault)
    await lease.end(postponed(lease.row, "why", one.clock.wall_ms(), TERMS, 0.5))
    await one.faults.settle()

    row = await other.row(job())
    assert row is not None
    assert (row.state, row.attempts, row.error) == (State.PENDING, 1, "why")


@pytest.mark.parametrize("point", ["before_update", "after_update"])
async def test_a_heartbeat_that_is_cancelled_does_not_cost_the_lease(
    workers: list[Worker], point: str
) -> None:
    """The work is over while it is under way: whether it landed or not, the end is written."""
    [one, other] = workers
    lease = await one.claimed(job())
    under_way = asyncio.Event()

    async def hang() -> None:
        under_way.set()
        await asyncio.Event().wait()

    one.faults.crash_at(point, hang)
    heart = asyncio.create_task(lease.beat(lease.row))
    await under_way.wait()
    heart.cancel()
    [end] = await asyncio.gather(heart, return_exceptions=True)
    await lease.end(postponed(lease.row, "why", one.clock.wall_ms(), TERMS, 0.5))

    row = await other.row(job())
    assert isinstance(end, asyncio.CancelledError)
    assert row is not None
    assert (row.state, row.error) == (State.PENDING, "why")


async def test_a_claim_whose_answer_is_never_heard_is_given_up(workers: list[Worker]) -> None:
    """The row may be there: then it is taken like that of a dead worker."""
    [one, other] = workers
    for _ in range(50):
        one.faults.schedule("insert", Fault.LOST_BEFORE)
    with pytest.raises(BackendUnavailable, match="answers are lost"):
        await one.claims.claim(job())

    assert await other.claims.claim(job()) is not None


async def test_a_database_that_is_away_for_a_moment_ends_nothing(workers: list[Worker]) -> None:
    """The end is written when it is back; a heartbeat is left out, and the lease goes on."""
    [one, other] = workers
    lease = await one.claimed(job())
    one.faults.schedule("update", Fault.UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        await lease.beat(lease.row)
    assert lease.holds()
    for _ in range(3):
        one.faults.schedule("update", Fault.UNAVAILABLE)
    await lease.end(succeeded(lease.row, 5))

    row = await other.row(job())
    assert row is not None
    assert row.state == State.SUCCEEDED


async def test_an_end_that_cannot_be_written_in_time_is_given_up(workers: list[Worker]) -> None:
    """Whoever takes the job over finds out that all is done."""
    [one, _] = workers
    lease = await one.claimed(job())
    one.clock.advance(USABLE_MS)
    one.faults.schedule("update", Fault.UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        await lease.end(succeeded(lease.row, 5))


async def test_a_failed_job_waits_for_its_time(workers: list[Worker]) -> None:
    """For all workers, by the time that its row names."""
    [one, other] = workers
    lease = await one.claimed(job())
    await lease.end(postponed(lease.row, "why", one.clock.wall_ms(), TERMS, 0.5))
    assert await one.claims.due([job()]) == []
    assert await other.claims.claim(job()) is None

    other.clock.advance(2 * TERMS.backoff_base_ms)
    again = await other.claimed(job())
    assert again.row.attempts == 2


async def test_a_clock_that_went_back_does_not_make_a_job_wait_for_ever(
    workers: list[Worker],
) -> None:
    """The row names a time that is years away: by its own stopwatch a worker has waited enough."""
    [one, other] = workers
    lease = await one.claimed(job())
    await lease.end(postponed(lease.row, "why", one.clock.wall_ms() + TEN_YEARS_MS, TERMS, 0.5))
    assert await other.claims.due([job()]) == []
    await other.pass_time(TERMS.backoff_max_ms - 1)
    assert await other.claims.due([job()]) == []

    await other.pass_time(1)
    assert await other.claims.claim(job()) is not None


async def test_a_machine_that_slept_does_not_believe_its_stopwatch(workers: list[Worker]) -> None:
    """It did not count the time, but its wall clock is right again."""
    [one, _] = workers
    lease = await one.claimed(job())
    one.clock.suspend(USABLE_MS)

    assert one.clock.seconds() < lease.deadline.seconds
    assert not lease.holds()


async def test_a_grace_period_is_waited_for(workers: list[Worker]) -> None:
    """Also where the clock is wrong, and not when somebody has begun already."""
    [one, other] = workers
    start_ms = one.clock.wall_ms()
    waiting = job(created_ms=start_ms, not_before_ms=start_ms + 1_000)
    assert await one.claims.due([waiting]) == []
    one.clock.advance(1_000)
    assert await one.claims.due([waiting]) == [waiting]

    later = job(8, created_ms=start_ms + 10**12, not_before_ms=start_ms + 10**12 + 1_000)
    assert await other.claims.due([later]) == []
    other.clock.advance(1_000)
    assert await other.claims.due([later]) == [later]
    begun = job(9, created_ms=start_ms, not_before_ms=start_ms + 10**12, begun=True)
    assert await other.claims.due([begun]) == [begun]


async def test_a_job_that_has_ended_is_only_finished(workers: list[Worker]) -> None:
    """Its row is not written any more."""
    [one, other] = workers
    lease = await one.claimed(job())
    await lease.end(succeeded(lease.row, 5))

    found = await other.claimed(job())
    assert found.row.state == State.SUCCEEDED
    assert await other.row(job()) == found.row


async def test_a_job_that_failed_too_often_is_left_to_operators(workers: list[Worker]) -> None:
    """However long nobody touches it."""
    [one, other] = workers
    lease = await one.claimed(job())
    few = JobTerms(max_attempts=1)
    await lease.end(postponed(lease.row, "why", one.clock.wall_ms(), few, 0.5))
    for _ in range(3):
        assert await other.claims.claim(job()) is None
        other.clock.advance(10 * TERMS.backoff_max_ms)


async def test_a_cancelled_job_is_finished_when_its_worker_has_stopped(
    workers: list[Worker],
) -> None:
    """It may not have noticed yet: others wait as they would for a dead one."""
    [one, other] = workers
    lease = await one.claimed(job())
    await lease.beat(cancelled(lease.row, "ann"))
    assert await other.claims.claim(job()) is None
    other.clock.advance(LEASE_MS)
    assert (await other.claimed(job())).row.state == State.CANCELLED

    waiting = await one.claimed(job(8))
    await waiting.end(postponed(waiting.row, "why", one.clock.wall_ms(), TERMS, 0.5))
    await waiting.beat(cancelled(waiting.row, "ann"))
    assert (await other.claimed(job(8))).row.error == "cancelled by ann"


async def test_what_was_seen_of_jobs_that_are_gone_is_forgotten(workers: list[Worker]) -> None:
    """Else it would be more with each job."""
    [one, _] = workers
    await one.claims.due([job(id) for id in range(1, 201)])
    one.claims.forget_others([job(7)])

    assert list(one.claims._seen) == [("realm", 7)]


async def test_jobs_that_cannot_be_due_are_not_read_again_and_again(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that wait for an operator, or for their time; now and then somebody looks."""
    [one, other] = workers
    dead, waiting = await one.claimed(job()), await one.claimed(job(8))
    few = JobTerms(max_attempts=1)
    await dead.end(postponed(dead.row, "why", one.clock.wall_ms(), few, 0.5))
    await waiting.end(postponed(waiting.row, "why", one.clock.wall_ms(), TERMS, 0.5))
    jobs, read = [job(), job(8)], other.claims.rows
    asked: list[int] = []

    async def noted(wanted: Sequence[LiveJob]) -> dict[Key, Versioned]:
        asked.append(len(wanted))
        return await read(wanted)

    monkeypatch.setattr(claims, "REST_SECONDS_PER_JOB", 1_000)  # as if they were many
    monkeypatch.setattr(other.claims, "rows", noted)
    for _ in range(3):
        assert await other.claims.due(jobs) == []
    other.clock.advance(3 * TERMS.backoff_base_ms // 2)
    assert await other.claims.due(jobs) == [job(8)]
    other.clock.advance(REST_SECONDS_MAX * 1_000)
    await other.claims.due(jobs)

    assert asked == [2, 0, 0, 1, 2]


async def test_tables_that_can_come_back_are_not_asked_for_again_and_again(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grace period of a week, in a busy catalog, is very many jobs."""
    [one, _] = workers
    start_ms = one.clock.wall_ms()
    waiting = job(created_ms=start_ms, not_before_ms=start_ms + 30_000)
    monkeypatch.setattr(claims, "REST_SECONDS_PER_JOB", 1_000)  # as if they were many
    read = one.claims.rows
    asked: list[int] = []

    async def noted(wanted: Sequence[LiveJob]) -> dict[Key, Versioned]:
        asked.append(len(wanted))
        return await read(wanted)

    monkeypatch.setattr(one.claims, "rows", noted)
    for _ in range(3):
        assert await one.claims.due([waiting]) == []
    one.clock.advance(30_000)

    assert await one.claims.due([waiting]) == [waiting]
    assert asked == [1, 0, 0, 1]


async def test_nobody_takes_a_job_before_its_worker_would_stop(workers: list[Worker]) -> None:
    """Servers whose leases are changed one after the other have different ones for a while."""
    [one, other] = workers
    await one.claimed(job())
    hasty = Claims(other.kernel, msgspec.structs.replace(TERMS, lease_ms=1_000), "hasty")
    assert await hasty.due([job()]) == []
    other.clock.advance(TERMS.lease_ms - 1)
    assert await hasty.due([job()]) == []
    other.clock.advance(1)

    assert await hasty.due([job()]) == [job()]
