"""What catalog tests share: one node on a database in memory, with files in a temporary folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.catalog.guarded import Guarded, give_owner, guarded_node
from tests.unit.catalog.lakes import Node, World, opened_world
from tests.unit.catalog.staff import hire


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


@pytest.fixture
async def guarded(world: World, node: Node) -> Guarded:
    """A node that checks rights, in a metalake that has an owner."""
    guarded = await guarded_node(world)
    await give_owner(guarded)
    return guarded


@pytest.fixture
async def staffed(node: Node, guarded: Guarded) -> Guarded:
    """The same with a table that ann may read, and bob may not."""
    await node.table()
    await hire(guarded)
    return guarded


@pytest.fixture
async def other(world: World, guarded: Guarded) -> Guarded:
    """Another such node on the same database."""
    return await guarded_node(world)
