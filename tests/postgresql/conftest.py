"""A database, a backend and a way to look past it, for each test."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.testing.postgresql import PostgresqlServer


@pytest.fixture
def database_url(postgresql_server: PostgresqlServer) -> str:
    """A new, empty database."""
    return postgresql_server.create_database()


@pytest.fixture
async def backend(database_url: str) -> AsyncIterator[PostgresqlBackend]:
    """A backend on the test's database, opened."""
    backend = PostgresqlBackend(database_url)
    await backend.open()
    yield backend
    await backend.close()


@pytest.fixture
async def onlooker(database_url: str) -> AsyncIterator[Any]:
    """A plain connection to the test's database."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()
