"""Node ids: leased by compare-and-swap, renewed, given back, never shared."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headgate.errors import BackendUnavailable, NoNodeId
from headgate.ids import IdGenerator, lease_row, node, time_ms
from headgate.kernel.cache import Cache
from headgate.kernel.leases import NODE_LEASE_TYPE, NodeLease, NodeLeases
from headgate.kernel.objects import ObjectTypes
from headgate.kernel.store import Store
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import LEASE_CHECK_SECONDS, LEASE_MS, LEASE_RENEW_MS, NODES
from headgate.testing.faults import Fault
from headgate.testing.kernels import Rig, SteppedClock, entropy, turns


async def no_objection() -> None:
    """Let every renewal happen."""


class Process:
    """What a process needs to lease a node id."""

    def __init__(self, rig: Rig, seed: int, clock: SteppedClock, holder: str = "") -> None:
        self.store = Store(rig.backend, ObjectTypes([NODE_LEASE_TYPE]), Cache(0))
        self.clock = clock
        self.ids = IdGenerator(clock)
        self.leases = NodeLeases(
            self.store,
            clock,
            self.ids,
            holder=holder or f"host:{seed}",
            level=1,
            entropy=entropy(seed),
        )

    async def row(self, node_id: int | None = None) -> NodeLease:
        """The stored lease of a node id, of this process's own if none is given."""
        id = lease_row(self.ids.node or 0 if node_id is None else node_id)
        value = (await self.store.read_versioned(SYSTEM_REALM, [id]))[id].value
        assert isinstance(value, NodeLease)
        return value


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is everybody's."""
    async with Rig() as rig:
        yield rig


@pytest.fixture
def process(rig: Rig) -> Process:
    """A process without a lease."""
    return Process(rig, 1, rig.clock)


async def fill(rig: Rig, process: Process, ends_ms: int) -> None:
    """Let all node ids be held by somebody until this time."""
    for node_id in range(NODES):
        held = NodeLease(node_id, "somebody", 0, 0, ends_ms, 1)
        await process.store.insert(SYSTEM_REALM, lease_row(node_id), held, 7)


async def test_without_a_lease_there_are_no_ids(process: Process) -> None:
    """The generator refuses."""
    with pytest.raises(NoNodeId, match="holds no node id"):
        process.ids.next()


async def test_a_lease_allows_ids_of_its_node(rig: Rig, process: Process) -> None:
    """The row says who holds it and for how long."""
    await process.leases.acquire()
    row = await process.row()

    assert node(process.ids.next()) == process.ids.node == row.node
    assert (row.holder, row.level) == ("host:1", 1)
    assert row.ends_ms == rig.clock.wall_ms() + LEASE_MS


async def test_no_id_is_made_outside_of_the_lease(rig: Rig, process: Process) -> None:
    """Up to the last millisecond of the lease, and not one later."""
    await process.leases.acquire()
    ends_ms = (await process.row()).ends_ms
    rig.clock.advance(LEASE_MS - 1)
    last = process.ids.next()
    rig.clock.advance(1)
    with pytest.raises(NoNodeId, match="does not cover the present time"):
        process.ids.next()

    assert time_ms(last) == ends_ms - 1


async def test_renewing_moves_the_end_and_keeps_the_node(rig: Rig, process: Process) -> None:
    """The beginning stays."""
    await process.leases.acquire()
    before = await process.row()
    rig.clock.advance(LEASE_RENEW_MS)
    await process.leases.renew()
    after = await process.row()

    assert after.ends_ms == before.ends_ms + LEASE_RENEW_MS
    assert (after.node, after.leased_ms) == (before.node, before.leased_ms)


