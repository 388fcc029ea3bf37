"""`headgate pipeline inventory`: every table measured by executors, as rows and as a page."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

from headgate.cli.pipeline import pipeline
from headgate.errors import CatalogNotFound
from headgate.pipelines.inventory import InventoryOptions, InventorySummary, run
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.testing.headgate_server import HeadgateServer
from tests.spark.killed import run_killed
from tests.spark.questions import asked

pytestmark = [
    pytest.mark.usefixtures("spark"),
    # pyspark leaves the socket of each result to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
SPARK = SparkOptions()
EVIL = "<script>alert(1)</script>"
_numbers = itertools.count(1)


@pytest.fixture(name="schema")
def _schema() -> str:
    """A schema that no other test has."""
    return f"inventory{next(_numbers)}"


@pytest.fixture(name="shop", scope="module")
def _shop(catalog: RestCatalog) -> RestCatalog:
    """A catalog with an ordinary table, one of many files, one that is empty, and odd names."""
    rows = pa.table({"id": pa.array(range(100), pa.int64())})
    catalog.create_namespace("shop")
    catalog.create_namespace(("shop", "two words"))
    orders = catalog.create_table("shop.orders", rows.schema, properties={"owner": "ann"})
    orders.append(rows)
    orders.append(rows)
    scattered = catalog.create_table("shop.scattered", rows.schema)
    with scattered.transaction() as change:
        for at in range(12):
            change.append(rows.slice(at, 1))
    catalog.create_table(("shop", "two words", EVIL), rows.schema)
    return catalog


def measured(server: Server, schema: str, **more: Any) -> InventorySummary:
    options = InventoryOptions(catalog="main", schema=schema, **more)
    return run(options, server, SPARK, Report(is_quiet=True))


@contextmanager
def looking(server: Server) -> Iterator[SparkSession]:
    with spark_session(SPARK, "look", server, "main", iceberg=True) as session:
        yield session


def rows(server: Server, query: str) -> list[tuple[Any, ...]]:
    with looking(server) as session:
        return [tuple(row) for row in session.sql(query).collect()]


def test_every_table_is_measured(
    headgate: Server, shop: RestCatalog, schema: str, tmp_path: Path
) -> None:
    """Size, files, records, snapshots and owner are there for each, nested and odd ones too."""
    page = tmp_path / "page.html"
    summary = measured(headgate, schema, html=page)

    files = shop.load_table("shop.orders").inspect.files().to_pylist()
    query = f"""SELECT concat_ws('|', levels), files, records, snapshots, spare_files, owner,
        format, written IS NOT NULL, created <= changed, bytes, problem
        FROM hg.{schema}.tables WHERE levels[1] = 'shop' ORDER BY name DESC"""
    size = sum(file["file_size_in_bytes"] for file in files)
    scattered, orders, empty = rows(headgate, query)
    owner = "ann"
    assert orders[:9] == ("main|shop|orders", 2, 200, 2, 1, owner, "parquet", True, True)
    assert orders[9:] == (size, None)
    assert scattered[:5] == ("main|shop|scattered", 12, 12, 12, 11)
    assert empty[:5] == (f"main|shop|two words|{EVIL}", 0, 0, 0, 0)
    assert (summary.not_loaded, summary.small_file_tables) == (0, 1)
    assert summary.rows_written == summary.tables >= 4
    text = page.read_text("utf-8")
    assert "main.shop.scattered" in text
    assert EVIL not in text


def test_a_run_of_the_same_id_writes_nothing_twice(
    headgate: Server, shop: RestCatalog, schema: str, tmp_path: Path
) -> None:
    """The rows stay those of the first time, and the page is made again."""
    page = tmp_path / "page.html"
    first = measured(headgate, schema, run="monday")
    again = measured(headgate, schema, run="monday", html=page)

    assert (first.rows_written, again.rows_written) == (first.tables, 0)
    assert (again.tables, again.bytes) == (first.tables, first.bytes)
    query = f"SELECT run, count(*) FROM hg.{schema}.tables GROUP BY run"
    assert rows(headgate, query) == [("monday", first.tables)]
    assert "monday" in page.read_text("utf-8")


def test_growth_is_told_from_run_to_run(headgate: Server, shop: RestCatalog, schema: str) -> None:
    """A row knows how large its table was in the run before."""
    catalog, more = shop, pa.table({"id": pa.array(range(5_000), pa.int64())})
    catalog.create_table(f"shop.{schema}", more.schema).append(more)
    measured(headgate, schema)
    catalog.load_table(f"shop.{schema}").append(more)
    measured(headgate, schema)

    query = f"""SELECT bytes_before, bytes, bytes_month_ago, size(from_json(growth,
        'ARRAY<ARRAY<BIGINT>>')) FROM hg.{schema}.tables WHERE name = '{schema}' ORDER BY time"""
    (none, first, empty, points), (before, second, _, more_points) = rows(headgate, query)
    assert (none, empty, points, more_points) == (None, 0, 1, 2)
    assert before == first < second
    with looking(headgate) as session:
        found = asked(session, "inventory.md", "headgate_inventory", schema)
    assert [count > 0 for count in found] == [True, True, True]


def test_a_table_that_cannot_be_loaded_is_listed_with_the_reason(
    headgate: Server, shop: RestCatalog, schema: str, tmp_path: Path
) -> None:
    """The others are measured all the same."""
    page = tmp_path / "page.html"
    table = shop.create_table(f"shop.{schema}_lost", pa.schema([("id", pa.int64())]))
    metadata = Path(table.metadata_location.removeprefix("file://"))
    metadata.unlink()
    summary = measured(headgate, schema, html=page)

    assert summary.not_loaded == 1
    assert f"main.shop.{schema}_lost: " in summary.problems[0]
    assert metadata.name in page.read_text("utf-8")
    assert summary.tables > 4
    shop.drop_table(f"shop.{schema}_lost")


def test_a_driver_that_is_killed_after_its_append_is_made_good(
    server: HeadgateServer, shop: RestCatalog, schema: str, tmp_path: Path
) -> None:
    """The rows are there once, and the same run once more makes the page that is missing."""
    page = tmp_path / "page.html"
    arguments = ("inventory", "--schema", schema, "--run", "one", "--html", str(page))
    run_killed(server, *arguments)
    was_made = page.exists()
    summary = measured(Server(server.url), schema, run="one", html=page)

    assert (was_made, page.exists(), summary.rows_written) == (False, True, 0)
    query = f"SELECT count(*), count(DISTINCT levels) FROM hg.{schema}.tables"
    assert rows(Server(server.url), query) == [(summary.tables, summary.tables)]


def test_an_inventory_lies_in_s3(s3_lake: HeadgateServer, schema: str) -> None:
    """The same with tables in S3, whose keys the server hands out."""
    lake = Server(s3_lake.url)
    measured(lake, schema)
    summary = measured(lake, schema)

    assert (summary.not_loaded, summary.records > 0) == (0, True)
    assert summary.tables >= 1


def test_a_catalog_that_is_not_there_is_said_at_once(headgate: Server, schema: str) -> None:
    """With those that are."""
    with pytest.raises(CatalogNotFound, match="you may use main"):
        measured(headgate, schema, only=("nope",))


def test_a_script_gets_the_summary_as_json(
    server: HeadgateServer, shop: RestCatalog, schema: str
) -> None:
    """One object on standard output, and nothing on the other."""
    options = ("--server", server.url, "--schema", schema, "--run", "r", "--json")
    done = CliRunner().invoke(pipeline, ["inventory", *options])

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith('{"run":"r","table":"main.')
