"""Sweeps of a server: when it is time, at once if somebody asks, and remembered."""

import asyncio
from collections.abc import Callable

import pytest

from headgate.limits import (
    SWEEP_FAILURE_CHARS_MAX,
    SWEEP_FAILURES_KEPT,
    SWEEP_LOOK_SECONDS,
    SWEEP_RUNS_KEPT,
)
from headgate.maintenance.extent import EVERYTHING, Wanted
from headgate.maintenance.lease import BEAT_SECONDS, LOOK_SECONDS, HeldLease, RunLease
from headgate.maintenance.runs import Run, begin_run, end_run, list_runs
from headgate.maintenance.service import Maintenance, Terms, Totals
from headgate.maintenance.views import State, all_runs, status
from headgate.testing.faults import Fault
from headgate.testing.kernels import turns
from tests.unit.maintenance.stores import HOUR_MS, KNOWN, Sweeper

DAY_MS = 24 * HOUR_MS


@pytest.fixture
def server(store: Sweeper) -> Maintenance:
    """That of a server with usual terms."""
    return Maintenance(store.kernel, Terms(), "host:1", KNOWN)


async def test_a_server_sweeps_when_it_is_time(store: Sweeper, server: Maintenance) -> None:
    """Once a day, whichever server did it the day before, and not what was just lost."""
    other = Maintenance(store.kernel, Terms(), "host:2", KNOWN)
    waste = await store.waste()
    await store.rig.pass_time(4 * HOUR_MS)
    young = await store.waste()
    first = await server.sweep_if_due()

    assert first is not None
    assert await store.ids() == {young}
    assert waste not in await store.ids()
    assert await other.sweep_if_due() is None
    await store.rig.pass_time(DAY_MS)
    assert await other.sweep_if_due() is not None
    assert [run.by for _, run in await list_runs(store.kernel)] == ["host:2", "host:1"]
    assert server.totals == Totals(1, 0, first.counts.scanned, 1)


@pytest.mark.parametrize("kind", ["dry", "partial", "abandoned"])
async def test_a_run_that_was_not_whole_does_not_count(
    store: Sweeper, server: Maintenance, kind: str
) -> None:
    """The next look begins another one."""
    if kind == "abandoned":
        await begin_run(store.kernel, store.kernel.ids.next(), Run("x", "process", 0, 0))
    else:
        named = Wanted(sweep=frozenset({"acme"})) if kind == "partial" else EVERYTHING
        await server.start(named, "ann", is_dry=kind == "dry")
        await until(lambda: server.totals.runs == 1)

    assert await server.sweep_if_due() is not None


async def test_a_run_of_the_future_does_not_put_the_next_one_off(
    store: Sweeper, server: Maintenance
) -> None:
    """A clock that was a year ahead made it; a sweep is due all the same."""
    started_ms = store.rig.clock.wall_ms() + 365 * DAY_MS
    run = Run("x", "process", started_ms, 0, ended_ms=started_ms + 1)
    await begin_run(store.kernel, store.kernel.ids.next(), run)

    assert await server.sweep_if_due() is not None


async def until(is_so: Callable[[], bool]) -> None:
    """Let others run until this is so."""
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0)


async def test_a_server_looks_now_and_then(
    store: Sweeper, server: Maintenance, caplog: pytest.LogCaptureFixture
) -> None:
    """Not at its start, when all others look too; what fails is tried again."""
    server.sweep_by_itself(lambda: 500)
    await store.rig.clock.until_asleep(1_800.0)
    assert server.totals.runs == 0
    store.rig.faults.schedule("fetch", Fault.UNAVAILABLE)
    store.kernel.cache._entries.clear()
    store.rig.clock.advance(1_800_000)
    await store.rig.clock.until_asleep(3_600.0)
    assert server.totals.runs == 0
    assert "the store is not swept" in caplog.text
    store.rig.clock.advance(3_600_000)
    await until(lambda: server.totals.runs == 1)
    await server.close()
    assert await list_runs(store.kernel)