async def test_the_background_task_renews(rig: Rig, process: Process) -> None:
    """A process that runs for a day never loses its node id."""
    await process.leases.start(no_objection)
    await turns(1)
    before = process.ids.node
    for _ in range(24 * 60 * 60 * 1000 // LEASE_RENEW_MS):
        rig.clock.advance(LEASE_RENEW_MS)
        await turns(3)
        process.ids.next()

    assert process.ids.node == before
    await process.leases.stop()


async def test_the_background_task_tries_again_after_a_failure(rig: Rig, process: Process) -> None:
    """An outage is bridged: the lease is three renewals long."""
    await process.leases.start(no_objection)
    await turns(1)
    before = process.ids.node
    rig.faults.schedule("update", Fault.UNAVAILABLE)
    rig.clock.advance(LEASE_RENEW_MS)
    await turns(3)
    failed_ends_ms = (await process.row()).ends_ms
    rig.clock.advance(LEASE_CHECK_SECONDS * 1000)
    await turns(3)

    assert (await process.row()).ends_ms == failed_ends_ms + LEASE_RENEW_MS + 5000
    assert process.ids.node == before
    await process.leases.stop()


async def test_releasing_ends_the_lease_behind_the_last_id(rig: Rig, process: Process) -> None:
    """Whoever takes the node id next makes later ids only."""
    await process.leases.acquire()
    last = process.ids.next()
    node_id = process.ids.node
    await process.leases.release()
    row = await process.row(node_id)

    assert time_ms(last) < row.ends_ms == rig.clock.wall_ms() + 1
    with pytest.raises(NoNodeId):
        process.ids.next()


async def test_releasing_counts_the_last_id_not_only_the_clock(rig: Rig, process: Process) -> None:
    """Also where ids ran ahead of the clock that is read at the end."""
    await process.leases.acquire()
    node_id = process.ids.node
    rig.clock.advance(1000)
    last = process.ids.next()
    process.leases._clock = SteppedClock(rig.clock.wall_ms() - 500)
    await process.leases.release()

    assert (await process.row(node_id)).ends_ms == time_ms(last) + 1


async def test_a_released_node_id_can_be_had_again(rig: Rig) -> None:
    """Two milliseconds later, not before: its end must have passed."""
    first = Process(rig, 1, rig.clock, "same")
    await first.leases.acquire()
    node_id, last = first.ids.node, first.ids.next()
    await first.leases.release()
    early = Process(rig, 2, rig.clock, "same")
    await early.leases.acquire()
    rig.clock.advance(2)
    later = Process(rig, 3, rig.clock, "same")
    await later.leases.acquire()

    assert early.ids.node != node_id
    assert later.ids.node == node_id
    assert later.ids.next() > last


async def test_releasing_twice_does_nothing(process: Process, rig: Rig) -> None:
    """Neither does it without a lease."""
    await process.leases.release()
    await process.leases.acquire()
    await process.leases.release()
    rig.backend.reset()
    await process.leases.release()
    await process.leases.stop()

    assert rig.backend.calls == {}


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.LOST_BEFORE, Fault.LOST_AFTER])
async def test_a_release_that_fails_is_tolerated(rig: Rig, process: Process, fault: Fault) -> None:
    """The lease just runs out."""
    await process.leases.start(no_objection)
    rig.faults.schedule("update", fault)
    await process.leases.stop()

    with pytest.raises(NoNodeId):
        process.ids.next()


async def test_a_node_id_is_taken_over_after_its_end_only(rig: Rig) -> None:
    """A crashed process blocks its node id until the lease has run out."""
    crashed = Process(rig, 1, rig.clock, "same")
    await crashed.leases.acquire()
    last = crashed.ids.next()
    rig.clock.advance(LEASE_MS)
    early = Process(rig, 2, rig.clock, "same")
    await early.leases.acquire()
    rig.clock.advance(1)
    later = Process(rig, 3, rig.clock, "same")
    await later.leases.acquire()

    assert early.ids.node != crashed.ids.node
    assert later.ids.node == crashed.ids.node
    assert later.ids.next() > last
    assert (await later.row()).leased_ms == rig.clock.wall_ms()


async def test_a_stalled_process_makes_no_id_and_gets_a_new_node(rig: Rig) -> None:
    """It slept past its end and another took its node id: it finds out at the latest then."""
    stalled = Process(rig, 1, SteppedClock(), "same")
    await stalled.leases.acquire()
    before = stalled.ids.node
    rig.clock.advance(LEASE_MS + 1)
    taker = Process(rig, 2, rig.clock, "same")
    await taker.leases.acquire()
    stalled.clock.advance(LEASE_MS + 1)
    with pytest.raises(NoNodeId):
        stalled.ids.next()
    await stalled.leases.renew()

    assert taker.ids.node == before
    assert stalled.ids.node not in {None, before}
    assert stalled.ids.next() != taker.ids.next()


async def test_a_stalled_process_whose_node_nobody_took_goes_on(rig: Rig, process: Process) -> None:
    """The row is as it left it, so nobody else made ids in between."""
    await process.leases.acquire()
    before = process.ids.node
    rig.clock.advance(3 * LEASE_MS)
    await process.leases.renew()

    assert process.ids.node == before
    process.ids.next()


async def test_a_process_without_a_lease_takes_one_when_it_renews(process: Process) -> None:
    """After a failed try to get a new one, the next renewal tries again."""
    await process.leases.renew()

    assert process.ids.node is not None


