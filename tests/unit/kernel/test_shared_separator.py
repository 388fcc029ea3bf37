"""The separator that all nodes of a store share: of two that differ one does not start."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from headgate.errors import BadSetting, Conflict, NoNodeId
from headgate.ids import lease_row
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.leases import NodeLease
from headgate.kernel.shared_separator import SEPARATOR_ROW, SharedSeparator
from headgate.kernel.store import Store
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import LEASE_CHECK_SECONDS, LEASE_MS, NODES
from headgate.testing.faults import Fault
from headgate.testing.kernels import Rig, SteppedClock, entropy, turns

RELEASE_MS = 1
"""By which a lease that is given back outlives the newest id under it."""


class Node:
    """A process of a store, as servers open one."""

    seeds = itertools.count(1)

    def __init__(self, rig: Rig, separator: str, *, writable: bool = True) -> None:
        seed = next(self.seeds)
        self.rig, self.clock = rig, SteppedClock(rig.clock.wall_ms())
        options = KernelOptions(holder=f"host:{seed}", separator=separator, writable=writable)
        self.kernel = Kernel(rig.backend, self.clock, entropy(seed), options)
        self.checks = 0

    async def check(self) -> None:
        """All names fit."""
        self.checks += 1

    async def start(self, check: Callable[[], Awaitable[None]] | None = None) -> None:
        """Open the store and share the separator, as a server does; closed if it is refused."""
        await self.kernel.open()
        try:
            await self.kernel.share_separator(check or self.check)
        except BaseException:
            await self.kernel.close()
            raise
        if self.kernel._options.writable:
            await self.clock.until_asleep(LEASE_CHECK_SECONDS)

    async def stop(self) -> None:
        """Give the lease back; who starts from now on starts later."""
        await self.kernel.close()
        self.rig.clock.advance(RELEASE_MS + 1)

    async def command(self) -> None:
        """The same as a command does that writes names."""
        await self.kernel.open()
        try:
            await self.kernel.share_separator()
        finally:
            await self.kernel.close()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database."""
    async with Rig() as rig:
        yield rig


async def in_force(store: Store) -> str | None:
    row = (await store.read_versioned(SYSTEM_REALM, [SEPARATOR_ROW])).get(SEPARATOR_ROW)
    return row.value.separator if row and isinstance(row.value, SharedSeparator) else None


async def live(node: Node) -> set[str | None]:
    """The separators of all nodes that hold a lease for a while yet."""
    ids = [lease_row(number) for number in range(NODES)]
    rows = await node.kernel.store.read_versioned(SYSTEM_REALM, ids)
    leases = [row.value for row in rows.values() if isinstance(row.value, NodeLease)]
    later_ms = node.clock.wall_ms() + LEASE_MS // 2
    return {one.separator for one in leases if one.ends_ms > later_ms}


async def test_nodes_with_the_same_separator_share_a_store(rig: Rig) -> None:
    """The first one says which; no names are looked at again."""
    nodes = [Node(rig, "|") for _ in range(3)]
    for node in nodes:
        await node.start()
    assert await in_force(nodes[0].kernel.store) == "|"
    assert await live(nodes[0]) == {"|"}
    assert sum(node.checks for node in nodes) == 0
    for node in nodes:
        await node.stop()


async def test_a_node_with_another_separator_is_refused_while_others_live(rig: Rig) -> None:
    """It says who lives and what to do, leaves no lease behind, and changes nothing."""
    one, other = Node(rig, ":"), Node(rig, "|")
    await one.start()
    with pytest.raises(BadSetting) as refused:
        await other.start()
    assert refused.value.what == "the separator '|' cannot be used"
    assert "uses this store with ':', and all nodes need the same" in refused.value.why
    assert "Start this node with schema.separator=':'; or stop all nodes first" in refused.value.fix
    assert other.checks == 0
    assert await in_force(one.kernel.store) == ":"
    assert await live(one) == {":"}
    await one.stop()


async def test_the_separator_is_changed_when_no_node_lives(rig: Rig) -> None:
    """One that was stopped does not count; one that was killed does until its lease is over."""
    stopped, killed = Node(rig, ":"), Node(rig, ":")
    await stopped.start()
    await stopped.stop()
    await killed.start()
    with pytest.raises(BadSetting, match="one that was killed counts for 10 min"):
        await Node(rig, "|").start()
    later = Node(rig, "|")
    later.clock.advance(LEASE_MS + RELEASE_MS)
    await later.start()
    assert later.checks == 1
    assert await in_force(later.kernel.store) == "|"
    await later.stop()


async def test_names_that_do_not_fit_leave_the_separator_as_it_was(rig: Rig) -> None:
    """The check comes before the change."""

    async def unfit() -> None:
        raise Conflict("a name contains it")

    one = Node(rig, ":")
    await one.start()
    await one.stop()
    with pytest.raises(Conflict, match="a name contains it"):
        await Node(rig, "|").start(unfit)
    again = Node(rig, ":")
    await again.start()
    assert await in_force(again.kernel.store) == ":"
    await again.stop()


