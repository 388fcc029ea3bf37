"""Rolling upgrades to a format that older programs cannot read, and back: refused, never mixed.

The form of a note changes at level 2. A program of level 1 knows the first form only.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from headgate.errors import Closed, NewerFormat, WrongType
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.objects import ObjectType, Stored
from headgate.kernel.records import PointerKey
from headgate.limits import LEASE_MS, LEASE_RENEW_MS
from headgate.testing.callers import create_realm
from headgate.testing.faults import Crashed, Fault
from headgate.testing.kernels import Rig, SteppedClock, entropy, turns

POINTER = "notes"


class Note(Stored, frozen=True):
    """A note as level 1 stores it."""

    text: str


class LinedNote(Stored, frozen=True):
    """A note as level 2 stores it."""

    lines: tuple[str, ...]


FIRST = ObjectType("note", Note)
SECOND = ObjectType("lined-note", LinedNote)
SEEDS = itertools.count(100)
TYPES = {1: (FIRST,), 2: (FIRST, SECOND)}


async def start(rig: Rig, level: int, clock: SteppedClock | None = None) -> Kernel:
    """A node of a program that understands this level."""
    seed = next(SEEDS)
    options = KernelOptions(holder=f"test-{seed}", level=level)
    node = Kernel(rig.backend, clock or rig.clock, entropy(seed), options, TYPES[level])
    await node.open()
    rig.kernels.append(node)
    return node


async def write_note(node: Kernel, key: PointerKey, text: str) -> None:
    """What a program of any level does: it asks which form it may write."""

    def attempt(draft: Draft) -> None:
        if node.formats.may_write(2):
            id = draft.stage(LinedNote(tuple(text.splitlines())))
        else:
            id = draft.stage(Note(text))
        draft.mark("note", id)

    await node.realm(key.realm).commit(key.name, attempt)


async def read_note(node: Kernel, key: PointerKey) -> tuple[str, type]:
    """The last note and the form it has; a program reads the forms it knows."""
    [head] = await node.realm(key.realm).heads(key.name)
    if node.formats.understood == 1:
        return (await head.get(head.head.marks["note"], Note)).text, Note
    try:
        return (await head.get(head.head.marks["note"], Note)).text, Note
    except WrongType:
        lined = await head.get(head.head.marks["note"], LinedNote)
        return "\n".join(lined.lines), LinedNote


async def renewals(rig: Rig) -> None:
    """Let every node renew its lease once."""
    await turns(5)  # nodes that have just started begin to wait
    rig.clock.advance(LEASE_RENEW_MS + 1)
    await turns(30)


async def stop(rig: Rig, node: Kernel) -> None:
    rig.kernels.remove(node)
    await node.close()
    rig.clock.advance(2)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is everybody's."""
    async with Rig() as rig:
        yield rig


async def make_key(node: Kernel) -> PointerKey:
    return PointerKey((await create_realm(node, "acme", POINTER)).id, POINTER)


async def test_the_form_changes_when_the_last_older_node_has_gone(rig: Rig) -> None:
    """A rolling upgrade of three nodes: each reads all that the others write, at every moment."""
    nodes = [await start(rig, 1) for _ in range(3)]
    key = await make_key(nodes[0])
    for turn in range(3):
        await stop(rig, nodes.pop(0))
        nodes.append(await start(rig, 2))
        for writer in nodes:
            await write_note(writer, key, f"a\n{turn}")
            expected = LinedNote if writer.formats.in_force == 2 else Note
            for reader in nodes:
                assert await read_note(reader, key) == (f"a\n{turn}", expected)
        assert {node.formats.in_force for node in nodes} == ({1} if turn < 2 else {1, 2})
        await renewals(rig)

    assert [node.formats.in_force for node in nodes] == [2, 2, 2]
    await write_note(nodes[0], key, "x\ny")
    assert await read_note(nodes[1], key) == ("x\ny", LinedNote)


async def test_an_older_node_is_refused_once_the_level_is_raised(rig: Rig) -> None:
    """A downgrade is refused with the levels and what to do, to write and to read."""
    node = await start(rig, 2)
    key = await make_key(node)
    await write_note(node, key, "x")
    rig.backend.reset()

    with pytest.raises(NewerFormat, match=r"level 2, this program understands 1\. Upgrade"):
        await start(rig, 1)
    reader = Kernel(
        rig.backend, rig.clock, entropy(9), KernelOptions(writable=False, level=1), TYPES[1]
    )
    with pytest.raises(NewerFormat):
        await reader.open()

    assert rig.backend.rows_written == 0
    assert await read_note(node, key) == ("x", LinedNote)


async def test_a_node_that_only_reads_knows_the_level_in_force(rig: Rig) -> None:
    """It holds no lease and changes nothing, and may look all the same."""
    await start(rig, 1)
    reader = Kernel(
        rig.backend, rig.clock, entropy(9), KernelOptions(writable=False, level=2), TYPES[2]
    )
    async with reader:
        assert reader.formats.in_force == 1
        assert not reader.formats.may_write(2)


