"""Polars: lazy scans of tables in the catalog, and frames written to them."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

FRAME = pl.DataFrame({"id": [1, 2, 3], "city": ["Aachen", "Bonn", None]})


@pytest.fixture(name="table")
def _table(catalog: RestCatalog, namespace: str) -> Table:
    """A table with the rows of FRAME."""
    table: Table = catalog.create_table((namespace, "cities"), FRAME.to_arrow().schema)
    FRAME.write_iceberg(table, mode="append")
    return table


def test_polars_reads_what_it_wrote(catalog: RestCatalog, table: Table) -> None:
    """A frame that is written and scanned is the same frame."""
    loaded = catalog.load_table(table.name())

    assert_frame_equal(pl.scan_iceberg(loaded).collect(), FRAME)


def test_polars_filters_and_projects(catalog: RestCatalog, table: Table) -> None:
    """A lazy query over the table has the rows of the same query over the frame."""
    query = pl.scan_iceberg(catalog.load_table(table.name())).filter(pl.col("id") > 1)

    assert query.select("city").collect()["city"].to_list() == ["Bonn", None]
    assert query.select(pl.len()).collect().item() == 2


def test_polars_overwrites_and_travels_in_time(catalog: RestCatalog, table: Table) -> None:
    """After an overwrite the old rows are still there by the id of their snapshot."""
    first = table.history()[0].snapshot_id
    FRAME.with_columns(pl.col("id") * 10).write_iceberg(table, mode="overwrite")

    loaded = catalog.load_table(table.name())
    assert pl.scan_iceberg(loaded).collect()["id"].to_list() == [10, 20, 30]
    assert_frame_equal(pl.scan_iceberg(loaded, snapshot_id=first).collect(), FRAME)
