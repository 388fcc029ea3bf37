"""Nodes that check rights. SQLite needs a folder, PostgreSQL the server that all tests share."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.testing.kernels import Rig
from tests.authorization.guarded import (
    CountedRig,
    GuardedNode,
    GuardedWorld,
    StoreRig,
    guarded_world,
)


@pytest.fixture
def make_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Rig]:
    """Makes a database of a kind: what runs on it is closed by the world that uses it."""

    def make(database: str) -> Rig:
        if database == "memory":
            return CountedRig()
        if database == "sqlite":
            return StoreRig(lambda: SqliteBackend(tmp_path / "store.db"))
        url = request.getfixturevalue("postgresql_server").create_database()
        return StoreRig(lambda: PostgresqlBackend(url))

    return make


@pytest.fixture
async def world(make_rig: Callable[[str], Rig], tmp_path: Path) -> AsyncIterator[GuardedWorld]:
    """A database in memory and a warehouse, without nodes."""
    async with guarded_world(make_rig("memory"), tmp_path) as world:
        yield world


@pytest.fixture
async def node(world: GuardedWorld) -> GuardedNode:
    """A node that checks rights."""
    return await world.guarded()


@pytest.fixture(params=["sqlite", "postgresql"])
async def stored_world(
    request: pytest.FixtureRequest, make_rig: Callable[[str], Rig], tmp_path: Path
) -> AsyncIterator[GuardedWorld]:
    """The same on each real database."""
    async with guarded_world(make_rig(request.param), tmp_path) as world:
        yield world
