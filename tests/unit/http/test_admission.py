"""Places and deadlines."""

import asyncio

import pytest

from headgate.http.admission import Admission, Deadlines
from headgate.testing.manual_clock import ManualClock

SECONDS = 0.01
"""Of the timer, which looks at the manual clock: how long it really takes does not matter."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def serve(deadlines: Deadlines, clock: ManualClock, done: asyncio.Event) -> str:
    """What a front does with one request."""
    task = asyncio.current_task()
    assert task is not None
    deadlines.enter(task, clock.seconds())
    try:
        await done.wait()
        return "served"
    except asyncio.CancelledError:
        if not deadlines.was_late(task):
            raise
        await asyncio.sleep(0)  # the cancellation is undone: waiting works again
        return "late"
    finally:
        deadlines.leave(task)


async def test_each_request_has_its_own_deadline(clock: ManualClock) -> None:
    """A request that began later is ended later, by the same timer."""
    deadlines, never, done = Deadlines(SECONDS, clock), asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(serve(deadlines, clock, never))
    await asyncio.sleep(0)
    clock.advance(SECONDS * 1000 - 1)
    second = asyncio.create_task(serve(deadlines, clock, done))
    await asyncio.sleep(0)
    clock.advance(1)

    assert await first == "late"
    assert not second.done()
    done.set()
    assert await second == "served"
    assert deadlines.count == 0
    deadlines.close()


def test_it_is_full_while_all_places_are_taken() -> None:
    """A place is free again when its request has left."""
    admission = Admission(1)
    before = admission.full
    admission.enter("ann")
    during = admission.full
    admission.leave("ann")

    assert (before, during, admission.full) == (False, True, False)


def test_one_principal_leaves_places_for_others() -> None:
    """A quarter of the places is for others, who get all that are left."""
    admission = Admission(8)
    for _ in range(6):
        admission.enter("ann")

    assert admission.is_full_for("ann")
    assert not admission.is_full_for("bob")

    admission.enter("bob")
    admission.enter("bob")

    assert admission.is_full_for("bob")
    assert admission.full

    admission.leave("ann")

    assert not admission.is_full_for("ann")
    assert not admission.is_full_for("bob")


async def test_stopping_ends_everybody_once(clock: ManualClock) -> None:
    """Saying it twice cancels nobody twice."""
    deadlines, never = Deadlines(SECONDS, clock), asyncio.Event()
    tasks = [asyncio.create_task(serve(deadlines, clock, never)) for _ in range(3)]
    await asyncio.sleep(0)
    deadlines.stop()
    deadlines.stop()

    assert await asyncio.gather(*tasks) == ["late"] * 3
    deadlines.close()
    deadlines.close()


async def test_a_cancellation_from_outside_is_obeyed(clock: ManualClock) -> None:
    """It is not taken for the end of a request's time."""
    deadlines = Deadlines(SECONDS, clock)
    task = asyncio.create_task(serve(deadlines, clock, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert deadlines.count == 0
    deadlines.close()


async def test_the_timer_rests_when_nobody_is_there(clock: ManualClock) -> None:
    """And goes on with the next request."""
    deadlines, done = Deadlines(SECONDS, clock), asyncio.Event()
    done.set()
    await asyncio.create_task(serve(deadlines, clock, done))
    clock.advance(SECONDS * 1000)
    while deadlines._timer is not None:
        await asyncio.sleep(0)

    late = asyncio.create_task(serve(deadlines, clock, asyncio.Event()))
    await asyncio.sleep(0)
    clock.advance(SECONDS * 1000)
    assert await late == "late"
