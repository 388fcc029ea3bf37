"""DuckDB with its own iceberg extension: ATTACH, then read and write in SQL."""

import importlib.resources
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.testing.headgate_server import HeadgateServer

EXTENSIONS = ("httpfs", "avro", "iceberg")  # in the order they need each other


@pytest.fixture(name="duck", scope="module")
def _duck(
    server: HeadgateServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the server attached as `lake`. DuckDB checks its extensions' signatures."""
    folder = tmp_path_factory.mktemp("extensions")
    with duckdb.connect(config={"extension_directory": str(folder)}) as duck:
        for name in EXTENSIONS:
            duck.execute(f"INSTALL '{extension(name)}'")
            duck.execute(f"LOAD {name}")
        duck.execute(
            f"ATTACH 'main' AS lake (TYPE iceberg, ENDPOINT '{server.iceberg_url}', "
            "AUTHORIZATION_TYPE 'none')"
        )
        yield duck


def extension(name: str) -> Path:
    """The file of an extension, from the package that carries it."""
    package = importlib.resources.files(f"duckdb_extension_{name}")
    version = f"v{duckdb.__version__}"
    return Path(str(package)) / "extensions" / version / f"{name}.duckdb_extension"


def rows(duck: duckdb.DuckDBPyConnection, query: str) -> list[tuple[object, ...]]:
    return duck.execute(query).fetchall()


def test_duckdb_writes_what_others_read(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog
) -> None:
    """A schema and a table made by DuckDB hold its rows for pyiceberg too."""
    duck.execute("CREATE SCHEMA lake.made_by_duck")
    duck.execute("CREATE TABLE lake.made_by_duck.t (id BIGINT, name VARCHAR)")
    duck.execute("INSERT INTO lake.made_by_duck.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    duck.execute("UPDATE lake.made_by_duck.t SET name = 'B' WHERE id = 2")
    duck.execute("DELETE FROM lake.made_by_duck.t WHERE id = 3")

    assert rows(duck, "FROM lake.made_by_duck.t ORDER BY id") == [(1, "a"), (2, "B")]
    table = catalog.load_table("made_by_duck.t")
    assert sorted(table.scan().to_arrow()["name"].to_pylist()) == ["B", "a"]
    assert len(table.snapshots()) == 3


def test_duckdb_reads_what_others_write(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog, namespace: str
) -> None:
    """Rows, changed columns and old versions of a table of pyiceberg."""
    data = pa.table({"id": [1, 2]})
    table = catalog.create_table((namespace, "t"), data.schema)
    table.append(data)
    table.append(pa.table({"id": [3]}))
    first = table.history()[0].snapshot_id

    assert rows(duck, f"SELECT sum(id) FROM lake.{namespace}.t") == [(6,)]
    old = f"SELECT sum(id) FROM lake.{namespace}.t AT (VERSION => {first})"
    assert rows(duck, old) == [(3,)]
    assert ("lake", namespace, "t") in [row[:3] for row in rows(duck, "SHOW ALL TABLES")]


def test_a_transaction_of_duckdb_is_all_or_nothing(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog, namespace: str
) -> None:
    """Two tables change in one commit of many tables; a rollback leaves them alone."""
    for name in ("one", "two"):
        catalog.create_table((namespace, name), pa.schema([("id", pa.int64())]))
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{namespace}.one VALUES (1)")
    duck.execute(f"INSERT INTO lake.{namespace}.two VALUES (2)")
    assert catalog.load_table((namespace, "one")).current_snapshot() is None
    duck.execute("COMMIT")
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{namespace}.one VALUES (9)")
    duck.execute("ROLLBACK")

    for name, value in (("one", 1), ("two", 2)):
        assert rows(duck, f"FROM lake.{namespace}.{name}") == [(value,)]
        found = catalog.load_table((namespace, name)).scan().to_arrow()["id"].to_pylist()
        assert found == [value]


def test_duckdb_drops_what_it_made(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog, namespace: str
) -> None:
    """Tables and schemas go, for everybody."""
    duck.execute(f"CREATE TABLE lake.{namespace}.t (id BIGINT)")
    duck.execute(f"DROP TABLE lake.{namespace}.t")
    assert catalog.list_tables(namespace) == []
    duck.execute(f"DROP SCHEMA lake.{namespace}")
    assert not catalog.namespace_exists(namespace)


def test_duckdb_reaches_nested_namespaces(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog, namespace: str
) -> None:
    """A schema with a dot in its name is a namespace of two levels."""
    duck.execute(f'CREATE SCHEMA lake."{namespace}.deep"')
    duck.execute(f'CREATE TABLE lake."{namespace}.deep".t (id BIGINT)')
    duck.execute(f'INSERT INTO lake."{namespace}.deep".t VALUES (1)')

    assert catalog.list_namespaces(namespace) == [(namespace, "deep")]
    assert catalog.load_table((namespace, "deep", "t")).scan().to_arrow()["id"].to_pylist() == [1]
    assert rows(duck, f'FROM lake."{namespace}.deep".t') == [(1,)]


def test_duckdb_changes_a_table(
    duck: duckdb.DuckDBPyConnection, catalog: RestCatalog, namespace: str
) -> None:
    """A new column, a merge and a new name are commits that others see."""
    duck.execute(f"CREATE TABLE lake.{namespace}.t (id BIGINT, name VARCHAR)")
    duck.execute(f"INSERT INTO lake.{namespace}.t VALUES (1, 'a')")
    duck.execute(f"ALTER TABLE lake.{namespace}.t ADD COLUMN more VARCHAR")
    duck.execute(
        f"MERGE INTO lake.{namespace}.t USING (VALUES (1, 'A'), (2, 'b')) s(i, n) ON t.id = s.i "
        "WHEN MATCHED THEN UPDATE SET name = s.n "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.i, s.n)"
    )
    duck.execute(f"ALTER TABLE lake.{namespace}.t RENAME TO t2")

    found = catalog.load_table((namespace, "t2")).scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(1, "A", None), (2, "b", None)]
