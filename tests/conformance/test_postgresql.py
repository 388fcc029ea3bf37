"""The PostgreSQL backend keeps the promises of the port, also behind decorators."""

import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.errors import HeadgateError
from headgate.testing.backend_conformance import BackendConformance
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import FaultyBackend


class TestPostgresql(BackendConformance):
    database = "postgresql"


class TestPostgresqlWithoutFaults(BackendConformance):
    database = "postgresql"
    wrap = FaultyBackend


class TestPostgresqlCounted(BackendConformance):
    database = "postgresql"
    wrap = CountingBackend


class TestPostgresqlBehindPgBouncer(BackendConformance):
    database = "pgbouncer"


async def test_close_after_a_failed_open(postgresql_url: str) -> None:
    """A database that is not there can still be closed, twice."""
    backend = PostgresqlBackend(f"{postgresql_url}_missing")
    with pytest.raises(HeadgateError):
        await backend.open()

    await backend.close()
    await backend.close()