async def test_all_node_ids_taken_is_an_error(rig: Rig, process: Process) -> None:
    """1024 processes are enough; the error says how to get one free."""
    await fill(rig, process, rig.clock.wall_ms())
    with pytest.raises(NoNodeId, match="all 1024 are held"):
        await process.leases.acquire()
    rig.clock.advance(1)
    await process.leases.acquire()

    assert process.ids.node is not None


async def test_the_last_free_node_id_is_found(rig: Rig, process: Process) -> None:
    """Wherever the search begins, it sees all."""
    await fill(rig, process, rig.clock.wall_ms() + LEASE_MS)
    await process.store.remove(SYSTEM_REALM, lease_row(333), 7)
    await process.leases.acquire()

    assert process.ids.node == 333


async def test_many_processes_never_share_a_node(rig: Rig) -> None:
    """All at once on slow calls: every loser of a race takes another."""
    processes = [Process(rig, seed, rig.clock, "same") for seed in range(40)]
    for _ in range(200):
        rig.faults.schedule("fetch", Fault.DELAY)
    await asyncio.gather(*(process.leases.acquire() for process in processes))

    assert len({process.ids.node for process in processes}) == 40


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_an_unknown_lease_is_found_out_by_reading(
    rig: Rig, process: Process, fault: Fault
) -> None:
    """It is used if it is there; if not, another is taken."""
    rig.faults.schedule("insert", fault)
    await process.leases.acquire()
    await rig.faults.settle()
    row = await process.row()

    assert (row.node, row.holder) == (process.ids.node, "host:1")


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_an_unknown_renewal_never_shares_a_node(
    rig: Rig, process: Process, fault: Fault
) -> None:
    """Whatever became of it, the row of the node in use is the one this process wrote."""
    await process.leases.acquire()
    rig.clock.advance(LEASE_RENEW_MS)
    rig.faults.schedule("update", fault)
    await process.leases.renew()
    await rig.faults.settle()
    row = await process.row()

    assert (row.node, row.holder) == (process.ids.node, "host:1")
    assert row.ends_ms == rig.clock.wall_ms() + LEASE_MS


async def test_an_outage_during_a_renewal_keeps_the_lease(rig: Rig, process: Process) -> None:
    """Ids are made on until its end."""
    await process.leases.acquire()
    rig.faults.schedule("update", Fault.LOST_AFTER)
    rig.faults.schedule("fetch", Fault.UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        await process.leases.renew()
    process.ids.next()
    await process.leases.renew()

    assert process.ids.node is not None


async def test_live_leases_are_those_that_have_not_ended(rig: Rig) -> None:
    """A released and a crashed one are not among them."""
    released, crashed = Process(rig, 1, rig.clock), Process(rig, 2, rig.clock)
    await released.leases.acquire()
    await crashed.leases.acquire()
    await released.leases.release()
    rig.clock.advance(LEASE_MS)
    alive = Process(rig, 3, rig.clock)
    await alive.leases.acquire()

    assert [lease.holder for lease in await alive.leases.live()] == ["host:3"]


async def test_a_renewal_cut_short_by_the_end_is_released_too(rig: Rig, process: Process) -> None:
    """It had landed, though nobody heard the answer: the lease is still this process's own."""
    await process.leases.start(no_objection)
    await turns(1)
    node_id = process.ids.node
    rig.faults.crash_at("after_update", asyncio.Event().wait)
    rig.clock.advance(LEASE_RENEW_MS)
    await turns(3)
    await process.leases.stop()

    assert (await process.row(node_id)).ends_ms == rig.clock.wall_ms() + 1


async def test_a_lease_lost_to_another_is_not_released(rig: Rig) -> None:
    """Who ends too late must not end the lease of its successor."""
    first = Process(rig, 1, rig.clock, "same")
    await first.leases.acquire()
    rig.clock.advance(LEASE_MS + 1)
    second = Process(rig, 2, rig.clock, "same")
    await second.leases.acquire()
    before = await second.row()
    await first.leases.release()

    assert await second.row() == before
    second.ids.next()


async def test_a_machine_that_slept_renews_when_it_wakes_up(rig: Rig, process: Process) -> None:
    """The wall clock counts: the lease is long over, and back within seconds."""
    await process.leases.start(no_objection)
    await turns(1)
    rig.clock.advance(10 * LEASE_MS)
    await turns(3)

    process.ids.next()
    await process.leases.stop()