@pytest.mark.parametrize("before", [None, ":", "|", ";"])
@pytest.mark.parametrize("turn", range(12))
async def test_of_two_that_start_at_once_exactly_one_wins(
    rig: Rig, before: str | None, turn: int
) -> None:
    """Whatever was in force, and however their steps interleave."""
    if before is not None:
        former = Node(rig, before)
        await former.start()
        await former.stop()
    nodes = [Node(rig, ":"), Node(rig, "|")]
    for _ in range(turn):
        rig.faults.schedule("fetch", Fault.DELAY)
    first = asyncio.create_task(nodes[0].start())
    await turns(turn)
    second = asyncio.create_task(nodes[1].start())
    outcomes = await asyncio.gather(first, second, return_exceptions=True)

    refused = [one for one in outcomes if one is not None]
    assert [type(one) for one in refused] == [BadSetting]
    winner = nodes[outcomes.index(None)]
    separator = winner.kernel._options.separator
    assert await in_force(winner.kernel.store) == separator
    assert await live(winner) == {separator}
    await winner.stop()


async def test_a_lost_answer_of_the_swap_is_read_again(rig: Rig) -> None:
    """Nobody takes itself for the loser because the network failed."""
    node = Node(rig, ":")
    await node.kernel.open()
    rig.faults.schedule("insert", Fault.LOST_AFTER)
    await node.kernel.share_separator(node.check)
    assert await in_force(node.kernel.store) == ":"
    await node.stop()


async def test_a_command_never_changes_the_separator(rig: Rig) -> None:
    """With another one it is refused, also if no node lives, and says what to set."""
    one = Node(rig, "|")
    await one.start()
    with pytest.raises(BadSetting, match=r"used with '\|'.*Set schema\.separator='\|'"):
        await Node(rig, ":").command()
    await Node(rig, "|").command()
    await one.stop()
    with pytest.raises(BadSetting, match=r"stop all nodes and start a server with schema\.sep"):
        await Node(rig, ":").command()
    assert await in_force(one.kernel.store) == "|"


async def test_a_process_that_writes_no_names_takes_no_part(rig: Rig) -> None:
    """An operator's command does not hold up a change."""
    one = Node(rig, ":")
    await one.start()
    await one.stop()
    idle, other = Node(rig, ""), Node(rig, "|")
    await idle.kernel.open()
    await other.start()
    assert await in_force(idle.kernel.store) == "|"
    for node in (idle, other):
        await node.stop()


async def test_nodes_of_former_versions_hold_up_a_change_and_nothing_else(rig: Rig) -> None:
    """Their leases do not say which separator they have."""
    one, old = Node(rig, ":"), Node(rig, "")
    # As a former version wrote it.
    old.kernel._leases.separator = None  # type: ignore[assignment]
    await old.kernel.open()
    await one.start()
    await one.stop()
    with pytest.raises(BadSetting, match="uses this store with ':'"):
        await Node(rig, "|").start()
    await old.stop()


async def test_a_node_that_only_reads_is_refused_beside_others_too(rig: Rig) -> None:
    """It would tell clients another separator; it writes nothing itself."""
    one = Node(rig, ":")
    await one.start()
    with pytest.raises(BadSetting, match="uses this store with ':'"):
        await Node(rig, "|", writable=False).start()
    same = Node(rig, ":", writable=False)
    await same.start()
    await same.stop()
    await one.stop()
    alone = Node(rig, "|", writable=False)
    await alone.start()
    assert await in_force(alone.kernel.store) == ":"
    await alone.stop()


async def test_a_node_that_lost_its_lease_checks_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """It slept while another one changed the separator: it makes no ids any more, and says why."""
    asleep = Node(rig, ":")
    await asleep.start()
    other = Node(rig, "|")
    other.clock.advance(LEASE_MS + RELEASE_MS)
    await other.start()

    asleep.clock.advance(LEASE_MS + RELEASE_MS)
    await turns(20)
    with pytest.raises(NoNodeId):
        asleep.kernel.ids.next()
    assert await live(other) == {"|"}
    assert "this store is used with '|'" in caplog.text
    for node in (asleep, other):
        await node.stop()


async def test_a_node_that_lost_its_lease_goes_on_if_nothing_changed(rig: Rig) -> None:
    """The row is swapped again under the new lease, before ids are made."""
    node = Node(rig, ":")
    await node.start()
    rows = await node.kernel.store.read_versioned(SYSTEM_REALM, [SEPARATOR_ROW])
    node.clock.advance(LEASE_MS + RELEASE_MS)
    await turns(50)
    assert node.kernel.ids.next()
    again = await node.kernel.store.read_versioned(SYSTEM_REALM, [SEPARATOR_ROW])
    assert again[SEPARATOR_ROW].version != rows[SEPARATOR_ROW].version
    assert await live(node) == {":"}
    await node.stop()


async def test_a_wrong_clock_is_found_at_the_next_renewal(rig: Rig) -> None:
    """A node whose clock is ahead took this one for dead: one of them stops writing."""
    node, ahead = Node(rig, ":"), Node(rig, "|")
    await node.start()
    ahead.clock.advance(LEASE_MS)
    await ahead.start()
    node.clock.advance(LEASE_MS // 3)
    await turns(20)
    with pytest.raises(NoNodeId):
        node.kernel.ids.next()
    for one in (node, ahead):
        await one.stop()
