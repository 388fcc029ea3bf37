"""What tests of Gravitino share: nodes on a database in memory, asked without sockets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.catalog.lakes import World, opened_world
from tests.unit.http.gravitino.control import Control, guarded_node, open_node


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A database and a warehouse, without nodes."""
    async with opened_world(tmp_path) as world:
        yield world


@pytest.fixture
async def control(world: World) -> Control:
    """A node where everybody may do everything, with the metalake `default` and its `main`."""
    return await open_node(world)


@pytest.fixture
async def guarded(world: World) -> Control:
    """A node that checks rights; `root` is its service admin, and the owner of `default`."""
    return await guarded_node(world)
