"""What tests of authentication share: a node on a database in memory, and providers' keys."""

from collections.abc import AsyncIterator

import pytest

from headgate.testing.kernels import Rig
from tests.unit.catalog.keeping import Keeper, keeper


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database in memory."""
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def node(rig: Rig) -> Keeper:
    """A node that has a key to sign with."""
    node = await keeper(rig)
    await node.keys.ensure()
    return node
