"""Pipelines whose executors are killed: the end is as if nothing had happened. Those of `orphans`,
`purge` and `sweep` are with their own tests."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headgate.pipelines.names import TableName
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.portage.folder import load_manifest
from headgate.testing.headgate_server import HeadgateServer
from tests.portage.test_killed import TABLES, load_table, make_tables
from tests.spark.cluster import SparkCluster
from tests.spark.dying import APPENDING, MEASURING, SENDING, WRITING, run_dying, run_on
from tests.spark.test_export import realm, vanish
from tests.unit.catalog.lakes import METALAKE

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.timeout(600),  # JVMs of a cluster and of a driver, on a machine that may be busy
    # pyspark leaves the socket of each result to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
FILES = 120


def rows(server: Server, query: str) -> list[tuple[Any, ...]]:
    with spark_session(SparkOptions(), "look", server, "main", iceberg=True) as session:
        return [tuple(row) for row in session.sql(query).collect()]


def test_an_inventory_has_each_table_once(
    cluster: SparkCluster, server: HeadgateServer, headgate: Server, tmp_path: Path
) -> None:
    """Another executor measures them again, and one commit has them all."""
    make_tables(server.iceberg_url)

    told = run_dying(MEASURING, cluster, server, tmp_path / "killed", "inventory")

    query = "SELECT count(*), count(DISTINCT levels) FROM hg.headgate_inventory.tables"
    assert rows(headgate, query) == [(told["tables"], told["tables"])]
    assert told["tables"] == len(TABLES) + 1


def test_history_has_each_change_once(
    cluster: SparkCluster, server: HeadgateServer, headgate: Server, tmp_path: Path
) -> None:
    """What a killed executor had written is part of no commit."""
    before = headgate.get("/management/v1/changes", metalake=METALAKE, limit="1000")["changes"]

    run_dying(APPENDING, cluster, server, tmp_path / "killed", "history", "--at-once", "4")

    query = "SELECT position FROM hg.headgate_history.changes"
    found = [position for (position,) in rows(headgate, query)]
    assert len(found) == len(set(found))
    assert {one["position"] for one in before} <= set(found)


def test_a_compaction_is_made_all_the_same(
    cluster: SparkCluster, server: HeadgateServer, headgate: Server
) -> None:
    """While it writes, all executors are killed; it is committed once, with every row."""
    told = "'headgate.upkeep.expire.enabled' = 'false', 'write.distribution-mode' = 'none'"
    rows(headgate, "CREATE NAMESPACE hg.dying")
    rows(headgate, f"CREATE TABLE hg.dying.t (id BIGINT) USING iceberg TBLPROPERTIES ({told})")
    many = f"SELECT /*+ REPARTITION({FILES}) */ id FROM range({FILES * 10})"
    rows(headgate, f"INSERT INTO hg.dying.t {many}")
    location = headgate.load(TableName("main", ("dying",), "t")).metadata_location
    folder = Path(urlsplit(location).path).parents[1] / "data"
    known = len(list(folder.iterdir()))
    killed: list[int] = []

    def kill() -> None:
        while len(list(folder.iterdir())) == known:
            time.sleep(0.01)
        killed.extend(cluster.executors())
        for victim in killed:
            os.kill(victim, signal.SIGKILL)

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    summary = run_on(cluster, server, "upkeep", "--table", "dying.t")

    assert killed
    assert summary["totals"]["improved"] == 1
    assert summary["tables"][0]["done"][0]["counts"]["rewritten_data_files_count"] == FILES
    assert rows(headgate, "SELECT count(*), sum(record_count) FROM hg.dying.t.files") == [
        (1, FILES * 10)
    ]
    assert rows(headgate, "SELECT count(*), count(DISTINCT id) FROM hg.dying.t") == [
        (FILES * 10, FILES * 10)
    ]


def test_a_metalake_moves_exactly(
    cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Files that were written and rows that were sent by who was killed are there once."""
    with HeadgateServer(tmp_path_factory.mktemp("moving")) as server:
        tables = make_tables(server.iceberg_url)
        realm(server, "export", METALAKE, str(tmp_path / "whole"))
        whole = load_manifest(tmp_path / "whole")

        run_dying(WRITING, cluster, server, tmp_path / "writer", "export", str(tmp_path / "dying"))
        written = load_manifest(tmp_path / "dying")
        vanish(server)
        done = run_dying(
            SENDING, cluster, server, tmp_path / "sender", "import", str(tmp_path / "dying")
        )
        realm(server, "export", METALAKE, str(tmp_path / "again"))

        assert written.facts == whole.facts
        assert (done["state"], done["content"]) == ("ACTIVE", whole.facts.content)
        assert load_manifest(tmp_path / "again").facts == whole.facts
        assert {name: load_table(server.iceberg_url, name) for name in TABLES} == tables
