"""`headgate pipeline upkeep` on real tables: local files, S3, and a run that is killed."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from headgate.pipelines import upkeep
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.pipelines.upkeep_looks import STATEMENTS
from headgate.pipelines.upkeep_outcomes import State, TableUpkeep, UpkeepSummary
from headgate.pipelines.upkeep_policy import PREFIX, Step
from headgate.pipelines.upkeep_running import Order
from headgate.testing.child import Child
from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.spark_session import JAVA_OPTIONS

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
MERGE, EXPIRE = "rewrite_data_files", "expire_snapshots"
MANIFESTS, STATISTICS = "rewrite_manifests", "compute_table_stats"
KILL_SECONDS_MAX = 240.0
FILES_KILLED = 120
NOTHING_EXPIRES = {"expire.enabled": "false"}


class Lake:
    """One server's catalog in the Spark of all tests."""

    def __init__(self, session: SparkSession, server: Server) -> None:
        self.session = session
        self.server = server
        self._numbers = itertools.count(1)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(statement).collect()]

    def schema(self, name: str, **properties: str) -> str:
        told = ", ".join(f"'{PREFIX}{key}' = '{text}'" for key, text in properties.items())
        self.rows(f"CREATE NAMESPACE {name}" + (f" WITH PROPERTIES ({told})" if told else ""))
        return name

    def table(self, name: str, policy: dict[str, str], **properties: str) -> str:
        """A table of ids in two partitions, whose writers leave everything as it comes."""
        told = {
            "format-version": "2",
            "commit.manifest-merge.enabled": "false",
            "write.delete.mode": "merge-on-read",
            "write.distribution-mode": "none",
            **{PREFIX + key: text for key, text in policy.items()},
            **{key.replace("_", "."): text for key, text in properties.items()},
        }
        listed = ", ".join(f"'{key}' = '{text}'" for key, text in told.items())
        self.rows(
            f"CREATE TABLE {name} (id BIGINT, part INT) USING iceberg "
            f"PARTITIONED BY (part) TBLPROPERTIES ({listed})"
        )
        return name

    def insert(self, table: str, *, files: int, rows: int = 100) -> None:
        """So many rows in so many data files of one partition, by one commit."""
        first = next(self._numbers) * 1_000_000
        self.rows(
            f"INSERT INTO {table} SELECT /*+ REPARTITION({files}) */ id, 0 "
            f"FROM range({first}, {first + rows})"
        )

    def content(self, table: str, version: str = "main") -> list[tuple[Any, ...]]:
        return self.rows(f"SELECT count(*), sum(id) FROM {table} VERSION AS OF '{version}'")

    def keep(self, *names: str, is_dry: bool = False, only: set[Step] | None = None) -> "Kept":
        order = Order(frozenset(only or Step), is_dry)
        wanted = upkeep.Wanted("main", schemas=names)
        report = Report(is_quiet=True)
        return Kept(upkeep.run(wanted, order, self.server, SparkOptions(), report))


class Kept:
    """What came of a run, by the last names of tables."""

    def __init__(self, summary: UpkeepSummary) -> None:
        self.summary = summary
        self.tables = {one.table.rpartition(".")[2]: one for one in summary.tables}

    def __getitem__(self, name: str) -> TableUpkeep:
        return self.tables[name]

    def procedures(self, name: str) -> list[str]:
        return [one.procedure for one in self[name].done]


@pytest.fixture(name="lake", scope="module")
def _lake(spark: SparkSession, headgate: Server) -> Iterator[Lake]:
    with spark_session(SparkOptions(), "tests", headgate, "main", iceberg=True) as session:
        yield Lake(session, headgate)


def location(lake: Lake, *names: str) -> str:
    """The metadata file of a table, which every change replaces."""
    return lake.server.load(TableName("main", names[:-1], names[-1])).metadata_location


