"""Purges by Spark whose executors and drivers are killed; part of `./test full`."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.table import make_table
from headgate.purge.deleter import Deleter
from headgate.purge.fence import Fence
from headgate.purge.jobs import LEAVES, State
from headgate.purge.spark_deleter import driver_pool
from headgate.testing.headgate_server import HeadgateServer
from tests.purge.lake import Lake
from tests.purge.listing import files_below, local_path
from tests.spark.cluster import SparkCluster
from tests.spark.purging import FILES_BELOW, drivers, wait_for
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.dropped import files_below as names_below

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

FILES = 20_000
"""Enough to be killed in the middle."""


def when_first_deleted(folder: Path, kill: Callable[[], object]) -> threading.Thread:
    """Do something as soon as a file of a folder is gone."""
    before = folder.stat().st_mtime_ns

    def watch() -> None:
        with contextlib.suppress(FileNotFoundError):
            while folder.stat().st_mtime_ns == before:
                pass
            kill()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


async def test_an_executor_that_dies_is_replaced(
    cluster: SparkCluster, fence: Fence, tmp_path: Path
) -> None:
    """Spark does its tasks again: what they had deleted is missing then, and all is gone."""
    table = DroppedTable(tmp_path).with_many(FILES, manifests=4)
    pool = driver_pool(60.0)
    deleter = Deleter(pool, FILES_BELOW, msgspec.json.encode(cluster.options()))
    killing = when_first_deleted(table.data, cluster.kill_executor)
    try:
        told = [one async for one in deleter.run(table.task(LEAVES), fence.path)]
    finally:
        await pool.close()
        killing.join()

    assert [line for one in told for line in one.failed] == []
    assert told[-1].deleted + told[-1].missing == FILES
    assert names_below(table.data) == set()


def test_a_driver_that_is_killed_is_followed_by_another(purging: HeadgateServer) -> None:
    """The server goes on, the job too, and nothing else is touched."""
    lake = Lake(purging)
    lake.create("kept")
    catalog = Catalog(purging.iceberg_url, warehouse=f"{lake.metalake}.{lake.catalog}")
    made = make_table(catalog, ("shop", "large"), FILES)
    folder = local_path(made.location)
    first = next(path for path in (folder / "data").rglob("*") if path.is_file()).parent
    left: list[int] = []

    def kill() -> None:
        for driver in drivers(purging):
            os.kill(driver.pid, signal.SIGKILL)
        left.append(len(files_below(folder)))

    killing = when_first_deleted(first, kill)
    lake.drop("large")
    job = wait_for(lake, "large", State.SUCCEEDED, attempts=2)
    killing.join()

    assert 0 < left[0] < made.files
    assert job["files-deleted"] + job["files-missing"] == job["files-expected"] == made.files
    assert not folder.exists()
    assert files_below(lake.known["kept"].folder) == lake.known["kept"].files
    lake.close()
