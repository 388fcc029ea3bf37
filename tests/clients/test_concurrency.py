"""Many pyiceberg writers at once: nothing is lost, nothing fails, nobody waits for strangers."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.postgresql import PostgresqlServer
from tests.clients.conftest import JSON_LOG, connect, troubles
from tests.conftest import FULL

WRITERS = 16
APPENDS = 8 if FULL else 2
TABLES = 64
SCHEMA = pa.schema([("id", pa.int64())])
PATIENT = {  # the writers of one table wait for each other, as often as it takes
    "commit.retry.num-retries": "1000",
    "commit.retry.min-wait-ms": "5",
    "commit.retry.max-wait-ms": "200",
}


@pytest.fixture(name="nodes", params=["one process", "two processes", "two nodes"])
def _nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[HeadgateServer]]:
    """Servers with one store: they have met no error of their own in the end."""
    options = [*JSON_LOG]
    folders = ["one"]
    if request.param == "two processes":
        options += ["--processes", "2"]
    if request.param == "two nodes":
        database: PostgresqlServer = request.getfixturevalue("postgresql_server")
        options += ["--processes", "1", "--backend", database.create_database()]
        folders = ["one", "two"]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(HeadgateServer(tmp_path / folder, *options)) for folder in folders
        ]
        yield servers
    assert [line for server in servers for line in troubles(server)] == []


def at_once(
    nodes: list[HeadgateServer], count: int, work: Callable[[int, RestCatalog], None]
) -> None:
    """Do the work `count` times at once, each with a client and connections of its own."""

    def run(number: int) -> None:
        with closing(connect(nodes[number % len(nodes)])) as catalog:
            work(number, catalog)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def conflicts(nodes: list[HeadgateServer]) -> list[str]:
    """The requests that were answered with 409."""
    lines = [line for node in nodes for line in node.said().splitlines() if line[:1] == "{"]
    return [line for line in lines if json.loads(line).get("status") == 409]


def ids(catalog: RestCatalog, name: str) -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow()["id"].to_pylist())


def test_no_append_to_one_table_is_lost(nodes: list[HeadgateServer]) -> None:
    """16 writers of one table: each row is there once, and each append is one snapshot."""

    def write(number: int, catalog: RestCatalog) -> None:
        table = catalog.load_table("busy.table")
        for turn in range(APPENDS):
            table.append(pa.table({"id": [number * APPENDS + turn]}))

    with closing(connect(nodes[0])) as catalog:
        catalog.create_namespace("busy")
        catalog.create_table("busy.table", SCHEMA, properties=PATIENT)

        at_once(nodes, WRITERS, write)

        assert ids(catalog, "busy.table") == list(range(WRITERS * APPENDS))
        assert len(catalog.load_table("busy.table").snapshots()) == WRITERS * APPENDS


def test_writers_of_different_tables_do_not_meet(nodes: list[HeadgateServer]) -> None:
    """64 writers of 64 tables: all rows are there, and not one request was refused."""

    def write(number: int, catalog: RestCatalog) -> None:
        table = catalog.create_table(f"quiet.table{number}", SCHEMA)
        for turn in range(APPENDS):
            table.append(pa.table({"id": [turn]}))

    with closing(connect(nodes[0])) as catalog:
        catalog.create_namespace("quiet")

        at_once(nodes, TABLES, write)

        assert len(catalog.list_tables("quiet")) == TABLES
        for number in range(TABLES):
            assert ids(catalog, f"quiet.table{number}") == list(range(APPENDS))
    assert conflicts(nodes) == []
