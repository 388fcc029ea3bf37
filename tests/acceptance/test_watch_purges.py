"""Purges as the how-to page shows them: watched, waited for and undone on a real server."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from headgate.testing.headgate_server import HeadgateServer
from tests.acceptance.test_how_to import HOW_TO, blocks, headgate, run

GRACE = ("--set", "purger.async.grace-period-ms=3600000")
ROWS = pa.table({"id": [1, 2, 3]})

# The program leaves the closing of connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(name="catalog_of")
def _catalog_of() -> Iterator[Callable[[HeadgateServer], Catalog]]:
    """A client of a server, with the table sales.orders."""
    opened: list[Catalog] = []

    def open_catalog(server: HeadgateServer) -> Catalog:
        catalog = load_catalog("watch", type="rest", uri=server.iceberg_url)
        opened.append(catalog)
        catalog.create_namespace("sales")
        catalog.create_table("sales.orders", ROWS.schema).append(ROWS)
        return catalog

    yield open_catalog
    for catalog in opened:
        catalog.close()


def jobs(server: HeadgateServer) -> Any:
    return json.loads(headgate(server, "jobs", "list", "--json"))


def number(server: HeadgateServer, name: str) -> float:
    text = httpx.get(f"{server.url}/metrics").text
    [value] = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(value)


def test_a_purge_is_waited_for_as_shown(
    tmp_path: Path, catalog_of: Callable[[HeadgateServer], Catalog]
) -> None:
    """A script follows it to its end beside the server; nothing is left, and numbers say so."""
    with HeadgateServer(tmp_path) as server:
        catalog = catalog_of(server)
        catalog.purge_table("sales.orders")
        [job] = jobs(server)
        lines = headgate(server, "jobs", "show", job["id"], "--follow").splitlines()
        shown = headgate(server, "jobs", "show", job["id"])

        assert lines[-1].startswith("SUCCEEDED")
        assert "state       SUCCEEDED" in shown
        assert [path for path in server.warehouse.rglob("*") if path.is_file()] == []
        assert number(server, 'headgate_purge_jobs{state="PENDING"}') == 0
        assert number(server, "headgate_purge_files_total") == jobs(server)[0]["files-deleted"] > 3
        assert "it has ended" in headgate(server, "jobs", "cancel", job["id"], "--yes", expect=1)


def test_a_drop_is_undone_as_shown(
    tmp_path: Path, catalog_of: Callable[[HeadgateServer], Catalog]
) -> None:
    """By the program of the page, and by the command; clients read what they read before."""
    [program] = blocks(HOW_TO / "watch-purges.md", "python")
    with HeadgateServer(tmp_path, *GRACE) as server:
        catalog = catalog_of(server)
        before = catalog.load_table("sales.orders")
        catalog.purge_table("sales.orders")
        undrop: Any = run(program, server)["undrop"]
        assert undrop("sales", "orders") == ["sales", "orders"]
        assert catalog.load_table("sales.orders").metadata == before.metadata
        catalog.purge_table("sales.orders")
        [job] = jobs(server)
        headgate(server, "jobs", "undrop", job["id"], "--as", "sales.again")

        again = catalog.load_table("sales.again")
        assert again.metadata == before.metadata
        assert again.scan().count() == 3
        assert jobs(server) == []


def test_a_purge_is_given_up_as_shown(
    tmp_path: Path, catalog_of: Callable[[HeadgateServer], Catalog]
) -> None:
    """Its files stay, and the command says so."""
    with HeadgateServer(tmp_path, *GRACE) as server:
        catalog_of(server).purge_table("sales.orders")
        [job] = jobs(server)
        said = headgate(server, "jobs", "cancel", job["id"], "--yes")

        assert "what is left of default.main.sales.orders stays" in said
        assert headgate(server, "jobs", "list", "--state", "CANCELLED").count(job["id"]) == 1
        assert list(server.warehouse.rglob("*.parquet")) != []
