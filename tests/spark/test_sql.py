"""Spark SQL: tables, their rows, their versions and their maintenance."""

import itertools
import os
import time
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

from headgate.testing.headgate_server import HeadgateServer
from tests.spark.spark_sql import SparkSql, files_below

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
PURGE_SECONDS_MAX = 20.0
DAYS_4 = 4 * 24 * 3600
_numbers = itertools.count(1)


@pytest.fixture(name="sql", scope="module")
def _sql(spark: SparkSession, server: HeadgateServer) -> Iterator[SparkSql]:
    sql = SparkSql(spark, server, "lake")
    sql.run("CREATE NAMESPACE s")
    yield sql
    sql.run("USE spark_catalog")


@pytest.fixture(name="table")
def _table(sql: SparkSql) -> str:
    """A table with three rows of two commits."""
    name = f"s.t{next(_numbers)}"
    sql.run(
        f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg",
        f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')",
        f"INSERT INTO {name} VALUES (3, 'c')",
    )
    return name


def test_rows_are_inserted_changed_and_merged(sql: SparkSql, table: str) -> None:
    """INSERT, UPDATE, DELETE, MERGE, INSERT OVERWRITE and TRUNCATE do what they say."""
    sql.run(f"UPDATE {table} SET name = 'B' WHERE id = 2", f"DELETE FROM {table} WHERE id = 1")
    assert sql.rows(f"SELECT * FROM {table} ORDER BY id") == [(2, "B"), (3, "c")]

    sql.run(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (2, 'x'), (3, 'y'), (4, 'z') v(id, name)"
        f") s ON t.id = s.id WHEN MATCHED AND s.id = 2 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert sql.rows(f"SELECT * FROM {table} ORDER BY id") == [(3, "y"), (4, "z")]

    sql.run(f"INSERT OVERWRITE {table} VALUES (9, 'i')")
    assert sql.rows(f"SELECT * FROM {table}") == [(9, "i")]
    sql.run(f"TRUNCATE TABLE {table}")
    assert sql.rows(f"SELECT * FROM {table}") == []


def test_a_table_changes_its_shape(sql: SparkSql, table: str) -> None:
    """Columns, partitioning, sort order and properties are altered, and old rows stay readable."""
    sql.run(
        f"ALTER TABLE {table} ADD COLUMNS (at TIMESTAMP, inner STRUCT<x: INT>)",
        f"ALTER TABLE {table} RENAME COLUMN name TO label",
        f"ALTER TABLE {table} ADD COLUMN inner.y STRING",
        f"ALTER TABLE {table} DROP COLUMN at",
        f"ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)",
        f"ALTER TABLE {table} WRITE ORDERED BY id DESC",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('owner.name' = 'me', 'gone' = 'soon')",
        f"ALTER TABLE {table} UNSET TBLPROPERTIES ('gone')",
        f"INSERT INTO {table} VALUES (4, 'd', named_struct('x', 1, 'y', 'z'))",
        f"ALTER TABLE {table} REPLACE PARTITION FIELD id_bucket_4 WITH label",
    )

    assert sql.column(f"SELECT id FROM {table} WHERE inner.y IS NULL") == [1, 2, 3]
    assert sql.rows(f"SELECT label, inner.y FROM {table} WHERE id = 4") == [("d", "z")]
    properties = sql.pairs(f"SHOW TBLPROPERTIES {table}")
    assert (properties["owner.name"], properties["sort-order"]) == ("me", "id DESC NULLS LAST")
    assert "gone" not in properties
    sql.run(f"ALTER TABLE {table} DROP PARTITION FIELD label")
    assert sql.column(f"SELECT DISTINCT spec_id FROM {table}.files") == [0, 1]


def test_branches_and_tags(sql: SparkSql, table: str) -> None:
    """A branch is written to and read alone, a tag stays, and main is fast-forwarded to both."""
    sql.run(
        f"ALTER TABLE {table} CREATE TAG first RETAIN 7 DAYS",
        f"ALTER TABLE {table} CREATE BRANCH draft",
        f"INSERT INTO {table}.branch_draft VALUES (4, 'd')",
    )
    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3]
    assert sql.column(f"SELECT id FROM {table} VERSION AS OF 'draft'") == [1, 2, 3, 4]

    sql.run(
        f"CALL {sql.name}.system.fast_forward('{table}', 'main', 'draft')",
        f"ALTER TABLE {table} DROP BRANCH draft",
    )
    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3, 4]
    assert sql.column(f"SELECT id FROM {table}.tag_first") == [1, 2, 3]
    assert sql.rows(f"SELECT name, type FROM {table}.refs ORDER BY name") == [
        ("first", "TAG"),
        ("main", "BRANCH"),
    ]


