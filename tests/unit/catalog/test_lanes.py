"""Lanes: one after the other for the same thing, side by side for others, never in a circle."""

import asyncio

from headgate.catalog.lanes import Lanes
from headgate.testing.kernels import turns


async def test_the_same_thing_is_for_one_at_a_time() -> None:
    """First come, first served."""
    lanes = Lanes()
    order: list[str] = []

    async def use(name: str) -> None:
        async with lanes.enter(["t"]):
            order.append(f"{name} in")
            await turns(3)
            order.append(f"{name} out")

    await asyncio.gather(use("a"), use("b"), use("c"))

    assert order == ["a in", "a out", "b in", "b out", "c in", "c out"]


async def test_different_things_do_not_wait() -> None:
    """And a thing that is named twice does not wait for itself."""
    lanes = Lanes()
    async with lanes.enter(["t", "t"]), lanes.enter(["u"]):
        pass


async def test_nobody_waits_in_a_circle() -> None:
    """Whatever the order is in which things are named."""
    lanes = Lanes()

    async def use(keys: list[str]) -> None:
        async with lanes.enter(keys):
            await turns(3)

    async with asyncio.timeout(5):
        await asyncio.gather(*(use(keys) for keys in (["a", "b"], ["b", "a"]) for _ in range(4)))


async def test_a_lane_that_nobody_uses_is_forgotten() -> None:
    """Also if its last user failed."""
    lanes = Lanes()
    try:
        async with lanes.enter(["t"]):
            raise ValueError
    except ValueError:
        pass

    assert len(lanes._locks) == 0
