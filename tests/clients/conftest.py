"""Real clients with real files against `headgate serve`; Spark needs Java 17."""

import itertools
import json
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.testing.headgate_server import HeadgateServer

JSON_LOG = ("--set", "log.format=json", "--set", "log.level=info")
_numbers = itertools.count(1)


def troubles(server: HeadgateServer) -> list[str]:
    """The lines of a server's log (JSON_LOG) that tell of an error of its own."""
    return [line for line in server.said().splitlines() if is_trouble(line)]


def is_trouble(line: str) -> bool:
    """An error, an answer of the 500s, or the trace of an exception that nobody logged."""
    if not line.startswith("{"):
        return "Traceback" in line or "Error" in line
    entry = json.loads(line)
    return entry["level"] in {"error", "critical"} or int(entry.get("status", 0)) >= 500


def connect(server: HeadgateServer, **properties: str) -> RestCatalog:
    """A pyiceberg catalog; `_` in properties stands for `-`."""
    chosen = {name.replace("_", "-"): text for name, text in properties.items()}
    return RestCatalog("headgate", uri=server.iceberg_url, warehouse="main", **chosen)


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """One server for a module, which must have met no error of its own in the end."""
    with HeadgateServer(tmp_path_factory.mktemp("server"), *JSON_LOG) as server:
        yield server
    assert troubles(server) == []


@pytest.fixture(name="catalog", scope="module")
def _catalog(server: HeadgateServer) -> Iterator[RestCatalog]:
    catalog = connect(server)
    yield catalog
    catalog.close()


@pytest.fixture(name="namespace")
def _namespace(catalog: RestCatalog) -> str:
    """A new namespace of one level."""
    name = f"space{next(_numbers)}"
    catalog.create_namespace(name)
    return name
