"""Iceberg's own REST Compatibility Kit, every test that it can run."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.postgresql import PostgresqlServer
from headgate.testing.rck import run_kit

EXECUTED = 147  # of 157: ten are never run by the kit against a server of others
LOCATIONS = "file:///tmp"  # the kit asks for fixed places below it


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a server, outside of the places that the kit asks for."""
    with TemporaryDirectory(dir="/var/tmp") as path:
        yield Path(path)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_compatibility_kit_passes(
    database: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    """All 147 tests that the kit can execute are executed, and pass."""
    options = ["--set", f"bootstrap.allowed-locations={LOCATIONS}"]
    if database == "postgresql":
        server: PostgresqlServer = request.getfixturevalue("postgresql_server")
        options += ["--backend", server.create_database()]

    with HeadgateServer(folder, *options) as headgate:
        result = run_kit(headgate.iceberg_url, "main")

    assert dict(result.failed) == {}
    assert (result.executed, len(result.passed)) == (EXECUTED, EXECUTED)
