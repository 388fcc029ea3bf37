"""The SQLite backend keeps the promises of the port, also behind decorators."""

from pathlib import Path

import pytest

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.errors import HeadgateError
from headgate.testing.backend_conformance import BackendConformance
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import FaultyBackend


class TestSqlite(BackendConformance):
    database = "sqlite"


class TestSqliteWithoutFaults(BackendConformance):
    database = "sqlite"
    wrap = FaultyBackend


class TestSqliteCounted(BackendConformance):
    database = "sqlite"
    wrap = CountingBackend


async def test_close_after_a_failed_open(tmp_path: Path) -> None:
    """A store that cannot be opened can still be closed, twice."""
    backend = SqliteBackend(tmp_path)
    with pytest.raises(HeadgateError):
        await backend.open()

    await backend.close()
    await backend.close()
