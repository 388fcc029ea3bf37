"""What tests of the sweep share: a database in memory, one node, and one realm."""

from collections.abc import AsyncIterator

import pytest

from headgate.testing.kernels import Rig
from tests.unit.maintenance.stores import Sweeper
from tests.unit.maintenance.stores import sweeper as open_sweeper


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database without nodes."""
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def store(rig: Rig) -> Sweeper:
    """A node and a realm on it."""
    return await open_sweeper(rig)
