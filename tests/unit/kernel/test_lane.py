"""Lanes: how attempts wait, share batches, give up, and let other nodes win."""

import asyncio

import pytest

from headgate.errors import Closed, CommitTimedOut, OutcomeUnknown
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import (
    BATCH_ATTEMPTS_MAX,
    BATCH_BYTES_MAX,
    COMMIT_TIMEOUT_SECONDS,
    FAIRNESS_HEADS,
    FAIRNESS_PAUSE_SECONDS_MAX,
    FAIRNESS_PAUSE_SECONDS_MIN,
    IDLE_LANES_MAX,
)
from headgate.testing.faults import Crashed, Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Held,
    Rig,
    SteppedClock,
    Thing,
    entries,
    history,
    putting,
    snapshot,
    turns,
)


def counting(draft: Draft) -> int:
    """An attempt that adds one to a counter, and its new value."""
    value = int(draft.index(INDEX).get(b"counter") or 0) + 1
    draft.index(INDEX).put(b"counter", b"%d" % value)
    return value


async def test_pointers_do_not_wait_for_each_other(rig: Rig, realm: RealmHandle) -> None:
    """Each pointer has a lane of its own."""
    held = Held(rig)
    slow = asyncio.create_task(realm.commit(POINTER, counting))
    await held.reached.wait()
    fast = await realm.commit("grants", counting)
    held.let_go.set()

    assert (fast, await slow) == (1, 1)


