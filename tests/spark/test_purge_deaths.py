"""Purges by Spark whose executors and drivers are killed; part of `./test full`."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import psutil
import pytest

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.table import make_table
from headgate.purge.deleter import Deleter
from headgate.purge.fence import Fence
from headgate.purge.job_states import State
from headgate.purge.spark_driver import driver_pool
from headgate.purge.steps import LEAVES
from headgate.testing.headgate_server import HeadgateServer, environment
from tests.purge.lake import Lake, in_the_end
from tests.purge.listing import files_below, local_path
from tests.spark.cluster import SparkCluster
from tests.spark.purging import CONF, FILES_BELOW, SETTINGS, drivers, patient, sets, wait_for
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.dropped import files_below as names_below

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

FILES = 40_000
"""Enough to be killed in the middle."""


def when_first_deleted(data: Path, kill: Callable[[], object]) -> threading.Thread:
    """Do something as soon as a file in a folder, or below it, is gone."""
    before = {path: path.stat().st_mtime_ns for path in [data, *data.rglob("*")] if path.is_dir()}

    def is_untouched() -> bool:
        return all(path.stat().st_mtime_ns == time for path, time in before.items())

    def watch() -> None:
        with contextlib.suppress(FileNotFoundError):
            while is_untouched():
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
    left: list[int] = []

    def kill() -> None:
        for driver in drivers(purging):
            os.kill(driver.pid, signal.SIGKILL)
        left.append(len(files_below(folder)))

    killing = when_first_deleted(folder / "data", kill)
    lake.drop("large")
    job = wait_for(lake, "large", State.SUCCEEDED, attempts=2)
    killing.join()

    assert 0 < left[0] < made.files
    assert job["files-deleted"] + job["files-missing"] == job["files-expected"] == made.files
    assert not folder.exists()
    assert files_below(lake.known["kept"].folder) == lake.known["kept"].files
    lake.close()


@pytest.mark.timeout(600)
def test_a_program_that_is_killed_is_run_again(tmp_path: Path) -> None:
    """When its job is open again its driver deletes nothing more; the next one does the rest."""
    settings = {
        **SETTINGS,
        "purger.async.worker-threads": "0",
        "purger.async.lease-timeout-ms": "5000",
    }
    with patient(), HeadgateServer(tmp_path, *sets(settings)) as server:
        catalog = Catalog(server.iceberg_url, warehouse="main")
        made = make_table(catalog, ("shop", "large"), FILES)
        folder = local_path(made.location)
        catalog.ask("DELETE", f"{made.path}?purgeRequested=true")
        program = subprocess.Popen(command(server), env=environment(), stdout=subprocess.DEVNULL)
        below: list[psutil.Process] = []

        def kill() -> None:
            below.extend(psutil.Process(program.pid).children(recursive=True))
            program.kill()

        when_first_deleted(folder / "data", kill).join()
        code = program.wait()
        assert in_the_end(lambda: jobs(server, State.PENDING) == 1, 60.0), server.said()
        left = len(files_below(folder))
        time.sleep(1.0)
        still = len(files_below(folder))
        orphans = psutil.wait_procs(below, 60.0)[1]
        done = json.loads(subprocess.check_output(command(server), env=environment()))

    [job] = done["jobs"]
    assert code == -signal.SIGKILL
    assert len(below) > 1
    assert orphans == []
    assert 0 < left == still < made.files
    assert (job["state"], job["deleted"] + job["missing"]) == (State.SUCCEEDED, made.files)
    assert not folder.exists()


def command(server: HeadgateServer) -> list[str]:
    """`headgate pipeline purge` for a server."""
    conf = [part for name, text in CONF.items() for part in ("--conf", f"{name}={text}")]
    words = ["pipeline", "purge", "--server", server.url, "--master", "local[1]", "--json", *conf]
    return [sys.executable, "-m", "headgate", *words]


def jobs(server: HeadgateServer, state: str) -> int:
    """How many jobs of a server are in a state."""
    url = f"{server.url}/management/v1/jobs"
    return len(httpx.get(url, params={"state": state}, trust_env=False).json()["jobs"])
