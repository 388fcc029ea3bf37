"""Places and deadlines."""

import asyncio

from headgate.clock import SystemClock
from headgate.http.admission import Admission


async def serve(admission: Admission, seconds: float) -> str:
    """What a front does with one request."""
    task = asyncio.current_task()
    assert task is not None
    admission.enter(task)
    try:
        await asyncio.sleep(seconds)
        return "served"
    except asyncio.CancelledError:
        if not admission.was_late(task):
            raise
        await asyncio.sleep(0)  # the cancellation is undone: waiting works again
        return "late"
    finally:
        admission.leave(task)


async def test_each_request_has_its_own_deadline() -> None:
    """Those that came later are ended later, by the same timer."""
    admission = Admission(10, 0.1, SystemClock())
    first = asyncio.create_task(serve(admission, 5))
    quick = asyncio.create_task(serve(admission, 0.01))
    await asyncio.sleep(0.06)
    second = asyncio.create_task(serve(admission, 0.08))

    assert await asyncio.gather(*[first, quick, second]) == ["late", "served", "served"]
    assert admission.count == 0


async def test_it_is_full_while_all_places_are_taken() -> None:
    """A place is free again when its request has left."""
    admission = Admission(1, 5, SystemClock())
    only = asyncio.create_task(serve(admission, 0.01))
    await asyncio.sleep(0)
    during = admission.full
    await only

    assert (during, admission.full) == (True, False)
    admission.close()


async def test_stopping_ends_everybody_once() -> None:
    """Saying it twice cancels nobody twice."""
    admission = Admission(10, 5, SystemClock())
    tasks = [asyncio.create_task(serve(admission, 5)) for _ in range(3)]
    await asyncio.sleep(0)
    admission.stop()
    admission.stop()

    assert await asyncio.gather(*tasks) == ["late"] * 3
    admission.close()
    admission.close()


async def test_the_timer_rests_when_nobody_is_there() -> None:
    """And goes on with the next request."""
    admission = Admission(10, 0.02, SystemClock())
    await asyncio.create_task(serve(admission, 0))
    await asyncio.sleep(0.05)

    assert await asyncio.create_task(serve(admission, 5)) == "late"
