"""Replies of PostgreSQL that break, vanish or come late."""

from collections.abc import AsyncIterator

import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.testing.cut_proxy import CutProxy
from headgate.testing.network_conformance import (
    COMMAND_TIMEOUT_SECONDS,
    LATE_SECONDS,
    NetworkConformance,
    prime,
)
from headgate.testing.postgresql import PostgresqlServer


@pytest.fixture(name="proxy")
async def _proxy(postgresql_server: PostgresqlServer) -> AsyncIterator[CutProxy]:
    async with CutProxy(postgresql_server.port, late_seconds=LATE_SECONDS) as proxy:
        yield proxy


@pytest.fixture(name="faulty")
async def _faulty(
    proxy: CutProxy, database_url: str, postgresql_server: PostgresqlServer
) -> AsyncIterator[PostgresqlBackend]:
    """A backend behind the proxy, with one connection on which every statement was prepared."""
    backend = PostgresqlBackend(
        database_url.replace(str(postgresql_server.port), str(proxy.port)),
        command_timeout_seconds=COMMAND_TIMEOUT_SECONDS,
        connections_max=1,
    )
    await backend.open()
    await prime(backend)
    yield backend
    proxy.mode = "pass"
    await backend.close()


class TestPostgresql(NetworkConformance):
    """The shared suite, through the faulty network."""
