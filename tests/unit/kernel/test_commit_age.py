"""How old what a commit stores may be: a sweep deletes what is old and not committed."""

import asyncio
from collections.abc import Callable

import pytest

from headgate.errors import CommitTimedOut, InvalidInput
from headgate.ids import make, time_ms
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import CLOCK_BEHIND_MS_MAX, COMMIT_AGE_MS_MAX
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    SteppedClock,
    Thing,
    entries,
    history,
    putting,
    turns,
)


class TwoHands(SteppedClock):
    """A wall clock and a stopwatch that a test moves apart."""

    def __init__(self) -> None:
        super().__init__()
        self.wall_ahead_ms = 0
        self.stopwatch_ahead_seconds = 0.0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.wall_ahead_ms

    def seconds(self) -> float:
        return super().seconds() + self.stopwatch_ahead_seconds


class Stages:
    """An attempt that stores a thing and then lets something happen, the first times it is run."""

    def __init__(self, happen: Callable[[], object], times: int = 1) -> None:
        self.ids: list[int] = []
        self._happen = happen
        self._times = times

    def __call__(self, draft: Draft) -> int:
        self.ids.append(draft.stage(Thing("thing")))
        draft.index(INDEX).put(b"thing", b"%d" % self.ids[-1])
        if len(self.ids) <= self._times:
            self._happen()
        return self.ids[-1]


def nothing() -> None:
    """What happens to a batch that is not held up."""


def sleep_long(clock: TwoHands) -> None:
    """The machine sleeps, and its stopwatch stands still."""
    clock.wall_ahead_ms += COMMIT_AGE_MS_MAX + 1


def be_stopped(clock: TwoHands) -> None:
    """The process is stopped, and the wall clock is set back to when that began."""
    clock.stopwatch_ahead_seconds += COMMIT_AGE_MS_MAX / 1000 + 1


@pytest.mark.parametrize("hold_up", [sleep_long, be_stopped])
async def test_a_batch_that_was_held_up_is_run_again_with_new_ids(
    rig: Rig, realm: RealmHandle, hold_up: Callable[[TwoHands], None]
) -> None:
    """Whichever of the two clocks shows it; nothing of the first run is stored."""
    clock = TwoHands()
    node = await rig.open(clock=clock)
    attempt = Stages(lambda: hold_up(clock))
    id = await node.realm(realm.id).commit(POINTER, attempt)

    assert attempt.ids == [attempt.ids[0], id]
    assert node.committer.statistics.too_old == 1
    assert node.committer.statistics.swaps == 1
    assert await realm.get(id, Thing) == Thing("thing")
    assert not await rig.memory.fetch(realm.id, attempt.ids[:1])


async def test_a_batch_that_is_as_old_as_it_may_be_is_sent(rig: Rig, realm: RealmHandle) -> None:
    """The bound itself is allowed."""
    attempt = Stages(lambda: rig.clock.advance(COMMIT_AGE_MS_MAX))
    id = await realm.commit(POINTER, attempt)

    assert attempt.ids == [id]


async def test_a_stop_between_two_attempts_of_a_batch_makes_both_run_again(
    rig: Rig, realm: RealmHandle
) -> None:
    """The head would be young and what the first of them stores would be old."""
    other = (await rig.open()).realm(realm.id)
    stored = await other.commit(POINTER, Stages(nothing))
    await realm.commit(POINTER, putting(b"warm"))
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reached.set()
        await let_go.wait()

    rig.faults.crash_at("before_fetch", wait)
    first, second = Stages(nothing), Stages(nothing)

    def reading(draft: Draft) -> int:
        draft.fetch(stored, Thing)
        return second(draft)

    tasks = [asyncio.create_task(realm.commit(POINTER, one)) for one in (first, reading)]
    await reached.wait()
    await rig.pass_time(3 * COMMIT_AGE_MS_MAX)
    let_go.set()
    id, last = await asyncio.gather(*tasks)

    assert first.ids[1:] == [id]
    assert second.ids[-1:] == [last]
    [head] = await realm.heads(POINTER)
    assert time_ms(head.id) - time_ms(id) <= COMMIT_AGE_MS_MAX
    assert time_ms(id) - time_ms(first.ids[0]) > COMMIT_AGE_MS_MAX


