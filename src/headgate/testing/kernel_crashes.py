"""Conformance of the kernel when a node dies: its last commit is there whole, or not at all."""

import asyncio
from functools import partial

import msgspec
import pytest

from headgate.errors import OutcomeUnknown, Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.objects import Foreign
from headgate.kernel.records import PointerKey
from headgate.testing.callers import commit, entries_of, head_of, log_both_ways, patiently
from headgate.testing.faults import (
    BETWEEN_WRITE_AND_SWAP,
    Faults,
    FaultyBackend,
    TwoStepBackend,
)
from headgate.testing.kernels import entropy

WIDTH = 200  # entries of one commit: several pages
CRASH_POINTS = ["before_commit", BETWEEN_WRITE_AND_SWAP, "after_commit"]  # made by the last only
OPENINGS_MAX = 500


class CrashConformance:
    """A node that dies leaves nothing half-made, and the others go on."""

    @pytest.mark.parametrize("point", CRASH_POINTS)
    async def test_a_crash_around_a_swap_leaves_all_or_nothing(
        self, node: Kernel, other_node: Kernel, key: PointerKey, point: str
    ) -> None:
        """Entries, mark, object and log agree on whether the last commit of the dead was made."""
        await commit(node, key, partial(_rewrite, 1))
        await _die_at(point, node, key, b"")
        made = point == "after_commit"
        turn = 2 if made else 1

        for kernel in (node, other_node):
            head = await head_of(kernel, key)
            stored = await entries_of(kernel, key, "entries")
            assert head.head.marks["turn"] == turn
            assert set(stored.values()) == {str(turn).encode()}
            assert len(stored) == WIDTH
            found = await patiently(partial(head.get, head.head.marks["thing"], Foreign))
            assert found == _thing(turn)
        await commit(other_node, key, partial(_rewrite, 3))
        commits = await log_both_ways(node, key)
        notes = [group.note for entry in commits for group in entry.groups]
        assert list(dict.fromkeys(map(str, notes))) == (["1", "2", "3"] if made else ["1", "3"])

    @pytest.mark.parametrize("point", CRASH_POINTS)
    async def test_an_operation_is_done_once_though_its_node_died(
        self, node: Kernel, other_node: Kernel, key: PointerKey, point: str
    ) -> None:
        """Its caller brings it to another node and gets the first answer, or makes it there."""
        await _die_at(point, node, key, b"once")
        made = point == "after_commit"

        def attempt(draft: Draft) -> bytes:
            draft.index("again").put(b"again", b"")
            return b"again"

        answer = await commit(other_node, key, attempt, operation=b"once")
        assert answer == (b"2" if made else b"again")
        assert len(await entries_of(node, key, "again")) == (0 if made else 1)
        assert len(await log_both_ways(node, key)) == 1


class _OwnLife(ForwardingBackend):
    """A node's way to a database that others have opened and go on using."""

    async def open(self) -> None:
        """It is open."""

    async def close(self) -> None:
        """Others use it."""


async def _die_at(point: str, node: Kernel, key: PointerKey, operation: bytes) -> None:
    """Let another node on the same database commit, and die at this point."""
    faults = Faults()
    kind = TwoStepBackend if point == BETWEEN_WRITE_AND_SWAP else FaultyBackend
    doomed = await _opened(kind(_OwnLife(node.backend), faults), node)
    faults.crash_at(point)
    committing = doomed.realm(key.realm).commit(key.name, partial(_rewrite, 2), operation=operation)
    with pytest.raises(asyncio.CancelledError):
        await committing
    assert faults.injected[point] == 1
    await doomed.close()  # only its lease; what is dead commits no more


async def _opened(backend: ForwardingBackend, node: Kernel) -> Kernel:
    """A kernel; if the database fails while it is opened, another one."""
    for seed in range(OPENINGS_MAX):
        chance = entropy(node.ids.last_ms + seed)
        options = KernelOptions(holder=f"doomed-{seed}")
        kernel = Kernel(backend, node.clock, chance, options)
        try:
            await kernel.open()
        except (Unavailable, OutcomeUnknown):
            continue
        return kernel
    raise AssertionError("the database cannot be opened")


def _rewrite(turn: int, draft: Draft) -> bytes:
    """Give all entries, a mark and an object the same new value."""
    value = str(turn).encode()
    for number in range(WIDTH):
        draft.index("entries").put(f"entry {number}".encode() * 8, value)
    draft.mark("thing", draft.stage(_thing(turn)))
    draft.mark("turn", turn)
    draft.note(turn)
    return value


def _thing(turn: int) -> Foreign:
    return Foreign("thing", msgspec.msgpack.encode({"turn": turn}))
