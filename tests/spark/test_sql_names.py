"""Spark SQL: namespaces, views and names."""

import itertools
from collections.abc import Iterator

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headgate.testing.headgate_server import HeadgateServer
from tests.spark.spark_sql import SparkSql

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
_numbers = itertools.count(1)


@pytest.fixture(name="sql", scope="module")
def _sql(spark: SparkSession, server: HeadgateServer) -> Iterator[SparkSql]:
    sql = SparkSql(spark, server, "names")
    yield sql
    sql.run("USE spark_catalog")


@pytest.fixture(name="space")
def _space(sql: SparkSql) -> str:
    name = f"n{next(_numbers)}"
    sql.run(f"CREATE NAMESPACE {name}")
    return name


def test_namespaces_nest(sql: SparkSql, space: str) -> None:
    """a.b.c is made level by level, holds a table, and goes when it is empty."""
    sql.run(
        f"CREATE NAMESPACE {space}.b",
        f"CREATE NAMESPACE {space}.b.c COMMENT 'deep' WITH DBPROPERTIES ('k' = 'v')",
        f"CREATE TABLE {space}.b.c.t (id INT) USING iceberg",
        f"INSERT INTO {space}.b.c.t VALUES (1)",
    )

    assert sql.rows(f"SHOW NAMESPACES IN {space}") == [(f"{space}.b",)]
    assert sql.rows(f"SHOW NAMESPACES IN {space}.b") == [(f"{space}.b.c",)]
    assert sql.rows(f"SELECT * FROM {space}.b.c.t") == [(1,)]
    described = sql.pairs(f"DESCRIBE NAMESPACE EXTENDED {space}.b.c")
    assert (described["Comment"], described["Properties"]) == ("deep", "((k,v))")
    with pytest.raises(Py4JJavaError) as refused:
        sql.run(f"DROP NAMESPACE {space}.b")
    refusal = refused.value.java_exception.getClass().getName()
    assert refusal.endswith("NamespaceNotEmptyException")
    sql.run(f"DROP TABLE {space}.b.c.t", f"DROP NAMESPACE {space}.b.c", f"DROP NAMESPACE {space}.b")
    assert sql.rows(f"SHOW NAMESPACES IN {space}") == []


def test_properties_of_a_namespace_change(sql: SparkSql, space: str) -> None:
    """ALTER NAMESPACE sets what is there afterwards."""
    sql.run(
        f"ALTER NAMESPACE {space} SET DBPROPERTIES ('one' = '1')",
        f"ALTER NAMESPACE {space} SET DBPROPERTIES ('two' = '2')",
    )

    described = sql.pairs(f"DESCRIBE NAMESPACE EXTENDED {space}")
    assert described["Properties"] == "((one,1), (two,2))"


@pytest.mark.parametrize("odd", ["two words", "Käse 🧀", "x.y", "100%", "1+1", "in/out"])
def test_a_name_may_hold_any_character(sql: SparkSql, space: str, odd: str) -> None:
    """Namespaces, tables and views with odd names are made, written and read."""
    sql.run(
        f"CREATE NAMESPACE {space}.`{odd}`",
        f"CREATE TABLE {space}.`{odd}`.`{odd}` (id INT) USING iceberg",
        f"INSERT INTO {space}.`{odd}`.`{odd}` VALUES (1)",
        f"CREATE VIEW {space}.`{odd}`.`v {odd}` AS SELECT id + 1 FROM {space}.`{odd}`.`{odd}`",
    )

    assert sql.rows(f"SELECT * FROM {space}.`{odd}`.`v {odd}`") == [(2,)]
    tables = sql.rows(f"SHOW TABLES IN {space}.`{odd}`")
    assert odd in [row[1] for row in tables]
    sql.run(
        f"ALTER TABLE {space}.`{odd}`.`{odd}` RENAME TO {space}.`{odd}`.`{odd}{odd}`",
        f"DROP VIEW {space}.`{odd}`.`v {odd}`",
    )
    assert sql.rows(f"SELECT * FROM {space}.`{odd}`.`{odd}{odd}`") == [(1,)]


def test_views_are_made_replaced_and_renamed(sql: SparkSql, space: str) -> None:
    """A view shows its query's rows, also after the query and the name have changed."""
    sql.run(
        f"CREATE TABLE {space}.t (id INT) USING iceberg",
        f"INSERT INTO {space}.t VALUES (1), (2)",
        f"CREATE VIEW {space}.v (n COMMENT 'a number') COMMENT 'all' AS SELECT id FROM {space}.t",
    )
    assert sql.column(f"SELECT n FROM {space}.v") == [1, 2]

    sql.run(
        f"CREATE OR REPLACE VIEW {space}.v AS SELECT id * 10 AS n FROM {space}.t",
        f"ALTER VIEW {space}.v SET TBLPROPERTIES ('k' = 'v')",
        f"ALTER VIEW {space}.v RENAME TO {space}.w",
    )

    assert sql.column(f"SELECT n FROM {space}.w") == [10, 20]
    assert ("k", "v") in sql.rows(f"SHOW TBLPROPERTIES {space}.w")
    assert [row[1] for row in sql.rows(f"SHOW VIEWS IN {space}")] == ["w"]
    with pytest.raises(AnalysisException):
        sql.rows(f"SELECT * FROM {space}.v")
    sql.run(f"DROP VIEW {space}.w", f"DROP TABLE {space}.t", f"DROP NAMESPACE {space}")


def test_a_table_and_a_view_share_one_name(sql: SparkSql, space: str) -> None:
    """What is taken by the one is refused to the other."""
    sql.run(f"CREATE TABLE {space}.x (id INT) USING iceberg", f"CREATE VIEW {space}.y AS SELECT 1")

    with pytest.raises((AnalysisException, Py4JJavaError)):
        sql.run(f"CREATE VIEW {space}.x AS SELECT 1")
    with pytest.raises((AnalysisException, Py4JJavaError)):
        sql.run(f"CREATE TABLE {space}.y (id INT) USING iceberg")


def test_mistakes_are_told_as_spark_knows_them(sql: SparkSql, space: str) -> None:
    """Spark's own conditions come out of the server's answers."""
    mistakes = {
        f"SELECT * FROM {space}.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        f"DROP TABLE {space}.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        f"CREATE NAMESPACE {space}": "SCHEMA_ALREADY_EXISTS",
        "DESCRIBE NAMESPACE nowhere": "SCHEMA_NOT_FOUND",
    }
    found = {}
    for statement in mistakes:
        with pytest.raises(AnalysisException) as mistake:
            sql.run(statement)
        found[statement] = mistake.value.getCondition()

    assert found == mistakes