async def test_a_run_that_is_asked_for_goes_on_by_itself(
    store: Sweeper, server: Maintenance
) -> None:
    """Meanwhile everybody sees how far it is, and nobody begins another one."""
    await store.waste()
    id, _ = await server.start(EVERYTHING, "ann")
    now = await status(store.kernel)
    assert now.running is not None
    assert (now.running.id, now.running.state, now.running.by) == (str(id), State.RUNNING, "ann")
    assert now.holder == "host:1"
    await until(lambda: server.totals.runs == 1)

    then = await status(store.kernel)
    assert (then.running, then.holder) == (None, "")
    assert then.last is not None
    assert (then.last.id, then.last.state) == (str(id), State.DONE)


async def test_a_server_that_stops_ends_its_run(store: Sweeper, server: Maintenance) -> None:
    """Others can begin at once; the record says that it was abandoned."""
    await server.start(EVERYTHING, "ann")
    await server.close()

    [run] = await all_runs(store.kernel)
    assert run.state is State.ABANDONED
    other = Maintenance(store.kernel, Terms(), "host:2", KNOWN)
    assert await other.sweep_if_due() is not None


async def test_another_server_that_sweeps_is_no_failure(
    store: Sweeper, server: Maintenance, caplog: pytest.LogCaptureFixture
) -> None:
    """It is looked at again after an hour."""
    held = HeldLease(store.kernel, RunLease(1, "host:2"), lambda row: row)
    await held.take()
    server.sweep_by_itself(lambda: 0)
    await store.rig.clock.until_asleep(LOOK_SECONDS)
    async with held:
        await store.rig.clock.until_asleep(BEAT_SECONDS)
        store.rig.clock.advance(BEAT_SECONDS * 1_000)
        await turns(20)
        store.rig.clock.advance(LOOK_SECONDS * 1_000)
        await store.rig.clock.until_asleep(SWEEP_LOOK_SECONDS)

    assert not caplog.records
    assert await list_runs(store.kernel) == []
    await server.close()


async def test_failures_are_told_and_counted(
    store: Sweeper, server: Maintenance, caplog: pytest.LogCaptureFixture
) -> None:
    """In the record, in the log, in the numbers."""
    await store.realm.create_pointers(["cat/17/news"])
    await server.sweep_if_due()

    assert server.totals.failed == 1
    assert "cat/17/news" in caplog.text
    [run] = await all_runs(store.kernel)
    assert run.state is State.FAILED


async def test_a_record_takes_so_much_and_no_more(store: Sweeper) -> None:
    """Of very many failures the first are told, and how many more there are."""
    id, run = store.kernel.ids.next(), Run("x", "process", 0, 0)
    await begin_run(store.kernel, id, run)
    many = tuple("é" * 1_000 for _ in range(50))
    await end_run(store.kernel, id, Run("x", "process", 0, 0, failures=many))

    [(_, kept)] = await list_runs(store.kernel)
    assert len(kept.failures) == SWEEP_FAILURES_KEPT + 1
    assert kept.failures[-1] == "and 40 more"
    assert len(kept.failures[0]) == SWEEP_FAILURE_CHARS_MAX


async def test_old_runs_are_forgotten(store: Sweeper) -> None:
    """The newest are kept."""
    ids = [store.kernel.ids.next() for _ in range(SWEEP_RUNS_KEPT + 3)]
    for id in ids:
        await begin_run(store.kernel, id, Run("x", "process", 0, 0))

    assert [id for id, _ in await list_runs(store.kernel)] == ids[:2:-1]


async def test_a_store_that_was_never_swept_says_so(store: Sweeper) -> None:
    """Nothing is under way, and nothing was."""
    assert await all_runs(store.kernel) == []
    now = await status(store.kernel)
    assert (now.running, now.last) == (None, None)
