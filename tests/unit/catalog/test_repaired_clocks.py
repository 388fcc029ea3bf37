"""What is decided by the order of ids, in a store in which some lie in the future."""

from collections.abc import AsyncIterator

import pytest

from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.identities import IDENTITIES_KEY, current_head, dropped_at
from headgate.catalog.identity_groups import create_group, drop_group
from headgate.catalog.identity_users import drop_user, vouch_for
from headgate.catalog.naming import GROUPS, USERS
from headgate.ids import time_ms
from headgate.testing.kernels import Rig, SteppedClock
from tests.unit.catalog.keeping import Keeper, keeper

YEAR_MS = 365 * 86_400_000


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def node(rig: Rig) -> Keeper:
    """A node that keeps a user and a group."""
    node = await keeper(rig)
    await vouch_for(node.kernel, "ann")
    await create_group(node.kernel, "staff")
    return node


async def dropped(node: Keeper) -> list[int]:
    """Drop both, and the ids that say when that was."""
    await drop_user(node.kernel, "ann")
    await drop_group(node.kernel, "staff")
    head = await current_head(node.kernel)
    return [*await dropped_at(head, USERS, ["ann"]), *await dropped_at(head, GROUPS, ["staff"])]


async def test_a_membership_from_the_future_is_not_that_of_a_later_user(
    rig: Rig, node: Keeper
) -> None:
    """A node a year ahead gave the membership its id; whoever gets the name later has none of
    it."""
    clock = SteppedClock(rig.clock.wall_ms() + YEAR_MS)
    ahead = await rig.open(clock=clock, types=CATALOG_TYPES)
    await ahead.realms.create("acme")
    membership = ahead.ids.next()
    repair = node.kernel.clock_repair
    await repair.apply(await repair.find([IDENTITIES_KEY]))

    assert all(one > membership for one in await dropped(node))


async def test_a_drop_has_the_time_at_which_it_was_made(rig: Rig, node: Keeper) -> None:
    """Where no id lies in the future, a later user is a member as soon as it is added."""
    assert all(time_ms(one) <= rig.clock.wall_ms() for one in await dropped(node))
