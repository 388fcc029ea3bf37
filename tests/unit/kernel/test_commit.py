"""The committer: many callers, one swap, and nobody pays for another."""

import asyncio

import pytest

from headgate.errors import DatabaseFull, InvalidInput, PointerNotFound, PointerSealed
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Foreign
from headgate.testing.faults import Crashed
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Held,
    Rig,
    Thing,
    entries,
    history,
    putting,
    putting_all,
    snapshot,
    turns,
)


def counting(draft: Draft) -> int:
    """An attempt that adds one to a counter, and its new value."""
    value = int(draft.index(INDEX).get(b"counter") or 0) + 1
    draft.index(INDEX).put(b"counter", b"%d" % value)
    return value


def refusing(draft: Draft) -> None:
    """An attempt that fails because of what it saw."""
    message = f"counter is {draft.index(INDEX).get(b'counter')!r}"
    raise ValueError(message)


async def test_sixty_four_callers_share_one_swap(rig: Rig, realm: RealmHandle) -> None:
    """One read of the pointer, one commit, and every caller has its own result."""
    results = await asyncio.gather(*(realm.commit(POINTER, counting) for _ in range(64)))

    assert results == list(range(1, 65))
    assert rig.backend.calls["commit"] == 1
    assert rig.backend.calls["read_pointers"] == 1


async def test_one_commit_holds_a_group_for_each_caller(kernel: Kernel, realm: RealmHandle) -> None:
    """The log says who changed what, though they shared a swap."""

    async def bring(number: int) -> None:
        def attempt(draft: Draft) -> None:
            draft.index(INDEX).put(b"%d" % number, b"")
            draft.note({"caller": number})

        await realm.commit(POINTER, attempt)

    await asyncio.gather(*(bring(number) for number in range(5)))
    [commit] = await history(kernel, realm)

    assert [group.note for group in commit.groups] == [{"caller": n} for n in range(5)]
    assert [group.entries[0].key for group in commit.groups] == [b"%d" % n for n in range(5)]


async def test_a_change_of_many_entries_is_one_commit(rig: Rig, realm: RealmHandle) -> None:
    """Any number of entries in any number of indexes: readers see all or nothing."""

    def attempt(draft: Draft) -> None:
        putting_all({b"%04d" % number: b"v" * 30 for number in range(1000)})(draft)
        draft.index("other").put(b"k", b"")
        draft.mark("size", 1000)

    await realm.commit(POINTER, attempt)
    [head] = await realm.heads(POINTER)

    assert rig.backend.calls["commit"] == 1
    assert len(await entries(realm)) == head.head.marks["size"] == 1000
    assert await entries(realm, index="other") == {b"k": b""}


async def test_a_crash_before_the_swap_leaves_nothing(rig: Rig, realm: RealmHandle) -> None:
    """All changes of all callers of a batch are gone together."""
    before = await snapshot(rig.memory)
    rig.faults.crash_at("before_commit")
    callers = [asyncio.create_task(realm.commit(POINTER, counting)) for _ in range(3)]
    leader = await _leader_of(rig.kernels[0])
    await asyncio.wait([leader])
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)

    assert isinstance(leader.exception(), Crashed)
    assert await snapshot(rig.memory) == before
    rig.kernels.clear()  # a process that died closes nothing


async def _leader_of(kernel: Kernel) -> "asyncio.Task[None]":
    await turns(1)
    [leader] = [
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__qualname__", "") == "Lane._lead"
    ]
    return leader