async def test_idle_lanes_are_forgotten(rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
    """A process that sees many pointers keeps the lanes in use and drops the others."""
    names = [f"cat/{number}" for number in range(IDLE_LANES_MAX - 1)]  # and `realms`
    await realm.create_pointers(names)
    for name in names:
        await realm.commit(name, counting)
    await turns(2)
    held = Held(rig)
    busy = asyncio.create_task(realm.commit(names[0], counting))
    await held.reached.wait()
    await realm.commit(POINTER, counting)
    kept = {key for key, _ in kernel.committer._lanes}
    held.let_go.set()

    assert await busy == 2
    assert kept == {PointerKey(realm.id, names[0]), PointerKey(realm.id, POINTER)}


async def test_closing_finishes_the_taken_and_refuses_the_waiting(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Whoever is refused knows that nothing was committed."""
    held = Held(rig)
    taken = asyncio.create_task(realm.commit(POINTER, putting(b"taken")))
    await held.reached.wait()
    waiting = asyncio.create_task(realm.commit(POINTER, putting(b"waiting")))
    await turns(2)
    closing = asyncio.create_task(kernel.committer.close())
    await turns(2)
    open_still = not closing.done()
    held.let_go.set()
    await closing
    await taken

    assert open_still
    with pytest.raises(Closed, match="Try again"):
        await waiting
    with pytest.raises(Closed, match="Try another node"):
        await realm.commit(POINTER, putting(b"late"))
    assert set(await entries(realm)) == {b"taken"}


async def test_an_unavailable_database_is_tried_again(rig: Rig, realm: RealmHandle) -> None:
    """A short outage is not the callers' concern."""
    for verb in ("read_pointers", "commit", "commit"):
        rig.faults.schedule(verb, Fault.UNAVAILABLE)
    answer = await realm.commit(POINTER, counting)

    assert answer == 1
    assert rig.clock.slept[:3] == [0.01, 0.02, 0.04]


async def test_a_batch_takes_no_more_attempts_than_it_may(rig: Rig, realm: RealmHandle) -> None:
    """129 callers are two swaps, first come first served."""
    callers = BATCH_ATTEMPTS_MAX + 1
    results = await asyncio.gather(*(realm.commit(POINTER, counting) for _ in range(callers)))

    assert results == list(range(1, callers + 1))
    assert rig.backend.calls["commit"] == 2


async def test_the_size_of_a_batch_is_an_option(rig: Rig, realm: RealmHandle) -> None:
    """One attempt for each swap is what group commit is compared with."""
    alone = (await rig.open(commit=CommitOptions(batch_attempts=1))).realm(realm.id)
    rig.backend.reset()
    await asyncio.gather(*(alone.commit(POINTER, counting) for _ in range(5)))

    assert rig.backend.calls["commit"] == 5


async def test_a_batch_over_its_bytes_leaves_the_rest_to_the_next(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Nobody loses its place: order is kept over the batches."""

    def attempt(draft: Draft) -> int:
        draft.mark("object", draft.stage(Thing(blob=b"x" * 15_000)))
        return counting(draft)

    callers = BATCH_BYTES_MAX // 15_000 + 10
    results = await asyncio.gather(*(realm.commit(POINTER, attempt) for _ in range(callers)))
    commits = await history(kernel, realm)

    assert results == list(range(1, callers + 1))
    assert rig.backend.calls["commit"] == len(commits) == 2
    assert kernel.committer.statistics.attempts >= callers


async def test_who_comes_while_a_batch_is_swapped_shares_the_next(
    rig: Rig, realm: RealmHandle
) -> None:
    """Under load batches grow by themselves."""
    held = Held(rig)
    first = asyncio.create_task(realm.commit(POINTER, counting))
    await held.reached.wait()
    rest = [asyncio.create_task(realm.commit(POINTER, counting)) for _ in range(20)]
    await turns(2)
    held.let_go.set()
    results = await asyncio.gather(first, *rest)

    assert results == list(range(1, 22))
    assert rig.backend.calls["commit"] == 2


async def test_an_attempt_sees_all_that_was_acknowledged_before(
    rig: Rig, realm: RealmHandle
) -> None:
    """Every batch reads its pointer anew, also behind another node."""
    other = (await rig.open()).realm(realm.id)
    results = []
    for _ in range(3):
        results += [await realm.commit(POINTER, counting), await other.commit(POINTER, counting)]

    assert results == [1, 2, 3, 4, 5, 6]
    assert sum(kernel.committer.statistics.lost for kernel in rig.kernels) == 0


async def test_who_waits_too_long_is_told_that_nothing_was_committed(
    rig: Rig, realm: RealmHandle
) -> None:
    """Still in the queue: `CommitTimedOut`, and reading confirms that there is no trace."""
    impatient = (await rig.open(commit=CommitOptions(timeout_seconds=0.02))).realm(realm.id)
    held = Held(rig)
    taken = asyncio.create_task(impatient.commit(POINTER, putting(b"taken")))
    await held.reached.wait()
    waiting = asyncio.create_task(impatient.commit(POINTER, putting(b"waiting")))

    with pytest.raises(CommitTimedOut, match=r"waited 0\.02 s"):
        await waiting
    held.let_go.set()
    await taken
    assert set(await entries(realm)) == {b"taken"}
    assert rig.kernels[1].committer.statistics.timed_out == 1


async def test_a_silent_database_makes_taken_commits_unknown(rig: Rig, realm: RealmHandle) -> None:
    """Answers are lost until the timeout: those in the batch cannot be told more than that."""
    for _ in range(100):
        rig.faults.schedule("commit", Fault.LOST_BEFORE)
    began = rig.clock.seconds()
    answers = await asyncio.gather(
        realm.commit(POINTER, putting(b"a")),
        realm.commit(POINTER, putting(b"b")),
        return_exceptions=True,
    )

    assert all(isinstance(answer, OutcomeUnknown) for answer in answers)
    assert COMMIT_TIMEOUT_SECONDS <= rig.clock.seconds() - began < COMMIT_TIMEOUT_SECONDS + 1
    assert "operation id" in str(answers[0])


async def test_an_outage_beyond_the_timeout_is_certainly_not_committed(
    rig: Rig, realm: RealmHandle
) -> None:
    """The database refused every time, so nothing was applied and the callers are told so."""
    before = await snapshot(rig.memory)
    for _ in range(100):
        rig.faults.schedule("read_pointers", Fault.UNAVAILABLE)
    with pytest.raises(CommitTimedOut, match="a fault was injected"):
        await realm.commit(POINTER, counting)

    assert await snapshot(rig.memory) == before


async def test_who_loses_every_race_gives_up_at_the_timeout(rig: Rig, realm: RealmHandle) -> None:
    """Lost swaps until the deadline are a clear error: nothing was committed."""
    other = (await rig.open()).realm(realm.id)

    def interfere() -> None:
        rig.clock.advance(6000)
        rig.faults.crash_at("after_read_pointers", lambda: other.commit(POINTER, counting))

    def attempt(draft: Draft) -> None:
        interfere()
        draft.index(INDEX).put(b"loser", b"")

    interfere()
    with pytest.raises(CommitTimedOut, match="other nodes changed the same pointer"):
        await realm.commit(POINTER, attempt)
    rig.faults.crash_at("after_read_pointers", lambda: None)

    assert b"loser" not in await entries(other)
    assert rig.kernels[0].committer.statistics.lost >= 2


async def test_a_node_alone_pauses_at_every_eighth_batch_only(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Nobody else is known to want the pointer, but somebody might."""
    for _ in range(3 * FAIRNESS_HEADS):
        await realm.commit(POINTER, counting)
    await turns(3)

    assert len(rig.clock.slept) == kernel.committer.statistics.pauses == 3


async def test_the_winner_pauses_while_another_node_is_in_the_tail(
    rig: Rig, realm: RealmHandle
) -> None:
    """One foreign commit makes the next eight wins polite, and no more."""
    other = (await rig.open()).realm(realm.id)
    await other.commit(POINTER, counting)
    await turns(3)
    rig.clock.slept.clear()
    pauses = []
    for _ in range(FAIRNESS_HEADS + 3):
        await realm.commit(POINTER, counting)
        await turns(3)
        pauses.append(len(rig.clock.slept))

    assert pauses[:FAIRNESS_HEADS] == list(range(1, FAIRNESS_HEADS + 1))
    assert pauses[-1] == FAIRNESS_HEADS


@pytest.mark.parametrize(
    ("read_seconds", "pause_seconds"),
    [(0.0, FAIRNESS_PAUSE_SECONDS_MIN), (0.02, 0.03), (9.0, FAIRNESS_PAUSE_SECONDS_MAX)],
)
async def test_a_pause_is_as_long_as_a_reading_of_the_loser(
    rig: Rig, realm: RealmHandle, read_seconds: float, pause_seconds: float
) -> None:
    """One and a half times the own reading, within its bounds."""
    for _ in range(FAIRNESS_HEADS - 1):
        await realm.commit(POINTER, counting)
    rig.faults.crash_at("before_read_pointers", lambda: rig.clock.advance(read_seconds * 1000))
    await realm.commit(POINTER, counting)
    await turns(3)

    assert rig.clock.slept == [pytest.approx(pause_seconds)]


async def test_statistics_tell_what_was_done(kernel: Kernel, realm: RealmHandle) -> None:
    """Attempts, batches and swaps are counted apart."""
    before = kernel.committer.statistics
    attempts, batches, swaps = before.attempts, before.batches, before.swaps
    await asyncio.gather(*(realm.commit(POINTER, counting) for _ in range(10)))
    await realm.commit(POINTER, lambda _: None)
    after = kernel.committer.statistics

    assert after.attempts - attempts == 11
    assert after.batches - batches == 2
    assert after.swaps - swaps == 1


async def test_a_leader_that_dies_leaves_nobody_waiting(rig: Rig, realm: RealmHandle) -> None:
    """Its callers are cancelled, and the next one gets a new leader."""
    rig.faults.crash_at("before_commit")
    with pytest.raises(asyncio.CancelledError):
        await realm.commit(POINTER, counting)
    lanes = {key: lane for (key, _), lane in rig.kernels[0].committer._lanes.items()}
    leader = lanes[PointerKey(realm.id, POINTER)].leader

    assert leader is not None
    assert isinstance(leader.exception(), Crashed)
    assert await realm.commit(POINTER, counting) == 1


async def test_who_has_gone_does_not_time_out(rig: Rig, realm: RealmHandle) -> None:
    """Statistics count those who were told."""
    node = await rig.open(commit=CommitOptions(timeout_seconds=0.01))
    held = Held(rig)
    taken = asyncio.create_task(node.realm(realm.id).commit(POINTER, counting))
    await held.reached.wait()
    waiting = asyncio.create_task(node.realm(realm.id).commit(POINTER, counting))
    await turns(2)
    waiting.cancel()
    await asyncio.sleep(0.02)
    held.let_go.set()
    await taken

    assert node.committer.statistics.timed_out == 0


async def test_many_who_wait_too_long_are_told_each_in_time(rig: Rig, realm: RealmHandle) -> None:
    """One timer serves them all."""
    node = await rig.open(commit=CommitOptions(timeout_seconds=0.01))
    held = Held(rig)
    taken = asyncio.create_task(node.realm(realm.id).commit(POINTER, counting))
    await held.reached.wait()
    waiting = []
    for _ in range(3):
        waiting.append(asyncio.create_task(node.realm(realm.id).commit(POINTER, counting)))
        await asyncio.sleep(0.004)
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    held.let_go.set()
    await taken

    assert all(isinstance(answer, CommitTimedOut) for answer in answers)
    assert await realm.commit(POINTER, counting) == 2


async def test_time_does_not_go_back_along_the_log(rig: Rig, realm: RealmHandle) -> None:
    """A commit on the head of a clock that is ahead has that head's time at least."""
    fast = SteppedClock(rig.clock.wall_ms() + 60_000)
    ahead = (await rig.open(clock=fast)).realm(realm.id)
    times = [await ahead.commit(POINTER, stamping), await realm.commit(POINTER, stamping)]

    assert times[0] <= times[1]


def stamping(draft: Draft) -> int:
    """An attempt that tells its time."""
    counting(draft)
    return draft.now_ms


async def test_listeners_hear_of_a_move_before_who_made_it_is_answered(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Whoever is answered finds nothing that is older; what changes nothing moves nothing."""
    heard: list[str] = []
    kernel.committer.listeners.append(lambda key: heard.append(f"moved {key.name}"))

    async def commit() -> None:
        await realm.commit(POINTER, counting)
        heard.append("answered")

    await asyncio.gather(commit(), commit())
    await realm.commit(POINTER, lambda _draft: None)

    assert heard == [f"moved {POINTER}", "answered", "answered"]


async def test_listeners_hear_of_a_move_that_may_have_happened(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Nobody knows, so what they know of the pointer is worth nothing."""
    heard: list[PointerKey] = []
    kernel.committer.listeners.append(heard.append)
    for _ in range(200):
        rig.faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown):
        await realm.commit(POINTER, counting)

    assert heard == [PointerKey(realm.id, POINTER)]
