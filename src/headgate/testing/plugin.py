"""A pytest plugin: a real catalog server for the tests of other projects.

`headgate_catalog` is a catalog of its own for each test; its server is started once per run.
The plugin is loaded with every run of pytest, so it imports nothing that takes time.
"""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from headgate.testing.headgate_server import HeadgateServer, environment

CONFORMANCE = (
    *("callers", "histories", "kernel_commits", "kernel_crashes", "kernel_indexes", "kernel_logs"),
    *("kernel_objects", "kernel_realms", "network_conformance", "pointer_conformance"),
    *("race_conformance", "row_conformance", "scan_conformance"),
)
"""Modules with assertions of tests: they fail as readably as those in the tests of a project."""

pytest.register_assert_rewrite(*(f"headgate.testing.{name}" for name in CONFORMANCE))

_numbers = itertools.count(1)


class HeadgateCatalog(NamedTuple):
    """How a test reaches its catalog. `load_catalog("test", **catalog.properties)` opens it."""

    uri: str
    """The base of Iceberg's REST protocol."""
    warehouse: str
    """The catalog's name, which clients call their warehouse."""
    location: str
    """Where its tables lie."""

    @property
    def properties(self) -> dict[str, str]:
        """What an Iceberg client needs."""
        return {"type": "rest", "uri": self.uri, "warehouse": self.warehouse}


@pytest.fixture(scope="session")
def headgate_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """A running server with an empty store, in a process of its own, on a port of its own."""
    with HeadgateServer(tmp_path_factory.mktemp("headgate")) as server:
        yield server


@pytest.fixture
def headgate_catalog(headgate_server: HeadgateServer) -> HeadgateCatalog:
    """A new, empty catalog."""
    name = f"test_{next(_numbers)}"
    data = headgate_server.folder / "data"
    create_catalog(name, data)
    location = f"file://{data}/warehouses/default=2E{name}"
    return HeadgateCatalog(headgate_server.iceberg_url, name, location)


def create_catalog(name: str, data: Path) -> None:
    """Make a catalog in this store, whatever store the settings of the user name."""
    command = [
        *(sys.executable, "-m", "headgate", "catalog", "create", name, "--metalake", "default"),
        *("--data", str(data), "--backend", f"sqlite://{quote(str(data / 'headgate.db'))}"),
    ]
    done = subprocess.run(  # noqa: S603  our own command line
        command, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"headgate catalog create ended with {done.returncode}: {done.stderr}")