async def test_nothing_may_be_written_in_any_form_before_the_store_is_open(rig: Rig) -> None:
    """What is in force is not known yet."""
    node = Kernel(rig.backend, rig.clock, entropy(9), KernelOptions(level=2))

    assert node.formats.in_force == 0
    assert not node.formats.may_write(1)


async def test_an_older_node_that_joins_while_the_level_is_raised_is_seen_or_refused(
    rig: Rig,
) -> None:
    """It comes between the look at the leases and the swap: the swap is lost, the level stays."""
    older = await start(rig, 1)
    await stop(rig, older)
    joined: list[Kernel] = []

    async def join() -> None:
        joined.append(await start(rig, 1))

    rig.faults.crash_at("before_update", join, skip=1)  # the first is the joining of the newer
    newer = await start(rig, 2)

    assert len(joined) == 1
    assert newer.formats.in_force == joined[0].formats.in_force == 1
    key = await make_key(newer)
    await write_note(newer, key, "x\ny")
    assert await read_note(joined[0], key) == ("x\ny", Note)
    await stop(rig, joined[0])
    await renewals(rig)
    assert newer.formats.in_force == 2


async def test_an_older_node_that_joins_just_after_the_level_was_raised_is_refused(
    rig: Rig,
) -> None:
    """It has checked the level before; it gives its lease back and serves nobody."""
    await stop(rig, await start(rig, 1))

    async def raise_it() -> None:
        await start(rig, 2)

    rig.faults.crash_at("before_insert", raise_it)  # when the older one leases its node id
    with pytest.raises(NewerFormat):
        await start(rig, 1)

    [newer] = rig.kernels
    assert newer.formats.in_force == 2
    rig.clock.advance(1_000)
    assert [lease.level for lease in await newer._leases.live()] == [2]


async def test_a_node_that_lost_its_lease_while_the_level_was_raised_commits_no_more(
    rig: Rig,
) -> None:
    """It was stopped for longer than its lease; its callers are told what to do."""
    stalled = SteppedClock(rig.clock.wall_ms())
    older = await start(rig, 1, stalled)
    key = await make_key(older)
    rig.clock.advance(LEASE_MS + 1)  # the clock of the older node stands still
    newer = await start(rig, 2)
    assert newer.formats.in_force == 2
    await write_note(newer, key, "x\ny")

    stalled.advance(LEASE_MS + 1)
    await turns(30)

    assert older.ids.node is None
    with pytest.raises(Closed, match=r"level 2, this program understands 1\. Upgrade this node"):
        await write_note(older, key, "old")
    assert await read_note(newer, key) == ("x\ny", LinedNote)


async def test_a_lease_that_replaces_a_lost_one_is_not_used_under_a_newer_level(rig: Rig) -> None:
    """The level is raised after the look that precedes a renewal, and before the new lease."""
    stalled = SteppedClock(rig.clock.wall_ms())
    older = await start(rig, 1, stalled)
    rig.clock.advance(LEASE_MS + 1)
    stalled.advance(LEASE_MS + 1)
    await turns(2)

    async def raise_it() -> None:
        await start(rig, 2)

    rig.faults.crash_at("before_update", raise_it)
    with pytest.raises(NewerFormat):
        await older._leases.renew()

    assert older.ids.node is None
    assert rig.kernels[-1].formats.in_force == 2


@pytest.mark.parametrize("point", ["before_update", "after_update"])
async def test_a_node_that_dies_while_it_raises_the_level_leaves_one_or_the_other(
    rig: Rig, point: str
) -> None:
    """The next node finds the old level or the new one, and goes on from there."""
    first = await start(rig, 1)
    key = await make_key(first)
    await write_note(first, key, "x\ny")
    await stop(rig, first)

    rig.faults.crash_at(point, skip=1)
    with pytest.raises(Crashed):
        await start(rig, 2)

    rig.clock.advance(LEASE_MS + 1)
    second = await start(rig, 2)
    assert second.formats.in_force == 2
    assert await read_note(second, key) == ("x\ny", Note)


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
async def test_a_lost_answer_while_the_level_is_raised_is_looked_at_again(
    rig: Rig, fault: Fault
) -> None:
    """The node opens, writes at most at the level in force, and knows better at its renewal."""
    await stop(rig, await start(rig, 1))

    def lose_the_next() -> None:
        rig.faults.schedule("update", fault)

    rig.faults.crash_at("after_update", lose_the_next)  # after the joining: the raising
    node = await start(rig, 2)
    assert node.formats.in_force == 1

    await renewals(rig)
    assert node.formats.in_force == 2


async def test_nodes_that_start_at_once_agree_on_what_all_understand(rig: Rig) -> None:
    """On a new store, in any order: the older ones run, or the newer ones; never both unaware."""
    levels = [1, 2, 1, 2, 2]
    results = await asyncio.gather(*[start(rig, level) for level in levels], return_exceptions=True)
    running = [node for node in results if isinstance(node, Kernel)]
    refused = [error for error in results if not isinstance(error, Kernel)]
    await renewals(rig)

    assert all(isinstance(error, NewerFormat) for error in refused)
    assert {node.formats.in_force for node in running} == {
        min(node.formats.understood for node in running)
    }
