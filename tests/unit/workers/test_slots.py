"""Slots for work that only so many may do at once."""

import asyncio

import pytest

from headgate.errors import Overloaded
from headgate.workers.slots import Slots


async def test_so_many_are_served_at_once_and_all_in_the_end() -> None:
    """The others wait for their turn."""
    slots = Slots(2, 10, "a turn")
    inside, most = 0, 0

    async def visit() -> None:
        nonlocal inside, most
        async with slots.taken():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(visit() for _ in range(6)))

    assert (inside, most) == (0, 2)


async def test_whoever_would_wait_behind_too_many_is_refused() -> None:
    """It is told so at once; when the others are through, it may come back."""
    slots = Slots(1, 1, "a turn")
    async with slots.taken():
        waiting = asyncio.create_task(slots.taken().__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="waiting for a turn: 1 wait, and 1 are served"):
            await slots.taken().__aenter__()
        waiting.cancel()
        await asyncio.wait([waiting])

    async with slots.taken():
        pass
