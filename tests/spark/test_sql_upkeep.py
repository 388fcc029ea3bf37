"""Spark SQL: what a table is made of, procedures on it, and its end; on local files and in S3."""

import itertools
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import S3Server, send
from tests.spark.spark_sql import SparkSql, files_below

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
PURGE_SECONDS_MAX = 20.0
MERGE_ON_READ = (
    "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read')"
)
DELETED = "WHEN MATCHED THEN DELETE"
REWRITE_ALL = "options => map('rewrite-all', 'true')"
METADATA_TABLES = {
    "entries": "status, snapshot_id",
    "files": "file_path, record_count",
    "data_files": "file_path",
    "delete_files": "file_path",
    "manifests": "path, partition_spec_id",
    "partitions": "partition, record_count",
    "position_deletes": "file_path, pos",
    "history": "snapshot_id, is_current_ancestor",
    "snapshots": "snapshot_id, operation",
    "metadata_log_entries": "file, latest_snapshot_id",
    "refs": "name, type",
    "all_files": "file_path",
    "all_data_files": "file_path",
    "all_delete_files": "file_path",
    "all_entries": "snapshot_id",
    "all_manifests": "path, reference_snapshot_id",
}
_numbers = itertools.count(1)


@pytest.fixture(name="sql", scope="module")
def _sql(spark: SparkSession, server: HeadgateServer) -> Iterator[SparkSql]:
    sql = SparkSql(spark, server, "upkeep")
    sql.run("CREATE NAMESPACE s")
    yield sql
    sql.run("USE spark_catalog")


@pytest.fixture(name="table")
def _table(sql: SparkSql) -> str:
    """A partitioned table with a row that was deleted by a delete file."""
    name = f"s.t{next(_numbers)}"
    sql.run(
        f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg PARTITIONED BY (name) "
        f"{MERGE_ON_READ}",
        f"INSERT INTO {name} VALUES (1, 'a'), (2, 'a'), (3, 'b')",
        f"DELETE FROM {name} WHERE id = 1",
    )
    return name


def jobs(server: Server, name: str) -> list[dict[str, Any]]:
    """The purges of tables of this name."""
    found = server.get("/management/v1/jobs")["jobs"]
    return [one for one in found if one["table"][-1] == name]


def ended(server: Server, name: str) -> dict[str, Any]:
    """The one purge of a table of this name, once it has ended."""
    deadline = time.monotonic() + PURGE_SECONDS_MAX
    while not (found := jobs(server, name)) or found[0]["state"] in {"PENDING", "RUNNING"}:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    [only] = found
    return only


def test_each_metadata_table_is_read(sql: SparkSql, table: str) -> None:
    """What a table is made of, in rows: each of them has some."""
    found = {
        name: len(sql.rows(f"SELECT {columns} FROM {table}.{name}"))
        for name, columns in METADATA_TABLES.items()
    }

    assert all(found.values()), found
    assert (found["files"], found["data_files"], found["delete_files"]) == (3, 2, 1)
    assert (found["snapshots"], found["partitions"], found["refs"]) == (2, 2, 1)


def test_delete_files_are_rewritten_and_statistics_of_partitions_kept(
    sql: SparkSql, table: str
) -> None:
    """Both procedures commit what they made, and the rows stay as they are."""
    sql.run(f"DELETE FROM {table} WHERE id = 2 AND name = 'a'")
    sql.run(
        f"CALL {sql.name}.system.rewrite_position_delete_files(table => '{table}', {REWRITE_ALL})"
    )
    (path,) = sql.column(f"CALL {sql.name}.system.compute_partition_stats('{table}')")

    assert sql.column(f"SELECT id FROM {table}") == [3]
    assert str(path).startswith("file:") or str(path).startswith("/")
    assert [str(file) for file in sql.files(table) if str(file) in str(path)]


