"""Sweeps by a machine whose clock is ahead of those of the writers."""

from collections.abc import Awaitable, Callable

import pytest

from headgate.clock import Clock
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.maintenance.sweep import Sweep
from headgate.testing.manual_clock import ManualClock
from tests.unit.maintenance.stores import HOUR_MS, KNOWN, MINUTE_MS, TYPES, Sweeper

GRACE_MS = 3 * HOUR_MS


class Ahead(ManualClock):
    """Shows a later time than the clock beside it."""

    def __init__(self, clock: Clock, ms: int) -> None:
        self._clock = clock
        self._ms = ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms() + self._ms

    def seconds(self) -> float:
        return self._clock.seconds()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


async def swept(
    store: Sweeper, ahead_ms: int, phase: str, meanwhile: Callable[[], Awaitable[object]]
) -> Run:
    """Sweep by a clock that is ahead; what is done meanwhile is done before this phase."""
    kernel = await store.rig.open(types=TYPES, clock=Ahead(store.rig.clock, ahead_ms))
    running = Running(kernel, Order(by="test", holder="test:1", grace_ms=GRACE_MS), KNOWN)
    await running.begin()

    async def work(sweep: Sweep) -> None:
        step = getattr(sweep, phase)

        async def later(*arguments: object) -> object:
            store.rig.clock.advance(10)
            await meanwhile()
            return await step(*arguments)

        setattr(sweep, phase, later)
        await sweep.run()

    return await running.complete(work)


@pytest.mark.parametrize("phase", ["_scan", "_flush"])
async def test_what_was_committed_meanwhile_is_not_deleted_by_a_clock_that_is_ahead(
    store: Sweeper, phase: str
) -> None:
    """Nothing is, and the record says what to do. With the clock set right all goes on."""
    await store.put(b"a")
    await store.remove(b"a")
    waste = await store.waste()
    run = await swept(store, 5 * HOUR_MS, phase, lambda: store.put(b"b"))

    assert run.counts.rows_deleted == 0
    [failure] = run.failures
    assert "s before this sweep began: this machine's clock is ahead" in failure
    assert "Synchronise the clocks (NTP) and sweep again" in failure
    assert waste in await store.ids()
    await store.rig.pass_time(5 * HOUR_MS + MINUTE_MS)  # until then nobody opens the store
    assert await store.things() == {b"b": "b"}
    assert (await store.sweep(GRACE_MS)).failures == ()
    assert waste not in await store.ids()


async def test_clocks_that_differ_by_less_than_a_minute_stop_no_sweep(store: Sweeper) -> None:
    """Commits go on meanwhile."""
    waste = await store.waste()
    await store.rig.pass_time(2 * GRACE_MS)
    run = await swept(store, MINUTE_MS - 1_000, "_scan", lambda: store.put(b"b"))

    assert run.failures == ()
    assert waste not in await store.ids()


async def test_a_store_that_nobody_writes_to_is_swept_whatever_the_clock_says(
    store: Sweeper,
) -> None:
    """A clock that is ahead cannot be told from the future."""

    async def nothing() -> None:
        pass

    waste = await store.waste()
    run = await swept(store, 5 * HOUR_MS, "_scan", nothing)

    assert run.failures == ()
    assert waste not in await store.ids()
