"""Swaps whose answer is lost: the truth is found out, exactly once, and nothing is deleted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from headgate.errors import CommitTimedOut, OutcomeUnknown, PointerNotFound
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Held,
    Rig,
    Thing,
    entries,
    history,
    putting,
    snapshot,
    turns,
)

DELETING = ("delete", "remove", "delete_pointers", "delete_realm")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database with two nodes and one realm."""
    async with Rig() as rig:
        await rig.open()
        await rig.open()
        yield rig


@pytest.fixture
def other(rig: Rig, realm: RealmHandle) -> RealmHandle:
    """The realm on the second node."""
    return rig.kernels[1].realm(realm.id)


def counting(draft: Draft) -> int:
    """An attempt that adds one to a counter, and its new value."""
    value = int(draft.index(INDEX).get(b"counter") or 0) + 1
    draft.index(INDEX).put(b"counter", b"%d" % value)
    return value


def before_resending(rig: Rig, action: Callable[[], Awaitable[object]]) -> None:
    """Let this happen after the first answer was lost and before the swap is sent again."""
    rig.faults.crash_at("before_commit", action, skip=1)


async def lose_answer(rig: Rig, realm: RealmHandle, fault: Fault) -> int:
    """A commit of the first node whose first answer meets this fault."""
    rig.faults.schedule("commit", fault)
    return await realm.commit(POINTER, counting)


@pytest.mark.parametrize(
    "fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE, Fault.DUPLICATE]
)
@pytest.mark.parametrize("again", [None, Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_a_lost_answer_is_found_out_exactly_once(
    rig: Rig, kernel: Kernel, realm: RealmHandle, fault: Fault, again: Fault | None
) -> None:
    """Whatever happened to the request: the right answer, one commit, and no deletion."""
    rig.faults.schedule("commit", fault)
    if again is not None:
        rig.faults.schedule("commit", again)
    answer = await realm.commit(POINTER, counting)
    await rig.faults.settle()
    later = await realm.commit(POINTER, counting)
    await rig.faults.settle()

    assert (answer, later) == (1, 2)
    assert len(await history(kernel, realm)) == 2
    assert [rig.backend.calls[verb] for verb in DELETING] == [0, 0, 0, 0]


@pytest.mark.parametrize("commits", [1, 25])
async def test_a_commit_others_have_built_on_is_found_in_the_history(
    rig: Rig, kernel: Kernel, realm: RealmHandle, other: RealmHandle, commits: int
) -> None:
    """It was applied and the pointer has moved on, also further than one head remembers."""

    async def build_on() -> None:
        for _ in range(commits):
            await other.commit(POINTER, counting)

    before_resending(rig, build_on)
    answer = await lose_answer(rig, realm, Fault.LOST_AFTER)

    assert answer == 1
    assert [commit.seq for commit in await history(kernel, realm)] == list(range(1, commits + 2))
    assert await entries(realm) == {b"counter": b"%d" % (commits + 1)}


@pytest.mark.parametrize("commits", [1, 25])
async def test_a_commit_that_others_overtook_is_made_again(
    rig: Rig, realm: RealmHandle, other: RealmHandle, commits: int
) -> None:
    """It was never applied and never can be: the attempt is run on the new head."""

    async def overtake() -> None:
        for _ in range(commits):
            await other.commit(POINTER, counting)

    before_resending(rig, overtake)
    answer = await lose_answer(rig, realm, Fault.LOST_BEFORE)

    assert answer == commits + 1
    assert await entries(realm) == {b"counter": b"%d" % (commits + 1)}


async def test_a_late_swap_of_an_overtaken_commit_changes_nothing(
    rig: Rig, kernel: Kernel, realm: RealmHandle, other: RealmHandle
) -> None:
    """The request arrives after the race was decided, and finds another value."""
    before_resending(rig, lambda: other.commit(POINTER, counting))
    answer = await lose_answer(rig, realm, Fault.LATE)
    await rig.faults.settle()

    assert answer in {1, 2}
    assert len(await history(kernel, realm)) == 2
    assert await entries(realm) == {b"counter": b"2"}


async def test_a_whole_batch_is_found_out_together(
    rig: Rig, realm: RealmHandle, other: RealmHandle
) -> None:
    """All callers of the batch get the result of the one commit that was made."""
    before_resending(rig, lambda: other.commit(POINTER, counting))
    rig.faults.schedule("commit", Fault.LOST_AFTER)
    answers = await asyncio.gather(*(realm.commit(POINTER, counting) for _ in range(10)))

    assert answers == list(range(1, 11))
    assert await entries(realm) == {b"counter": b"11"}


async def test_reading_is_tried_again_too(rig: Rig, realm: RealmHandle, other: RealmHandle) -> None:
    """An outage while the history is looked up only takes time."""

    async def overtake() -> None:
        await other.commit(POINTER, counting)
        rig.faults.schedule("read_pointers", Fault.UNAVAILABLE)
        rig.faults.schedule("commit", Fault.UNAVAILABLE)

    await turns(3)
    before_resending(rig, overtake)
    answer = await lose_answer(rig, realm, Fault.LOST_AFTER)

    assert answer == 1
    assert await entries(realm) == {b"counter": b"2"}


async def test_a_history_cut_meanwhile_leaves_the_outcome_unknown(
    rig: Rig, realm: RealmHandle, other: RealmHandle
) -> None:
    """Nobody can tell any more, so that is said, at once and with the reason."""

    async def overtake_and_cut() -> None:
        for _ in range(45):
            await other.commit(POINTER, counting)
        commits = await history(rig.kernels[1], other)
        await rig.memory.delete(realm.id, [commit.id for commit in commits[:-1]])

    before_resending(rig, overtake_and_cut)
    began = rig.clock.seconds()
    with pytest.raises(OutcomeUnknown, match="history of that time is cut"):
        await lose_answer(rig, realm, Fault.LOST_AFTER)

    assert rig.clock.seconds() - began < 5


async def test_a_pointer_deleted_meanwhile_is_reported(rig: Rig, realm: RealmHandle) -> None:
    """Its realm was purged: whatever was committed is gone with it."""
    key = PointerKey(realm.id, POINTER)
    before_resending(rig, lambda: rig.memory.delete_pointers([key]))
    with pytest.raises(PointerNotFound):
        await lose_answer(rig, realm, Fault.LOST_AFTER)


async def test_a_pointer_deleted_while_it_is_looked_up_is_reported(
    rig: Rig, realm: RealmHandle, other: RealmHandle
) -> None:
    """It is gone between the second swap and the reading."""
    key = PointerKey(realm.id, POINTER)

    async def overtake() -> None:
        await other.commit(POINTER, counting)
        await turns(3)
        rig.faults.crash_at("before_read_pointers", lambda: rig.memory.delete_pointers([key]))

    before_resending(rig, overtake)
    with pytest.raises(PointerNotFound):
        await lose_answer(rig, realm, Fault.LOST_AFTER)


async def test_a_silent_database_deletes_nothing(rig: Rig, realm: RealmHandle) -> None:
    """The swap was applied and every answer lost: the commit stays whole and readable."""

    def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"%d" % draft.stage(Thing(text="kept")), b"")

    for _ in range(100):
        rig.faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown, match="stopped answering"):
        await realm.commit(POINTER, attempt)
    fresh = (await rig.open()).realm(realm.id)
    [id] = await entries(fresh)

    assert (await fresh.get(int(id), Thing)).text == "kept"
    assert [rig.backend.calls[verb] for verb in DELETING] == [0, 0, 0, 0]


