"""Clocks that differ, callers that wait too long, ends that fail: what was promised still holds."""

import asyncio
import random
from collections.abc import Callable

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import CommitTimedOut
from headgate.ids import IdGenerator
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.leases import NodeLeases
from headgate.kernel.realms import RealmState
from headgate.kernel.records import Outcome, Row
from headgate.limits import (
    BATCH_BYTES_MAX,
    CLOCK_BEHIND_MS_MAX,
    COMMIT_TIMEOUT_SECONDS,
    LEASE_CHECK_SECONDS,
    LEASE_RENEW_MS,
)
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    SHORT_SECONDS,
    Held,
    Rig,
    SteppedClock,
    Thing,
    entries,
    entropy,
    history,
    open_kernel_on,
    putting,
    snapshot,
    turns,
)


class GatedClock(SteppedClock):
    """Short waits last until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds < SHORT_SECONDS:
            await self.gate.wait()
        await super().sleep(seconds)


class BrokenBackend(ForwardingBackend):
    """Fails in a way that nobody foresaw when a lease is given back."""

    def __init__(self) -> None:
        super().__init__(MemoryBackend())
        self.closed = False

    async def update(self, row: Row, expected_version: int) -> Outcome:
        message = "nobody foresaw this"
        raise ValueError(message)

    async def close(self) -> None:
        self.closed = True


def counting(draft: Draft) -> bytes:
    """An attempt that adds one to a counter, and its new value."""
    value = b"%d" % (int(draft.index(INDEX).get(b"counter") or 0) + 1)
    draft.index(INDEX).put(b"counter", value)
    return value


@pytest.mark.parametrize("first_is_slow", [False, True])
async def test_an_operation_is_found_by_a_clock_a_minute_behind(
    rig: Rig, realm: RealmHandle, first_is_slow: bool
) -> None:
    """And by one that is as far ahead: records have the time of the head they are in."""
    slow = (await rig.open(clock=SteppedClock())).realm(realm.id)
    await rig.pass_time(CLOCK_BEHIND_MS_MAX)
    await realm.commit(POINTER, putting(b"the head is of the fast clock"))
    first, second = (slow, realm) if first_is_slow else (realm, slow)
    answer = await first.commit(POINTER, counting, operation=b"once")

    assert await second.commit(POINTER, counting, operation=b"once") == answer == b"1"


async def test_a_lost_answer_is_looked_up_once_after_the_deadline(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """However late it is, the truth is asked for before anybody is told `OutcomeUnknown`."""
    late_ms = (COMMIT_TIMEOUT_SECONDS + 1) * 1000
    rig.faults.crash_at("before_commit", lambda: rig.clock.advance(late_ms))
    rig.faults.schedule("commit", Fault.LOST_AFTER)
    await realm.commit(POINTER, putting(b"a"))

    assert len(await history(kernel, realm)) == 1


@pytest.mark.parametrize(
    ("attempt", "replaced"),
    [
        (lambda draft: draft.stage(Thing(), draft.new_id()), []),
        (lambda draft: draft.discard(7), [7]),
    ],
)
async def test_objects_alone_make_a_commit(
    kernel: Kernel, realm: RealmHandle, attempt: Callable[[Draft], object], replaced: list[int]
) -> None:
    """What is stored or given up is in the log, though no entry changed."""
    await realm.commit(POINTER, attempt)
    [commit] = await history(kernel, realm)

    assert commit.replaced == replaced
    assert [group.entries for group in commit.groups] == [[]]


async def test_who_is_put_back_keeps_its_deadline(rig: Rig, realm: RealmHandle) -> None:
    """A large batch is over and its winner pauses: those put back are told in time."""
    await realm.commit(POINTER, putting(b"another node"))
    clock = GatedClock()
    node = await rig.open(clock=clock, commit=CommitOptions(timeout_seconds=0.05))
    handle = node.realm(realm.id)
    held = Held(rig)
    blob = random.Random(1).randbytes(BATCH_BYTES_MAX + 1)
    large, behind = (
        asyncio.create_task(handle.commit(POINTER, attempt))
        for attempt in (lambda draft: draft.stage(Thing(blob=blob)), putting(b"behind"))
    )
    await held.reached.wait()
    await asyncio.sleep(0.06)  # the lane's timer ends while nobody waits
    held.let_go.set()
    asyncio.get_running_loop().call_later(5, clock.gate.set)  # nobody hangs if this test fails
    await large
    with pytest.raises(CommitTimedOut, match=r"waited 0\.05 s"):
        await behind
    clock.gate.set()
    await handle.commit(POINTER, putting(b"later"))

    assert set(await entries(realm)) == {b"another node", b"later"}
    assert node.committer.statistics.timed_out == 1


async def test_a_renewal_survives_any_error(rig: Rig, kernel: Kernel) -> None:
    """Whatever goes wrong, the next check tries again."""
    ids = IdGenerator(rig.clock)
    leases = NodeLeases(kernel.store, rig.clock, ids, holder="x", level=1, entropy=entropy(7))
    failures = [RuntimeError("first"), KeyError("second")]

    async def before_renewal() -> None:
        if failures:
            raise failures.pop()

    await leases.start(before_renewal)
    await turns(1)
    rig.clock.advance(LEASE_RENEW_MS)
    for _ in range(3):
        await turns(5)
        rig.clock.advance(LEASE_CHECK_SECONDS * 1000)
    await turns(5)
    rig.clock.advance(2 * LEASE_RENEW_MS)

    assert failures == []
    assert ids.next() > 0  # the first lease would have ended
    await leases.stop()


async def test_closing_goes_on_whatever_fails() -> None:
    """The backend is closed though the node id could not be given back."""
    backend = BrokenBackend()
    kernel = open_kernel_on(backend)
    await kernel.open()
    with pytest.raises(ValueError, match="nobody foresaw"):
        await kernel.close()

    assert backend.closed
    assert kernel.ids.node is None


async def test_purging_again_removes_what_came_late(rig: Rig, kernel: Kernel) -> None:
    """A PURGED realm stays PURGED, and a slow writer's rows are swept."""
    realm = await kernel.realms.reserve("acme")
    await kernel.realms.purge("acme")
    await kernel.store.write(realm.id, {1: Thing()})
    purged = await kernel.realms.purge("acme")

    assert purged.state is RealmState.PURGED
    assert not [key for key in (await snapshot(rig.memory)).rows if key[0] == realm.id]