def test_changes_wait_on_a_branch_until_they_are_published(sql: SparkSql, table: str) -> None:
    """Write, audit, publish: what a session writes to its branch is seen by that session alone."""
    sql.run(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled' = 'true')",
        f"ALTER TABLE {table} CREATE BRANCH audit",
        "SET spark.wap.branch = audit",
        f"INSERT INTO {table} VALUES (4, 'd')",
        "RESET spark.wap.branch",
    )

    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3]
    assert sql.column(f"SELECT id FROM {table}.branch_audit") == [1, 2, 3, 4]


def test_time_travel_and_rollback(sql: SparkSql, table: str) -> None:
    """Old versions are read by id and by time, and become current again."""
    history = sql.rows(f"SELECT snapshot_id, committed_at FROM {table}.snapshots ORDER BY 2")
    first, at = history[0]

    assert sql.column(f"SELECT id FROM {table} VERSION AS OF {first}") == [1, 2]
    assert sql.column(f"SELECT id FROM {table} TIMESTAMP AS OF '{at}'") == [1, 2]
    sql.run(f"CALL {sql.name}.system.rollback_to_snapshot('{table}', {first})")
    assert sql.column(f"SELECT id FROM {table}") == [1, 2]
    later = history[1][0]
    sql.run(f"CALL {sql.name}.system.set_current_snapshot('{table}', {later})")
    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3]
    ancestors = sql.column(f"CALL {sql.name}.system.ancestors_of('{table}')")
    assert ancestors == sorted([first, later])


def test_a_table_is_made_and_replaced_from_a_query(
    sql: SparkSql, catalog: RestCatalog, table: str
) -> None:
    """CTAS and RTAS keep one table: its history survives a replacement."""
    copy = f"{table}_copy"
    sql.run(f"CREATE TABLE {copy} USING iceberg PARTITIONED BY (name) AS SELECT * FROM {table}")
    uuid = catalog.load_table(copy).metadata.table_uuid

    sql.run(f"CREATE OR REPLACE TABLE {copy} USING iceberg AS SELECT id * 2 AS n FROM {table}")

    assert sql.column(f"SELECT n FROM {copy}") == [2, 4, 6]
    assert catalog.load_table(copy).metadata.table_uuid == uuid
    assert len(sql.rows(f"SELECT * FROM {copy}.snapshots")) == 2
    sql.run(f"CREATE OR REPLACE TABLE {copy}_new (x INT) USING iceberg")
    assert sql.rows(f"SELECT * FROM {copy}_new") == []


def test_the_server_plans_scans_for_spark(sql: SparkSql, table: str) -> None:
    """Both kinds of planning find the same rows, with filters and after deletes."""
    sql.run(f"DELETE FROM {table} WHERE id = 2")

    for where in ("", "WHERE id > 1", "WHERE name = 'a'", "WHERE name LIKE 'c%' AND id IN (3, 4)"):
        query = f"SELECT id, name FROM {{}}.{table} {where} ORDER BY id"
        assert sql.rows(query.format(f"{sql.name}_planned")) == sql.rows(query.format(sql.name))


def test_snapshots_expire_and_their_files_go(sql: SparkSql, table: str) -> None:
    """expire_snapshots leaves one snapshot, all rows and fewer files."""
    sql.run(f"INSERT OVERWRITE {table} SELECT id + 10, name FROM {table}")
    before = len(sql.files(table))

    sql.run(
        f"CALL {sql.name}.system.expire_snapshots(table => '{table}', "
        "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)"
    )

    assert len(sql.rows(f"SELECT * FROM {table}.snapshots")) == 1
    assert sql.column(f"SELECT id FROM {table}") == [11, 12, 13]
    assert len(sql.files(table)) < before


def test_files_are_rewritten(sql: SparkSql, table: str) -> None:
    """rewrite_data_files and rewrite_manifests leave the rows as they are."""
    sql.run(
        f"CALL {sql.name}.system.rewrite_data_files("
        f"table => '{table}', options => map('min-input-files', '2'))",
        f"CALL {sql.name}.system.rewrite_manifests('{table}')",
    )

    assert len(sql.rows(f"SELECT * FROM {table}.files")) == 1
    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3]