async def test_a_batch_is_given_new_time_once(rig: Rig, realm: RealmHandle) -> None:
    """A process that is stopped again and again says in the end that nothing was committed."""

    def be_stopped() -> None:
        rig.clock.advance(COMMIT_AGE_MS_MAX + 1)

    assert await realm.commit(POINTER, Stages(be_stopped))
    with pytest.raises(CommitTimedOut, match="was not made: it was held up for more than 60 s"):
        await realm.commit(POINTER, Stages(be_stopped, times=2))


@pytest.mark.parametrize("behind_ms", [0, CLOCK_BEHIND_MS_MAX])
async def test_clocks_that_differ_by_a_minute_commit_on_each_other(
    rig: Rig, realm: RealmHandle, behind_ms: int
) -> None:
    """That much is tolerated."""
    slow = (await rig.open(clock=SteppedClock(rig.clock.wall_ms()))).realm(realm.id)
    await rig.pass_time(behind_ms)
    await realm.commit(POINTER, putting(b"a"))
    await slow.commit(POINTER, putting(b"b"))

    assert set(await entries(realm)) == {b"a", b"b"}


async def test_a_clock_that_is_further_behind_does_not_commit(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Until it is set right; the reason is told if that takes too long."""
    clock = TwoHands()
    slow = (await rig.open(clock=clock)).realm(realm.id)
    await rig.pass_time(2 * CLOCK_BEHIND_MS_MAX)
    await realm.commit(POINTER, putting(b"a"))
    with pytest.raises(CommitTimedOut, match=r"clock is 1\d\d s behind the newest commit"):
        await slow.commit(POINTER, putting(b"b"))
    assert len(await history(kernel, realm)) == 1

    late = asyncio.create_task(slow.commit(POINTER, putting(b"c")))
    await turns(5)
    clock.wall_ahead_ms = 2 * CLOCK_BEHIND_MS_MAX
    await late
    assert set(await entries(realm)) == {b"a", b"c"}


async def test_the_first_commit_to_a_pointer_is_compared_with_the_list_of_realms(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """An EMPTY pointer has no head that a clock could be behind."""
    slow = (await rig.open(clock=SteppedClock(rig.clock.wall_ms()))).realm(realm.id)
    await rig.pass_time(2 * CLOCK_BEHIND_MS_MAX)
    await slow.commit("grants", putting(b"a"))
    await kernel.realms.create("another")
    with pytest.raises(CommitTimedOut, match="behind the newest commit"):
        await slow.commit(POINTER, putting(b"a"))


@pytest.mark.parametrize("age_ms", [COMMIT_AGE_MS_MAX // 2 + 1, 10 * COMMIT_AGE_MS_MAX])
async def test_an_object_with_an_old_id_is_refused(
    rig: Rig, kernel: Kernel, realm: RealmHandle, age_ms: int
) -> None:
    """Only its own attempt is: others of the batch are committed."""
    old = make(rig.clock.wall_ms() - age_ms, 7, 0)
    other = asyncio.create_task(realm.commit(POINTER, putting(b"other")))
    with pytest.raises(InvalidInput, match=f"its id was made {age_ms // 1000} s ago"):
        await realm.commit(POINTER, lambda draft: draft.stage(Thing(), old))
    await other
    young = make(rig.clock.wall_ms() - COMMIT_AGE_MS_MAX // 2, 7, 0)
    await realm.commit(POINTER, lambda draft: draft.stage(Thing("young"), young))

    assert await realm.get(young, Thing) == Thing("young")
    assert len(await history(kernel, realm)) == 2


@pytest.mark.parametrize("error", [RuntimeError("broken"), asyncio.CancelledError(), SystemExit()])
async def test_a_listener_that_fails_does_not_hide_a_commit(
    kernel: Kernel,
    realm: RealmHandle,
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The commit is made: its callers are told so, the log tells of the listener, and the other
    listeners are told of the commit."""
    told: list[PointerKey] = []

    def fail(_: PointerKey) -> None:
        raise error

    kernel.committer.listeners += [fail, told.append]
    await realm.commit(POINTER, putting(b"a"))

    assert set(await entries(realm)) == {b"a"}
    assert told == [PointerKey(realm.id, POINTER)]
    assert "a listener failed after a commit" in caplog.text
