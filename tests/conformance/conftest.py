"""Nodes on a database for each conformance class: it names the database and a decorator."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.kernel.backend import Backend
from headgate.testing.pgbouncer import PgBouncer
from headgate.testing.postgresql import PostgresqlServer

Maker = Callable[[], Backend]
Wrap = Callable[[Backend], Backend]


@pytest.fixture(scope="class")
def postgresql_url(postgresql_server: PostgresqlServer) -> str:
    """One database for each class; each test has realms of its own."""
    return postgresql_server.create_database()


@pytest.fixture(scope="class")
def pgbouncer_url(postgresql_server: PostgresqlServer, postgresql_url: str) -> Iterator[str]:
    """The same database, behind a pooler in session mode."""
    with PgBouncer(postgresql_server.port, default_pool_size=100) as bouncer:
        yield bouncer.through(postgresql_url)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The database that the test's class names."""
    name: str = request.cls.database
    return name


@pytest.fixture
def wrap(request: pytest.FixtureRequest) -> Wrap:
    """The decorator that the test's class names, if any."""
    decorator: Wrap = getattr(request.cls, "wrap", _plain)
    return decorator


@pytest.fixture
def another(request: pytest.FixtureRequest, database: str, wrap: Wrap, tmp_path: Path) -> Maker:
    """Makes nodes on the test's database, not opened."""
    make = _maker(request, database, tmp_path)
    return lambda: wrap(make())


def _maker(request: pytest.FixtureRequest, database: str, folder: Path) -> Maker:
    if database == "memory":
        shared = MemoryBackend()
        return lambda: shared
    if database == "sqlite":
        return partial(SqliteBackend, folder / "store.db")
    return partial(PostgresqlBackend, request.getfixturevalue(f"{database}_url"))


@pytest.fixture
async def backend(another: Maker) -> AsyncIterator[Backend]:
    """One node."""
    async with _opened(another()) as node:
        yield node


@pytest.fixture
async def second(backend: Backend, another: Maker) -> AsyncIterator[Backend]:
    """Another node."""
    async with _opened(another()) as node:
        yield node


def _plain(backend: Backend) -> Backend:
    return backend


@asynccontextmanager
async def _opened(backend: Backend) -> AsyncIterator[Backend]:
    await backend.open()
    try:
        yield backend
    finally:
        await backend.close()
