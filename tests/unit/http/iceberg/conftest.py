"""What tests of the protocol share: a node on a database in memory, and a temporary folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.catalog.lakes import Node, World, opened_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A database and a warehouse, without nodes."""
    async with opened_world(tmp_path) as world:
        yield world


@pytest.fixture
async def node(world: World) -> Node:
    """A node, with a namespace `a`."""
    node = await world.node()
    await node.namespace("a")
    return node
