"""The kernel as a whole: opened when program, clock and store fit, closed in order."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import (
    BackendUnavailable,
    ClockRefused,
    Closed,
    CommitTimedOut,
    CorruptRow,
    NewerFormat,
)
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.kernel import LEVEL, Kernel, KernelOptions
from headgate.kernel.levels import LEVEL_ROW, FormatLevel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import EMPTY
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import CLOCK_BEHIND_MS_MAX, IDLE_LANES_MAX, LEASE_MS
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    POINTER,
    Rig,
    SteppedClock,
    entries,
    entropy,
    open_kernel_on,
    putting,
    snapshot,
    turns,
)


class WatchedBackend(ForwardingBackend):
    """Remembers whether it is open."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__(MemoryBackend())
        self.fails = fails
        self.events: list[str] = []

    async def open(self) -> None:
        self.events.append("open")
        if self.fails:
            raise BackendUnavailable("no database", why="a test", fix="none")

    async def close(self) -> None:
        self.events.append("close")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database."""
    async with Rig() as rig:
        yield rig


async def test_a_fresh_store_gets_its_first_pointer(rig: Rig) -> None:
    """Opening sets up what realms need."""
    kernel = await rig.open()

    assert (await snapshot(rig.memory)).pointers == {REALMS_KEY: EMPTY}
    assert await kernel.realms.list() == []


async def test_opening_again_changes_only_what_nodes_agree_by(rig: Rig) -> None:
    """What is stored stays, realms and all; the level keeps its value and gets a new version."""
    realm = await rig.realm()
    await realm.commit(POINTER, putting(b"a"))
    before = await snapshot(rig.memory)
    await rig.open()
    after = await snapshot(rig.memory)
    changed = [key for key in after.rows if after.rows[key] != before.rows.get(key)]

    assert after.pointers == before.pointers
    assert {after.rows[key].type for key in changed} == {"node-lease", "format-level"}
    levels = [
        [row.value for row in s.rows.values() if row.id == LEVEL_ROW] for s in (before, after)
    ]
    assert levels[0] == levels[1]


async def test_each_kernel_has_a_node_of_its_own(rig: Rig) -> None:
    """However many share a database."""
    kernels = [await rig.open() for _ in range(10)]

    assert len({kernel.ids.node for kernel in kernels}) == 10


async def test_what_was_committed_is_there_after_reopening() -> None:
    """`async with` opens and closes; the next one finds everything."""
    memory, clock = MemoryBackend(), SteppedClock()
    async with open_kernel_on(memory, clock=clock) as kernel:
        realm = kernel.realm((await kernel.realms.create("acme")).id)
        await realm.commit(POINTER, putting(b"a", b"1"))
    clock.advance(5)
    async with open_kernel_on(memory, clock=clock) as kernel:
        found = await entries(kernel.realm((await kernel.realms.get("acme")).id))

    assert found == {b"a": b"1"}


async def test_closing_gives_the_node_back_and_closes_the_backend() -> None:
    """In this order, and twice does no harm."""
    backend = WatchedBackend()
    kernel = open_kernel_on(backend)
    await kernel.open()
    node = kernel.ids.node
    await kernel.close()
    await kernel.close()

    assert node is not None
    assert kernel.ids.node is None
    assert backend.events == ["open", "close", "close"]


async def test_closing_finishes_what_was_taken(rig: Rig) -> None:
    """A commit under way needs its node id until it is done."""
    realm = await rig.realm()
    kernel = rig.kernels.pop()
    committing = asyncio.create_task(realm.commit(POINTER, putting(b"a")))
    await turns(2)
    await kernel.close()
    await committing
    other = await rig.open()

    assert await entries(other.realm(realm.id)) == {b"a": b""}


async def test_a_cancelled_user_still_closes_in_order() -> None:
    """Leaving `async with` is not cut short."""
    backend = WatchedBackend()

    async def use() -> None:
        async with open_kernel_on(backend):
            await asyncio.Event().wait()

    using = asyncio.create_task(use())
    await turns(20)
    using.cancel()
    await asyncio.gather(using, return_exceptions=True)

    assert backend.events == ["open", "close"]


async def test_a_backend_that_does_not_open_is_closed() -> None:
    """The error is passed on and nothing is held."""
    backend = WatchedBackend(fails=True)
    with pytest.raises(BackendUnavailable, match="no database"):
        await open_kernel_on(backend).open()

    assert backend.events == ["open", "close"]


@pytest.mark.parametrize("verb", ["read_pointers", "create_pointers", "fetch", "insert"])
async def test_an_outage_while_opening_is_an_error_and_can_be_repeated(rig: Rig, verb: str) -> None:
    """Nothing half-open stays behind."""
    rig.faults.schedule(verb, Fault.UNAVAILABLE)
    kernel = open_kernel_on(rig.backend, clock=rig.clock)
    with pytest.raises(BackendUnavailable):
        await kernel.open()
    node = kernel.ids.node
    await rig.open()

    assert node is None
    assert (await rig.realm()).id


async def test_a_reading_kernel_leases_nothing_and_cannot_write(rig: Rig) -> None:
    """It sees what others commit; its own commits are refused by name."""
    realm = await rig.realm()
    await realm.commit(POINTER, putting(b"a"))
    options = KernelOptions(writable=False)
    rig.backend.reset()
    async with Kernel(rig.backend, rig.clock, entropy(5), options) as reader:
        found = await entries(reader.realm(realm.id))
        with pytest.raises(Closed, match="this node only reads"):
            await reader.realm(realm.id).commit(POINTER, putting(b"b"))

    assert found == {b"a": b""}
    assert rig.backend.rows_written == 0


async def test_a_newer_store_is_refused(rig: Rig) -> None:
    """To write and to read; nothing is changed."""
    kernel = await rig.open()
    store = kernel.store
    [row] = (await store.read_versioned(SYSTEM_REALM, [LEVEL_ROW])).values()
    newer = FormatLevel(LEVEL + 1)
    await store.update(SYSTEM_REALM, LEVEL_ROW, newer, expected=row.version, version=99)
    before = await snapshot(rig.memory)
    for writable in (True, False):
        options = KernelOptions(writable=writable)
        with pytest.raises(NewerFormat, match="Upgrade this node"):
            await Kernel(rig.backend, rig.clock, entropy(5), options).open()

    assert await snapshot(rig.memory) == before


@pytest.mark.parametrize("behind_ms", [0, CLOCK_BEHIND_MS_MAX])
async def test_a_clock_a_little_behind_is_accepted(rig: Rig, behind_ms: int) -> None:
    """Up to a minute, as between machines that are synchronised."""
    await rig.realm()
    clock = SteppedClock(rig.clock.wall_ms() - behind_ms)

    assert (await rig.open(clock=clock)).ids.node is not None


async def test_a_clock_far_behind_is_refused(rig: Rig) -> None:
    """It would make ids that look older than what they follow; reading is still possible."""
    await rig.realm()
    clock = SteppedClock(rig.clock.wall_ms() - CLOCK_BEHIND_MS_MAX - 1000)
    before = await snapshot(rig.memory)
    with pytest.raises(ClockRefused, match="61 s behind the newest commit"):
        await rig.open(clock=clock)
    async with Kernel(rig.backend, clock, entropy(5), KernelOptions(writable=False)) as reader:
        realms = await reader.realms.list()

    assert len(realms) == 1
    assert await snapshot(rig.memory) == before


async def test_a_realm_has_one_handle_in_a_kernel(rig: Rig) -> None:
    """What it has checked is shared by all its users; idle ones are forgotten at some point."""
    kernel = await rig.open()
    first = kernel.realm("a")
    same = kernel.realm("a")
    for number in range(IDLE_LANES_MAX):
        kernel.realm(f"r{number}")

    assert first is same
    assert kernel.realm("a") is not first


async def test_a_store_that_lost_its_realms_is_refused(rig: Rig) -> None:
    """It is not new, so an empty list of realms would be a lie."""
    await rig.realm()
    await rig.memory.delete_pointers([REALMS_KEY])
    before = await snapshot(rig.memory)
    with pytest.raises(CorruptRow, match="Restore the database"):
        await rig.open()

    assert await snapshot(rig.memory) == before


async def test_a_clock_is_compared_with_all_pointers(rig: Rig) -> None:
    """The newest commit of any realm counts, not only the last change of realms."""
    realm = await rig.realm()
    slow = SteppedClock(rig.clock.wall_ms())
    await rig.pass_time(CLOCK_BEHIND_MS_MAX + 1000)
    await realm.commit(POINTER, putting(b"a"))
    with pytest.raises(ClockRefused):
        await rig.open(clock=slow)


async def test_a_node_that_is_outdated_while_it_runs_stops_writing(rig: Rig) -> None:
    """The level was raised though it lives: it gives its node id up at its next renewal."""
    kernel = await rig.open()
    await turns(3)
    store = kernel.store
    [row] = (await store.read_versioned(SYSTEM_REALM, [LEVEL_ROW])).values()
    newer = FormatLevel(LEVEL + 1)
    await store.update(SYSTEM_REALM, LEVEL_ROW, newer, expected=row.version, version=99)
    before = kernel.ids.node
    await rig.pass_time(LEASE_MS)

    assert before is not None
    assert kernel.ids.node is None


async def test_a_commit_waits_for_a_lease_that_ran_out(rig: Rig) -> None:
    """A machine that slept renews first; the caller does not notice."""
    realm = await rig.realm()
    await turns(3)
    rig.clock.advance(3 * LEASE_MS)
    await realm.commit(POINTER, putting(b"a"))

    assert await entries(realm) == {b"a": b""}


async def test_without_a_lease_commits_time_out(rig: Rig) -> None:
    """Nothing was committed, and the reason is given."""
    realm = await rig.realm()
    rig.kernels[0].ids.use(None)
    with pytest.raises(CommitTimedOut, match="holds no node id"):
        await realm.commit(POINTER, putting(b"a"))
