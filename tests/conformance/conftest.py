"""Nodes on a database for each conformance class: it names the database and a decorator."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    "headgate.testing.histories",
    "headgate.testing.pointer_conformance",
    "headgate.testing.race_conformance",
    "headgate.testing.row_conformance",
    "headgate.testing.scan_conformance",
)

from headgate.backends.memory import MemoryBackend  # noqa: E402 - after the registration
from headgate.backends.postgresql.backend import PostgresqlBackend  # noqa: E402
from headgate.backends.sqlite.backend import SqliteBackend  # noqa: E402
from headgate.kernel.backend import Backend  # noqa: E402
from headgate.testing.postgresql import PostgresqlServer  # noqa: E402

Maker = Callable[[], Backend]
Wrap = Callable[[Backend], Backend]


@pytest.fixture(scope="class")
def postgresql_url(postgresql_server: PostgresqlServer) -> str:
    """One database for each class; each test has realms of its own."""
    return postgresql_server.create_database()


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
    make: Maker
    if database == "memory":
        shared = MemoryBackend()
        make = lambda: shared  # noqa: E731 - its siblings are calls
    elif database == "sqlite":
        make = lambda: SqliteBackend(tmp_path / "store.db")  # noqa: E731
    else:
        url = request.getfixturevalue("postgresql_url")
        make = lambda: PostgresqlBackend(url)  # noqa: E731
    return lambda: wrap(make())


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