async def test_a_failing_attempt_answers_only_its_caller(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Those before and behind it in the batch do not notice."""
    answers = await asyncio.gather(
        realm.commit(POINTER, counting),
        realm.commit(POINTER, refusing),
        realm.commit(POINTER, counting),
        return_exceptions=True,
    )
    [commit] = await history(kernel, realm)

    assert [answers[0], answers[2]] == [1, 2]
    assert str(answers[1]) == "counter is b'1'"
    assert len(commit.groups) == 2


async def test_a_failing_attempt_leaves_no_object_behind(rig: Rig, realm: RealmHandle) -> None:
    """What it staged, marked, noted and discarded is in no row."""

    def attempt(draft: Draft) -> None:
        draft.stage(Thing(text="trace"))
        draft.mark("trace", 1)
        draft.note("trace")
        draft.discard(4711)
        refusing(draft)

    await asyncio.gather(
        realm.commit(POINTER, attempt), realm.commit(POINTER, counting), return_exceptions=True
    )
    after = await snapshot(rig.memory)

    assert after.ids(realm.id, "thing") == set()
    assert not any(b"trace" in row.value for row in after.rows.values())


async def test_who_saw_an_uncommitted_change_waits_for_the_batch(
    rig: Rig, realm: RealmHandle
) -> None:
    """Its error may stem from a change that never happens, so it is not answered early."""
    held = Held(rig)
    first = asyncio.create_task(realm.commit(POINTER, counting))
    second = asyncio.create_task(realm.commit(POINTER, refusing))
    await held.reached.wait()
    await turns(10)
    early = (first.done(), second.done())
    held.let_go.set()
    answers = await asyncio.gather(first, second, return_exceptions=True)

    assert early == (False, False)
    assert answers[0] == 1
    assert str(answers[1]) == "counter is b'1'"


async def test_a_lost_swap_runs_the_whole_batch_again(rig: Rig, realm: RealmHandle) -> None:
    """Every attempt is run on the new head; answers come from there."""
    other = (await rig.open()).realm(realm.id)
    rig.faults.crash_at("before_commit", lambda: other.commit(POINTER, counting))
    answers = await asyncio.gather(
        realm.commit(POINTER, counting),
        realm.commit(POINTER, refusing),
        realm.commit(POINTER, counting),
        return_exceptions=True,
    )

    assert [answers[0], answers[2]] == [2, 3]
    assert str(answers[1]) == "counter is b'2'"
    assert rig.kernels[0].committer.statistics.lost == 1


async def test_a_lost_swap_leaves_no_garbage(rig: Rig, realm: RealmHandle) -> None:
    """On a database with transactions the rows of a loser are not stored."""
    other = (await rig.open()).realm(realm.id)
    rig.faults.crash_at("before_commit", lambda: other.commit(POINTER, counting))
    await realm.commit(POINTER, counting)
    after = await snapshot(rig.memory)

    assert len(after.ids(realm.id, "head")) == 2


async def test_a_full_database_is_told_at_once(rig: Rig, realm: RealmHandle) -> None:
    """Trying again would only keep everybody waiting."""

    async def full() -> None:
        raise DatabaseFull("the store could not be written", why="the disk is full", fix="Free it")

    rig.faults.crash_at("before_commit", full)
    with pytest.raises(DatabaseFull, match="the disk is full"):
        await realm.commit(POINTER, counting)

    assert rig.backend.calls["commit"] == 1
    assert await realm.commit(POINTER, counting) == 1


async def test_a_caller_cancelled_in_the_queue_leaves_no_trace(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """It was not taken yet, so its attempt is never run."""
    held = Held(rig)
    first = asyncio.create_task(realm.commit(POINTER, putting(b"first")))
    await held.reached.wait()
    second = asyncio.create_task(realm.commit(POINTER, putting(b"second")))
    third = asyncio.create_task(realm.commit(POINTER, putting(b"third")))
    await turns(2)
    second.cancel()
    held.let_go.set()
    await asyncio.gather(first, third)

    assert second.cancelled() or second.cancelling()
    assert set(await entries(realm)) == {b"first", b"third"}


async def test_a_caller_cancelled_in_a_batch_does_not_stop_it(rig: Rig, realm: RealmHandle) -> None:
    """Its commit goes on without it, and those of the others."""
    held = Held(rig)
    first = asyncio.create_task(realm.commit(POINTER, putting(b"first")))
    second = asyncio.create_task(realm.commit(POINTER, putting(b"second")))
    await held.reached.wait()
    first.cancel()
    await turns(2)
    held.let_go.set()
    await second

    assert first.cancelled()
    assert set(await entries(realm)) == {b"first", b"second"}


async def test_an_attempt_that_changes_nothing_writes_nothing(rig: Rig, realm: RealmHandle) -> None:
    """The pointer does not move; the answer is given all the same."""

    def attempt(draft: Draft) -> str:
        draft.index(INDEX).put(b"a", b"1")
        return "ok"

    await realm.commit(POINTER, putting(b"a", b"1"))
    before = await snapshot(rig.memory)
    rig.backend.reset()
    answer = await realm.commit(POINTER, attempt)

    assert answer == "ok"
    assert rig.backend.calls == {"read_pointers": 1}
    assert await snapshot(rig.memory) == before


async def test_a_batch_without_changes_writes_nothing(rig: Rig, realm: RealmHandle) -> None:
    """Readers and failures together are no commit."""
    await asyncio.gather(
        realm.commit(POINTER, lambda draft: draft.seq),
        realm.commit(POINTER, refusing),
        return_exceptions=True,
    )

    assert rig.backend.calls["commit"] == 0


async def test_a_coroutine_function_is_refused(rig: Rig, realm: RealmHandle) -> None:
    """The error says what to pass instead."""

    async def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"a", b"")

    with pytest.raises(InvalidInput, match="Pass a plain function"):
        _ = await realm.commit(POINTER, attempt)
    assert rig.backend.calls["commit"] == 0


async def test_a_bare_next_in_an_attempt_hurts_nobody_else(realm: RealmHandle) -> None:
    """`StopIteration` cannot be put into a future; the others are still told the truth."""
    answers = await asyncio.gather(
        realm.commit(POINTER, lambda draft: next(draft.index(INDEX).scan(b"z"))),
        realm.commit(POINTER, counting),
        return_exceptions=True,
    )

    assert isinstance(answers[0], RuntimeError)
    assert answers[1] == 1


async def test_a_cancelled_error_out_of_an_attempt_does_not_stop_the_lane(
    realm: RealmHandle,
) -> None:
    """The leader is not cancelled by what an attempt raises."""

    def attempt(_: Draft) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await realm.commit(POINTER, attempt)
    assert await realm.commit(POINTER, counting) == 1


async def test_commits_work_without_a_cache(rig: Rig, realm: RealmHandle) -> None:
    """Each page is fetched when it is needed; a thousand entries get in and out."""
    node = (await rig.open(cache_bytes=0)).realm(realm.id)
    many = {b"%04d" % number: b"v" * 50 for number in range(1000)}
    await node.commit(POINTER, putting_all(many))
    await node.commit(POINTER, putting(b"0500", b"changed"))
    await node.commit(POINTER, lambda draft: draft.index(INDEX).remove(b"0501"))
    expected = {**many, b"0500": b"changed"}
    del expected[b"0501"]

    assert await entries(realm) == await entries(node) == expected


async def test_a_sealed_pointer_takes_no_more_commits(rig: Rig, realm: RealmHandle) -> None:
    """Neither in the same batch nor later, nor for an attempt that would change nothing."""
    answers = await asyncio.gather(
        realm.commit(POINTER, Draft.seal),
        realm.commit(POINTER, putting(b"a")),
        return_exceptions=True,
    )
    before = await snapshot(rig.memory)
    for attempt in (putting(b"a"), lambda _: None):
        with pytest.raises(PointerSealed, match="Choose another place"):
            await realm.commit(POINTER, attempt)

    assert isinstance(answers[1], PointerSealed)
    assert await snapshot(rig.memory) == before


async def test_a_seal_is_seen_by_other_nodes(rig: Rig, realm: RealmHandle) -> None:
    """The seal is part of the head."""
    other = (await rig.open()).realm(realm.id)
    await other.commit(POINTER, counting)
    await realm.commit(POINTER, Draft.seal)

    with pytest.raises(PointerSealed):
        await other.commit(POINTER, counting)


async def test_who_clears_away_may_change_what_is_sealed(realm: RealmHandle) -> None:
    """It stays sealed for all others, also for those of the same batch."""
    await realm.commit(POINTER, Draft.seal)
    answers = await asyncio.gather(
        realm.commit(POINTER, putting(b"a")),
        realm.commit(POINTER, putting(b"b"), sealed=True),
        realm.commit(POINTER, putting(b"c")),
        return_exceptions=True,
    )

    assert [isinstance(answer, PointerSealed) for answer in answers] == [True, False, True]
    assert await entries(realm) == {b"b": b""}
    assert (await realm.heads(POINTER))[0].head.sealed


async def test_a_missing_pointer_is_named(kernel: Kernel, realm: RealmHandle) -> None:
    """All callers of the batch are told that it has to be created."""
    answers = await asyncio.gather(
        realm.commit("cat/1/roles", counting),
        realm.commit("cat/1/roles", counting),
        return_exceptions=True,
    )

    assert all(isinstance(answer, PointerNotFound) for answer in answers)
    assert answers[0] is not answers[1]


async def test_objects_of_other_programs_can_be_committed(realm: RealmHandle) -> None:
    """A type this program does not know is stored as it came."""
    foreign = Foreign("future", b"\x81\xa1a\x01")

    def attempt(draft: Draft) -> int:
        draft.mark("staged", 1)
        return draft.stage(foreign)

    id = await realm.commit(POINTER, attempt)

    assert await realm.get(id, Foreign) == foreign
