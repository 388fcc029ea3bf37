"""One sweep at a time, and none that blocks others when it is dead."""

import asyncio

import pytest

from headgate.errors import Conflict, LeaseLost
from headgate.kernel.records import Outcome
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import SWEEP_LEASE_SECONDS
from headgate.maintenance.lease import (
    BEAT_SECONDS,
    LEASE_ROW,
    LOOK_SECONDS,
    USABLE_SECONDS,
    HeldLease,
    RunLease,
    lease_of,
    read_lease,
)
from headgate.testing.faults import Fault
from headgate.testing.kernels import turns
from tests.unit.maintenance.stores import Sweeper


def lease(store: Sweeper, run: int = 1) -> HeldLease:
    """A lease that is still to be taken."""
    return HeldLease(store.kernel, RunLease(run, f"host:{run}"), lambda row: row)


async def test_a_lease_is_taken_and_given_back(store: Sweeper) -> None:
    """Meanwhile everybody sees who has it."""
    async with await taken(store) as held:
        held.check()
        row = await read_lease(store.kernel)
        assert row is not None
        assert lease_of(row) == RunLease(1, "host:1")

    assert await read_lease(store.kernel) is None


async def taken(store: Sweeper, run: int = 1) -> HeldLease:
    held = lease(store, run)
    await held.take()
    return held


async def test_a_lease_is_kept_by_heartbeats(store: Sweeper) -> None:
    """Whoever watches it is refused with the first one; it is valid for as long as they come."""
    async with await taken(store) as held:
        waiting = asyncio.create_task(lease(store, 2).take())
        for _ in range(10):
            await store.rig.clock.until_asleep(BEAT_SECONDS)
            if not waiting.done():
                await store.rig.clock.until_asleep(LOOK_SECONDS)
            store.rig.clock.advance(BEAT_SECONDS * 1_000)
            await turns(20)
            held.check()

        with pytest.raises(Conflict, match="host:1 does it"):
            await waiting


async def test_the_lease_of_a_dead_run_is_taken_over(store: Sweeper) -> None:
    """After it was silent for the whole lease, by the stopwatch of whoever waits."""
    await taken(store)
    began = store.rig.clock.seconds()
    store.rig.clock.short_seconds = LOOK_SECONDS + 0.1
    await taken(store, 2)

    row = await read_lease(store.kernel)
    assert row is not None
    assert lease_of(row).run == 2
    assert store.rig.clock.seconds() - began >= SWEEP_LEASE_SECONDS


async def test_a_lease_that_is_given_back_meanwhile_is_taken_at_once(store: Sweeper) -> None:
    """Nobody waits longer than needed."""
    held = await taken(store)
    waiting = asyncio.create_task(lease(store, 2).take())
    await store.rig.clock.until_asleep(LOOK_SECONDS)
    await held.give_back()
    store.rig.clock.advance(LOOK_SECONDS * 1_000)
    await waiting

    row = await read_lease(store.kernel)
    assert row is not None
    assert lease_of(row).run == 2


async def test_who_does_not_hear_of_the_database_stops_in_time(store: Sweeper) -> None:
    """A part of the lease before others may begin."""
    held = await taken(store)
    store.rig.clock.advance(USABLE_SECONDS * 1_000 - 1)
    held.check()
    store.rig.clock.advance(1)

    with pytest.raises(LeaseLost):
        held.check()
    assert USABLE_SECONDS < SWEEP_LEASE_SECONDS


async def test_who_lost_the_lease_stops_and_does_not_take_it_from_others(store: Sweeper) -> None:
    """It learns of it with its next heartbeat."""
    async with await taken(store) as held:
        row = await read_lease(store.kernel)
        assert row is not None
        await store.kernel.store.update(
            SYSTEM_REALM, LEASE_ROW, RunLease(2, "host:2"), expected=row.version, version=77
        )
        await store.rig.clock.until_asleep(BEAT_SECONDS)
        store.rig.clock.advance(BEAT_SECONDS * 1_000)
        await turns(20)
        with pytest.raises(LeaseLost):
            held.check()

    row = await read_lease(store.kernel)
    assert row is not None
    assert lease_of(row).run == 2


@pytest.mark.parametrize(
    ("fault", "is_taken"), [(Fault.LOST_AFTER, True), (Fault.LOST_BEFORE, False)]
)
async def test_an_unknown_outcome_is_looked_up(
    store: Sweeper, fault: Fault, *, is_taken: bool
) -> None:
    """Whether the row is ours says the row."""
    store.rig.faults.schedule("insert", fault)
    if is_taken:
        await taken(store)
    else:
        with pytest.raises(Conflict, match="another process was faster"):
            await taken(store)

    assert (await read_lease(store.kernel) is not None) == is_taken


async def test_a_lease_that_cannot_be_given_back_runs_out(store: Sweeper) -> None:
    """No error: the run itself has ended."""
    async with await taken(store):
        store.rig.faults.schedule("remove", Fault.UNAVAILABLE)

    assert await read_lease(store.kernel) is not None
    outcome = await store.kernel.store.insert(SYSTEM_REALM, LEASE_ROW, RunLease(3, ""), 5)
    assert outcome is Outcome.LOST
