"""Leases of node ids that somebody objects to: no id is made under them."""

from collections.abc import AsyncIterator

import pytest

from headgate.errors import NewerFormat
from headgate.limits import LEASE_MS, LEASE_RENEW_MS
from headgate.testing.kernels import Rig, turns
from tests.unit.kernel.test_leases import Process


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is everybody's."""
    async with Rig() as rig:
        yield rig


@pytest.fixture
def process(rig: Rig) -> Process:
    """A process without a lease."""
    return Process(rig, 1, rig.clock)


async def test_an_objection_ends_the_lease(rig: Rig, process: Process) -> None:
    """The format has moved on: this process makes no more ids, and takes no other node."""

    async def object_to_it() -> None:
        raise NewerFormat("too old", why="a test", fix="Upgrade")

    await process.leases.start(object_to_it)
    await turns(1)
    for _ in range(3):
        rig.clock.advance(LEASE_RENEW_MS)
        await turns(3)

    assert process.ids.node is None
    await process.leases.stop()


async def test_a_lease_that_is_objected_to_is_given_back(rig: Rig, process: Process) -> None:
    """One that takes the place of a lost one is not used before it is confirmed."""

    async def object_to_it() -> None:
        raise NewerFormat("another one changed something", why="a test", fix="Look")

    await process.leases.acquire()
    process.leases.confirm_by(object_to_it)
    rig.clock.advance(2 * LEASE_MS)

    with pytest.raises(NewerFormat):
        await process.leases.renew()
    rig.clock.advance(1_000)
    assert process.ids.node is None
    assert await process.leases.live() == []