def test_a_change_that_was_staged_is_picked(sql: SparkSql, table: str) -> None:
    """What was written without being published is found by its id, and published."""
    sql.run(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled' = 'true')",
        "SET spark.wap.id = staged",
        f"INSERT INTO {table} VALUES (9, 'i')",
        "RESET spark.wap.id",
    )
    assert sql.column(f"SELECT id FROM {table}") == [2, 3]

    sql.run(f"CALL {sql.name}.system.publish_changes('{table}', 'staged')")

    assert sql.column(f"SELECT id FROM {table}") == [2, 3, 9]


def test_changes_between_two_snapshots_are_shown(sql: SparkSql, table: str) -> None:
    """A view of what was inserted and what was deleted."""
    name = f"{table}_log"
    sql.run(
        f"CREATE TABLE {name} (id BIGINT) USING iceberg",
        f"INSERT INTO {name} VALUES (1), (2)",
        f"DELETE FROM {name} WHERE id = 1",
        f"CALL {sql.name}.system.create_changelog_view(table => '{name}', changelog_view => 'log')",
    )

    changes = sql.rows("SELECT id, _change_type FROM log ORDER BY _change_ordinal, id, 2")
    assert (1, "DELETE") in changes
    assert changes[:2] == [(1, "INSERT"), (2, "INSERT")]


def test_drop_purge_becomes_a_job_of_the_server(
    sql: SparkSql, headgate: Server, table: str
) -> None:
    """In a pipeline's session it is the server that purges; it counts every file it had."""
    location, files = sql.location(table), len(sql.files(table))

    with spark_session(SparkOptions(), "purge", headgate, "main", iceberg=True) as session:
        session.sql(f"DROP TABLE hg.{table} PURGE")
    job = ended(headgate, table[2:])

    assert job["state"] == "SUCCEEDED", job
    assert files_below(location) == []
    twins = 2  # each file that Spark wrote has a hidden one beside it, which is not counted
    assert files / twins <= job["files-deleted"] <= files


def test_tables_in_s3_are_made_changed_and_purged(
    spark: SparkSession, s3_lake: HeadgateServer, s3_server: S3Server, bucket: str
) -> None:
    """With keys that the server hands out, and with keys that are given."""
    lake = Server(s3_lake.url)
    keys = {
        "s3.endpoint": s3_server.url,
        "s3.access-key-id": s3_server.keys.access_key_id,
        "s3.secret-access-key": s3_server.keys.secret_access_key,
        "s3.region": s3_server.region,
        "s3.path-style": "true",
    }
    for number, storage in enumerate(({}, keys)):
        space = f"s{number}"
        with spark_session(SparkOptions(storage=storage), "s3", lake, "main", iceberg=True) as own:
            for statement in (
                f"CREATE NAMESPACE hg.{space}",
                f"CREATE NAMESPACE hg.{space}.b",
                f"CREATE TABLE hg.{space}.b.t USING iceberg AS SELECT id FROM range(3)",
                f"MERGE INTO hg.{space}.b.t t USING (SELECT 1 AS id) s ON t.id = s.id {DELETED}",
                f"CALL hg.system.rewrite_data_files(table => '{space}.b.t', {REWRITE_ALL})",
            ):
                own.sql(statement)
            rows = own.sql(f"SELECT id FROM hg.{space}.b.t ORDER BY id").collect()
            assert [row[0] for row in rows] == [0, 2]
            assert keys_in(s3_server, bucket)
            own.sql(f"DROP TABLE hg.{space}.b.t PURGE")

        deadline = time.monotonic() + PURGE_SECONDS_MAX
        while left := keys_in(s3_server, bucket):
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


def keys_in(s3: S3Server, bucket: str) -> list[str]:
    """What lies in the bucket, as the store itself says."""
    status, answer = send(s3.keys, "GET", f"{s3.url}/{bucket}?list-type=2")
    assert status == 200, answer
    return re.findall("<Key>(.*?)</Key>", answer.decode())
