"""Fences: an empty commit lets whatever was assembled before it be lost."""

import asyncio

import pytest

from headgate.errors import Closed, CommitTimedOut, ObjectNotFound, OutcomeUnknown
from headgate.ids import time_ms
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.limits import COMMIT_TIMEOUT_SECONDS
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Held,
    Rig,
    entries,
    history,
    putting,
    snapshot,
)


def key_of(realm: RealmHandle) -> PointerKey:
    """The pointer that these tests fence."""
    return PointerKey(realm.id, POINTER)


async def test_a_fence_changes_nothing_but_the_head(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Indexes, marks and the seal are the same; the commit has no group and replaces nothing."""

    def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"a", b"1")
        draft.mark("number", 7)
        draft.seal()

    await realm.commit(POINTER, attempt)
    [before] = await realm.heads(POINTER)
    rig.clock.advance(1)
    assert await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())
    [after] = await realm.heads(POINTER)

    assert after.id != before.id
    assert after.head.roots == before.head.roots
    assert (after.head.marks, after.head.sealed) == ({"number": 7}, True)
    [_, fence] = await history(kernel, realm)
    assert (fence.id, fence.seq, fence.groups, fence.replaced) == (after.id, 2, [], [])
    assert (await kernel.chains.verify(key_of(realm), {}, lambda _: None)).broken == 0


async def test_an_empty_pointer_is_fenced_and_stays_without_entries(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Its first commit may be under way."""
    assert await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())

    assert await entries(realm) == {}
    assert len(await history(kernel, realm)) == 1
    await realm.commit(POINTER, putting(b"a"))
    assert set(await entries(realm)) == {b"a"}


async def test_a_young_head_needs_no_fence(rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
    """Whatever is under way was assembled on it."""
    await realm.commit(POINTER, putting(b"a"))
    [head] = await realm.heads(POINTER)

    assert not await kernel.committer.fence(key_of(realm), time_ms(head.id))
    assert len(await history(kernel, realm)) == 1
    assert kernel.committer.statistics.fences == 0


async def test_a_pointer_that_does_not_exist_needs_no_fence(rig: Rig, kernel: Kernel) -> None:
    """And gets none: a fence creates no pointer."""
    before = await snapshot(rig.memory)

    assert not await kernel.committer.fence(PointerKey("1", POINTER), rig.clock.wall_ms())
    assert await snapshot(rig.memory) == before


async def test_a_commit_that_was_assembled_before_a_fence_is_lost_and_made_again(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Its caller notices nothing."""
    other = await rig.open()
    held = Held(rig)
    late = asyncio.create_task(realm.commit(POINTER, putting(b"late")))
    await held.reached.wait()
    rig.clock.advance(1)
    assert await other.committer.fence(key_of(realm), rig.clock.wall_ms())
    held.let_go.set()
    await late

    assert kernel.committer.statistics.lost == 1
    assert [len(commit.groups) for commit in await history(kernel, realm)] == [0, 1]
    assert set(await entries(realm)) == {b"late"}


async def test_a_commit_that_wins_against_a_fence_may_need_one_itself(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """It may have been assembled long ago."""
    other = (await rig.open()).realm(realm.id)
    stale = Held(rig)
    late = asyncio.create_task(other.commit(POINTER, putting(b"stale")))
    await stale.reached.wait()
    rig.clock.advance(1)
    held = Held(rig)
    fencing = asyncio.create_task(kernel.committer.fence(key_of(realm), rig.clock.wall_ms()))
    await held.reached.wait()
    stale.let_go.set()
    await late
    held.let_go.set()

    assert await fencing
    assert kernel.committer.statistics.fences == 2
    assert [len(commit.groups) for commit in await history(kernel, realm)] == [1, 0]


async def test_a_fence_that_never_wins_gives_up(
    rig: Rig, kernel: Kernel, realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, and changes nothing."""

    async def lose(_rows: list[Row], _swap: Swap) -> Outcome:
        rig.clock.advance(COMMIT_TIMEOUT_SECONDS * 400)
        return Outcome.LOST

    monkeypatch.setattr(rig.memory, "commit", lose)
    with pytest.raises(CommitTimedOut, match="is not fenced: other nodes changed"):
        await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())

    assert kernel.committer.statistics.fences == 3
    assert (await snapshot(rig.memory)).pointers[key_of(realm)] == EMPTY


async def test_a_pointer_that_is_deleted_meanwhile_needs_no_fence(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Its realm is being purged."""
    rig.faults.crash_at("before_commit", lambda: rig.memory.delete_pointers([key_of(realm)]))

    assert not await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())


async def test_a_head_that_is_missing_is_no_deleted_pointer(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """The store is damaged, and that is told."""
    await realm.commit(POINTER, putting(b"a"))
    [head] = await realm.heads(POINTER)
    await kernel.store.delete(realm.id, [head.id])
    rig.clock.advance(1)
    with pytest.raises(ObjectNotFound):
        await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())


async def test_a_fence_with_an_unknown_outcome_is_not_taken_for_one(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """It is sent again, and if the database is silent for long there is an error."""
    rig.faults.schedule("commit", Fault.LOST_BEFORE)
    assert await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())
    rig.clock.advance(1)
    for _ in range(1_000):
        rig.faults.schedule("commit", Fault.LOST_BEFORE)
    with pytest.raises(OutcomeUnknown):
        await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())


async def test_listeners_are_told_of_a_fence(rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
    """What this process remembers of the pointer is not current any more."""
    told: list[PointerKey] = []
    kernel.committer.listeners.append(told.append)
    await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())

    assert told == [key_of(realm)]


async def test_a_closed_committer_puts_no_fence(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """As it makes no commit."""
    await kernel.committer.close()
    with pytest.raises(Closed):
        await kernel.committer.fence(key_of(realm), rig.clock.wall_ms())