def test_orphan_files_are_removed(sql: SparkSql, table: str) -> None:
    """A file that nothing refers to is found below the table's location; all others stay."""
    kept = sql.files(table)
    orphan = kept[0].parent / "orphan.parquet"
    orphan.write_bytes(b"nobody knows me")
    old = time.time() - DAYS_4
    os.utime(orphan, (old, old))

    removed = sql.column(f"CALL {sql.name}.system.remove_orphan_files(table => '{table}')")

    assert [str(path).rpartition("/")[2] for path in removed] == ["orphan.parquet"]
    assert sql.files(table) == kept
    assert sql.column(f"SELECT id FROM {table}") == [1, 2, 3]


def test_statistics_are_computed_and_kept(sql: SparkSql, table: str) -> None:
    """compute_table_stats commits the file it writes."""
    (path,) = sql.column(f"CALL {sql.name}.system.compute_table_stats('{table}')")

    assert str(path).endswith(".stats")


def test_a_table_is_registered_from_its_metadata(sql: SparkSql, table: str) -> None:
    """A dropped table comes back, under another name, from its last metadata file."""
    entries = f"{table}.metadata_log_entries"
    (last,) = sql.rows(f"SELECT file FROM {entries} ORDER BY timestamp DESC LIMIT 1")
    sql.run(f"DROP TABLE {table}")

    sql.run(f"CALL {sql.name}.system.register_table('{table}_again', '{last[0]}')")

    assert sql.column(f"SELECT id FROM {table}_again") == [1, 2, 3]


def test_spark_purges_the_files_itself(sql: SparkSql, table: str) -> None:
    """DROP TABLE PURGE as it is by default: the server forgets, Spark deletes."""
    location = sql.location(table)
    assert files_below(location)

    sql.run(f"DROP TABLE {table} PURGE")

    assert files_below(location) == []


def test_the_server_purges_the_files(sql: SparkSql, table: str) -> None:
    """DROP TABLE PURGE with `rest-catalog-purge`: all is left to the server."""
    location = sql.location(table)

    sql.run(f"DROP TABLE {sql.name}_purging.{table} PURGE")

    deadline = time.monotonic() + PURGE_SECONDS_MAX
    while files_below(location):
        assert time.monotonic() < deadline, files_below(location)
        time.sleep(0.05)
    assert f"{table[2:]}" not in sql.column("SHOW TABLES IN s")


def test_version_three_with_deletion_vectors(sql: SparkSql, table: str) -> None:
    """Row ids, a variant, and deletes in Puffin files."""
    name = f"{table}_v3"
    sql.run(
        f"CREATE TABLE {name} (id BIGINT, v VARIANT) USING iceberg TBLPROPERTIES ("
        "'format-version' = '3', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')",
        f"INSERT INTO {name} SELECT id, parse_json('{{\"n\": 1}}') FROM range(10)",
        f"DELETE FROM {name} WHERE id = 3",
        f"UPDATE {name} SET id = 40 WHERE id = 4",
    )

    assert sql.column(f"SELECT id FROM {name}") == [0, 1, 2, 5, 6, 7, 8, 9, 40]
    assert sql.rows(f"SELECT _row_id FROM {name} WHERE id = 40") == [(4,)]
    assert set(sql.column(f"SELECT file_format FROM {name}.delete_files")) == {"PUFFIN"}
    planned = sql.column(f"SELECT id FROM {sql.name}_planned.{name} WHERE id < 6")
    assert planned == [0, 1, 2, 5]


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_and_upgrades(sql: SparkSql, table: str, version: int) -> None:
    """Tables of version 1 and 2 are written, upgraded, and written again."""
    name = f"{table}_v{version}"
    sql.run(
        f"CREATE TABLE {name} (id BIGINT) USING iceberg "
        f"TBLPROPERTIES ('format-version' = '{version}')",
        f"INSERT INTO {name} VALUES (1)",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '{version + 1}')",
        f"INSERT INTO {name} VALUES (2)",
        f"DELETE FROM {name} WHERE id = 1",
    )

    assert sql.column(f"SELECT id FROM {name}") == [2]
    assert sql.pairs(f"SHOW TBLPROPERTIES {name}")["format-version"] == str(version + 1)
