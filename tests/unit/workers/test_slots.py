"""Slots for work that only so many may do at once."""

import asyncio

import pytest

from headgate.errors import Overloaded
from headgate.limits import SLOW_JOB_SECONDS
from headgate.testing.manual_clock import ManualClock
from headgate.workers.slots import Slots, unshared
from headgate.workers.turns import Shares, Tenant

ALICE, CAROL = Tenant("north", "alice"), Tenant("south", "carol")
ONE = Shares(slots=1, per_metalake=1, per_principal=1, slow=1, waiting=2, waiting_per_principal=2)


class Visit:
    """A job that holds its slot until it is told to end."""

    def __init__(self, slots: Slots, tenant: Tenant) -> None:
        self.may_end = asyncio.Event()
        self.is_inside = asyncio.Event()
        self.task = asyncio.create_task(self._stay(slots, tenant))

    async def _stay(self, slots: Slots, tenant: Tenant) -> None:
        async with slots.taken(tenant):
            self.is_inside.set()
            await self.may_end.wait()

    async def end(self) -> None:
        self.may_end.set()
        await self.task


async def visits(slots: Slots, *tenants: Tenant) -> list[Visit]:
    """Jobs of these tenants, in this order; all have asked for a slot."""
    made = [Visit(slots, tenant) for tenant in tenants]
    await asyncio.sleep(0)
    return made


async def served_first(*waiting: Visit) -> Visit:
    """Which of these jobs gets the next slot; then all of them end."""
    while not (inside := [one for one in waiting if one.is_inside.is_set()]):
        await asyncio.sleep(0)
    [first] = inside
    await asyncio.gather(*(one.end() for one in waiting))
    return first


async def test_so_many_are_served_at_once_and_all_in_the_end() -> None:
    """The others wait for their turn."""
    slots = Slots(unshared(2, 10), "a turn")
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
    slots = Slots(unshared(1, 1), "a turn")
    async with slots.taken():
        waiting = asyncio.create_task(slots.taken().__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="waiting for a turn: 1 wait, and 1 are served"):
            await slots.taken().__aenter__()
        waiting.cancel()
        await asyncio.wait([waiting])

    async with slots.taken():
        pass


async def test_a_waiting_request_of_the_tenant_with_the_most_gives_way_to_a_newcomer() -> None:
    """The one is refused while it waits, and the other is served."""
    slots = Slots(ONE, "a turn")
    holder, kept, pushed, newcomer = await visits(slots, ALICE, ALICE, ALICE, CAROL)

    with pytest.raises(Overloaded, match="2 wait, and 1 are served at once"):
        await pushed.task
    for one in (holder, kept, newcomer):
        await one.end()


async def test_a_slot_of_a_request_that_was_given_up_at_that_moment_is_not_lost() -> None:
    """It goes on to the next one."""
    slots = Slots(ONE, "a turn")
    holder, given_up, following = await visits(slots, ALICE, CAROL, CAROL)

    holder.may_end.set()
    await asyncio.sleep(0)  # the slot is handed on, and its new holder does not run yet
    given_up.task.cancel()

    await following.is_inside.wait()
    assert not given_up.is_inside.is_set()
    await following.end()


async def test_a_request_that_was_given_up_is_not_called() -> None:
    """It was cancelled before the slot became free, and has not left the queue yet."""
    slots = Slots(ONE, "a turn")
    holder, given_up, following = await visits(slots, ALICE, CAROL, CAROL)

    holder.may_end.set()
    given_up.task.cancel()

    await following.is_inside.wait()
    await following.end()


@pytest.mark.parametrize(
    ("seconds", "first"), [(SLOW_JOB_SECONDS * 2, CAROL), (SLOW_JOB_SECONDS / 2, ALICE)]
)
async def test_a_tenant_whose_long_job_was_ended_is_served_after_the_others(
    seconds: float, first: Tenant
) -> None:
    """A short job that was ended costs it nothing."""
    clock = ManualClock()
    slots = Slots(ONE, "a turn", clock)
    holder, again, other = await visits(slots, ALICE, ALICE, CAROL)

    clock.advance(seconds * 1_000)
    holder.task.cancel()

    assert await served_first(again, other) is (again if first == ALICE else other)


async def test_a_tenant_whose_long_job_was_done_keeps_its_turn() -> None:
    """Large tables are no offence."""
    clock = ManualClock()
    slots = Slots(ONE, "a turn", clock)
    holder, again, other = await visits(slots, ALICE, ALICE, CAROL)

    clock.advance(2_000 * SLOW_JOB_SECONDS)
    await holder.end()

    assert await served_first(again, other) is again