async def test_the_queue_behind_an_unknown_swap_is_certainly_not_committed(
    rig: Rig, realm: RealmHandle
) -> None:
    """Unknown for those in the batch, `CommitTimedOut` for those behind it, and that is true."""
    node = (await rig.open(commit=CommitOptions(timeout_seconds=0.02))).realm(realm.id)
    held = Held(rig)
    for _ in range(100):
        rig.faults.schedule("commit", Fault.LOST_BEFORE)
    taken = asyncio.create_task(node.commit(POINTER, putting(b"taken")))
    await held.reached.wait()
    waiting = asyncio.create_task(node.commit(POINTER, putting(b"waiting")))
    with pytest.raises(CommitTimedOut):
        await waiting
    held.let_go.set()
    with pytest.raises(OutcomeUnknown):
        await taken

    assert await entries(realm) == {}


async def test_after_an_unknown_outcome_the_lane_goes_on(rig: Rig, realm: RealmHandle) -> None:
    """The next caller reads the pointer and finds what is true."""
    for _ in range(100):
        rig.faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown):
        await realm.commit(POINTER, counting)
    while rig.faults.draw("commit"):
        pass

    assert await realm.commit(POINTER, counting) == 2


async def test_what_was_just_committed_is_in_the_cache(rig: Rig, realm: RealmHandle) -> None:
    """Reading one's own commit costs no fetch."""
    await realm.commit(POINTER, counting)
    rig.backend.reset()
    found = await entries(realm)

    assert found == {b"counter": b"1"}
    assert rig.backend.calls == {"read_pointers": 1}


async def test_what_was_lost_is_not_in_the_cache(
    rig: Rig, kernel: Kernel, realm: RealmHandle, other: RealmHandle
) -> None:
    """Objects of a lost swap are stored nowhere, so they must not be found."""
    staged = []

    def attempt(draft: Draft) -> None:
        staged.append(draft.stage(Thing()))
        counting(draft)

    rig.faults.crash_at("before_commit", lambda: other.commit(POINTER, counting))
    await realm.commit(POINTER, attempt)
    stored = (await snapshot(rig.memory)).ids(realm.id, "thing")

    assert len(staged) == 2
    assert stored == {staged[1]}
    assert kernel.store.find(realm.id, staged[0]) is None


async def test_any_error_after_a_lost_answer_leaves_the_outcome_unknown(
    rig: Rig, realm: RealmHandle
) -> None:
    """The swap was sent: whatever happens then, nobody is told that it was not made."""

    async def break_down() -> None:
        message = "the driver is broken"
        raise OSError(message)

    before_resending(rig, break_down)
    with pytest.raises(OutcomeUnknown, match="the driver is broken"):
        await lose_answer(rig, realm, Fault.LOST_AFTER)

    assert await entries(realm) == {b"counter": b"1"}