def test_a_table_that_needs_everything_gets_it_once(lake: Lake) -> None:
    """Small files are merged, deleted rows removed, old snapshots expired, statistics made; its
    rows, its order, its tag and its branch stay. A second run does nothing."""
    lake.schema("hg.shop", **{"expire.max-snapshot-age-ms": "1"})
    table = lake.table(f"{lake.schema('hg.shop.eu')}.orders", {"statistics.enabled": "true"})
    lake.insert(table, files=6)
    lake.rows(f"ALTER TABLE {table} CREATE TAG v1")
    lake.rows(f"ALTER TABLE {table} CREATE BRANCH audit")
    lake.insert(table, files=6)
    lake.rows(f"DELETE FROM {table} WHERE id % 10 = 1")
    lake.rows(f"DELETE FROM {table} WHERE id % 10 = 2")
    lake.rows(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY id DESC")
    content = {ref: lake.content(table, ref) for ref in ("main", "v1", "audit")}

    found = lake.keep("shop")

    assert found["orders"].state == State.IMPROVED
    assert found.procedures("orders") == [MERGE, EXPIRE, STATISTICS]
    before, after = found["orders"].before, found["orders"].after
    assert before
    assert before.files
    assert after
    assert (before.data_files, before.snapshots) == (12, 4)
    assert before.files.deleted_records == 40
    assert before.delete_files > 0
    assert (after.data_files, after.delete_files, after.snapshots) == (1, 0, 2)
    assert {ref: lake.content(table, ref) for ref in content} == content
    ids = [id for (id,) in lake.rows(f"SELECT id FROM {table}")]
    assert ids == sorted(ids, reverse=True)

    was = location(lake, "shop", "eu", "orders")
    again = lake.keep("shop")

    assert again["orders"].state == State.HEALTHY
    assert again["orders"].done == []
    assert location(lake, "shop", "eu", "orders") == was


def test_manifests_are_merged_whatever_the_table_is_called(lake: Lake) -> None:
    """Names come to Iceberg as they are, and files stay as they are."""
    schema = lake.schema("hg.`a b`", **NOTHING_EXPIRES)
    table = lake.table(f"{schema}.`it's``odd`", {"manifests.min-count": "3"})
    for _ in range(3):
        lake.insert(table, files=1)
    content = lake.content(table)

    foreseen = lake.keep("a b", is_dry=True, only={Step.MANIFESTS})["it's`odd"]
    found = lake.keep("a b", only={Step.MANIFESTS})

    assert foreseen.state == State.DUE
    assert foreseen.decisions[0].reason.startswith("3 data manifests of ")
    assert found.procedures("it's`odd") == [MANIFESTS]
    assert found["it's`odd"].done[0].counts == {
        "rewritten_manifests_count": 3,
        "added_manifests_count": 1,
    }
    assert lake.content(table) == content
    assert lake.keep("a b")["it's`odd"].done == []


def test_policies_of_catalog_schema_and_table_are_heard(lake: Lake) -> None:
    """Hands off means that nothing is touched; gc.enabled keeps all snapshots; a policy that makes
    no sense is told with its place, and all others are looked after."""
    path = f"/api/metalakes/{lake.server.metalake}/catalogs/main"
    policy = {"property": f"{PREFIX}compact.min-input-files", "value": "2"}
    lake.server.put(path, {"updates": [{"@type": "setProperty", **policy}]})
    lake.schema("hg.p", **{"expire.max-snapshot-age-ms": "1"})
    lake.schema("hg.p.off", enabled="false")
    names = {
        "off": lake.table("hg.p.off.off", {}),
        "on": lake.table("hg.p.off.on", {"enabled": "true"}),
        "kept": lake.table("hg.p.kept", {"compact.enabled": "false"}, gc_enabled="false"),
        "bad": lake.table("hg.p.bad", {"compact.delete-ratio": "half"}),
    }
    for table in names.values():
        lake.insert(table, files=2)
    lake.rows("DELETE FROM hg.p.kept WHERE id % 2 = 0")
    untouched = {name: location(lake, "p", name) for name in ("kept", "bad")}

    try:
        found = lake.keep("p")
    finally:
        removal = {"@type": "removeProperty", "property": policy["property"]}
        lake.server.put(path, {"updates": [removal]})

    assert {name: found[name].state for name in names} == {
        "off": State.OFF,
        "on": State.IMPROVED,
        "kept": State.HEALTHY,
        "bad": State.FAILED,
    }
    assert found.procedures("on") == [MERGE, EXPIRE]
    assert "gc.enabled is false" in found["kept"].decisions[1].reason
    assert f"{PREFIX}compact.delete-ratio of table main.p.bad" in found["bad"].error
    assert {name: location(lake, "p", name) for name in untouched} == untouched


def test_a_run_that_is_killed_can_be_run_again(
    lake: Lake, server: HeadgateServer, tmp_path: Path
) -> None:
    """While a compaction writes: the table is as it was, and the next run makes it what it would
    have become."""
    table = lake.table(f"{lake.schema('hg.k', **NOTHING_EXPIRES)}.t", {})
    lake.insert(table, files=FILES_KILLED, rows=FILES_KILLED * 10)
    content, was = lake.content(table), location(lake, "k", "t")
    folder = Path(urlsplit(was).path).parents[1] / "data" / "part=0"
    known = len(list(folder.iterdir()))
    command = [
        *(sys.executable, "-m", "headgate", "pipeline", "upkeep", "--server", server.url),
        *("--catalog", "main", "--table", "k.t", "--master", "local[1]"),
        *("--conf", f"spark.driver.extraJavaOptions={JAVA_OPTIONS}"),
        *("--conf", "spark.driver.memory=600m"),
    ]
    child = Child(command, tmp_path / "log", {**environment(), "TMPDIR": str(tmp_path)})
    try:
        child.wait_until(lambda: len(list(folder.iterdir())) > known or None, KILL_SECONDS_MAX)
    finally:
        child.kill()

    assert location(lake, "k", "t") == was
    assert lake.content(table) == content

    found = lake.keep("k")

    assert found.procedures("t") == [MERGE]
    assert found["t"].done[0].counts["rewritten_data_files_count"] == FILES_KILLED
    assert lake.rows(f"SELECT count(*) FROM {table}.files") == [(1,)]
    assert lake.content(table) == content
    assert lake.keep("k")["t"].state == State.HEALTHY


def test_tables_in_s3_are_kept_healthy_too(spark: SparkSession, s3_lake: HeadgateServer) -> None:
    """With the keys that the server hands out."""
    server = Server(s3_lake.url)
    with spark_session(SparkOptions(), "tests", server, "main", iceberg=True) as session:
        lake = Lake(session, server)
        table = lake.table(f"{lake.schema('hg.s')}.t", {"expire.max-snapshot-age-ms": "1"})
        lake.insert(table, files=6)
        lake.rows(f"DELETE FROM {table} WHERE id % 2 = 0")
        content = lake.content(table)

        found = lake.keep("s")

        assert found.procedures("t") == [MERGE, EXPIRE]
        assert lake.rows(f"SELECT count(*) FROM {table}.all_files") == [(1,)]
        assert lake.content(table) == content
        assert lake.keep("s")["t"].state == State.HEALTHY


ENTRY = (
    "status INT, sequence_number BIGINT, data_file STRUCT<content: INT, file_format: STRING, "
    "file_path: STRING, record_count: BIGINT, spec_id: INT, `partition`: STRUCT<p: INT>, "
    "referenced_data_file: STRING, lower_bounds: MAP<INT, BINARY>, upper_bounds: MAP<INT, BINARY>>"
)
PATHS = 2147483546


def entry(
    path: str,
    *,
    content: int = 0,
    sequence: int = 1,
    records: int = 100,
    part: int = 0,
    of: str = "",
    between: tuple[str, str] | None = None,
    status: int = 1,
) -> tuple[Any, ...]:
    """One line of a manifest; `of` and `between` are how delete files name data files."""
    lower, upper = ({PATHS: bytearray(path, "utf-8")} for path in between or ("", ""))
    bounds = (lower, upper) if between else (None, None)
    kind = "PUFFIN" if path.endswith("puffin") else "PARQUET"
    return (
        status,
        sequence,
        (content, kind, path, records, 0, (part,), of or None, *bounds),
    )


def test_small_files_are_worth_merging_where_half_as_many_will_do(spark: SparkSession) -> None:
    """Partition by partition; files of earlier ways of partitioning are one group."""
    sizes = [
        *((0, 0, 10) for _ in range(5)),  # enough of them
        *((0, 1, 10) for _ in range(4)),  # too few
        *((0, 2, 70) for _ in range(6)),  # five would be left
        *((0, 3, 75) for _ in range(9)),  # large enough
        *((1, part, 1) for part in range(5)),  # enough of them together
    ]
    files = spark.createDataFrame(
        [(spec, (part,), size) for spec, part, size in sizes],
        "spec_id INT, `partition` STRUCT<p: INT>, file_size_in_bytes BIGINT",
    )
    files.createOrReplaceGlobalTempView("data_files")
    statement = STATEMENTS["small_files"].format(table="global_temp", partition="`partition`")

    told = {"spec": 0, "small_bytes": 75, "target_bytes": 100, "inputs": 5}
    [row] = spark.sql(statement, args=told).collect()

    assert row.asDict() == {
        "small_files": 20,
        "mergeable_files": 10,
        "mergeable_bytes": 55,
        "mergeable_partitions": 2,
        "merged_files": 2,
    }


def asked(spark: SparkSession, entries: list[tuple[Any, ...]]) -> dict[str, int]:
    """What is told of a table with these manifests, where three delete files or three tenths of its
    rows make a data file worn."""
    spark.createDataFrame(entries, ENTRY).createOrReplaceGlobalTempView("entries")
    statement = STATEMENTS["deletes"].format(table="global_temp", partition="data_file.`partition`")
    [row] = spark.sql(statement, args={"deletes": 3, "ratio": 0.3}).collect()
    return {name: count for name, count in row.asDict().items() if count}


def test_position_deletes_are_told_apart_in_manifests(spark: SparkSession) -> None:
    """By the one data file that they are of, if there is one, and if it is still there."""
    found = asked(
        spark,
        [
            entry("clean"),
            entry("worn by rows"),
            entry("d1", content=1, of="worn by rows", records=30),
            entry("not yet"),
            entry("d2", content=1, between=("not yet", "not yet"), records=29),
            entry("worn by files"),
            *(entry(f"d3{n}", content=1, of="worn by files", records=1) for n in range(3)),
            entry("d4", content=1, of="gone", records=1_000),
            entry("d5", content=1, between=("clean", "worn by rows"), records=90),
            entry("d6", content=1, of="clean", records=99, status=2),
            entry("worn by a vector"),
            entry("v.puffin", content=1, of="worn by a vector", records=40),
        ],
    )

    assert found == {
        "worn_files": 3,
        "position_delete_files": 7,  # d1, d2, three of d3, d4, d5
        "superfluous_delete_files": 3,  # d4, and two of d3
        "deleted_records": 1_192,
        "shared_deleted_records": 90,
    }


def test_equality_deletes_wear_what_is_older_in_their_partition(spark: SparkSession) -> None:
    """Data files of the same commit, of later ones and of other partitions do not care."""
    found = asked(
        spark,
        [
            *(entry(f"e{n}", content=2, sequence=5 + n) for n in range(3)),
            *(entry(f"a{n}", sequence=n) for n in range(3, 8)),
            entry("other partition", part=1),
        ],
    )

    assert found == {"worn_files": 2}
