"""Purges by Spark whose executors and drivers are killed in the middle, by who deletes for them."""

import json
import os
import signal
import subprocess
import sys
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
from headgate.purge.spark_driver import DRIVER, driver_pool
from headgate.purge.steps import LEAVES
from headgate.testing.headgate_server import HeadgateServer, environment
from tests.purge.lake import Lake, in_the_end
from tests.purge.listing import files_below, local_path
from tests.spark.cluster import EXECUTOR, SparkCluster
from tests.spark.elsewhere import Other
from tests.spark.purging import (
    CONF,
    FILES_BELOW,
    SETTINGS,
    START_SECONDS_MAX,
    patient,
    sets,
    wait_for,
)
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.dropped import files_below as names_below

pytestmark = [
    pytest.mark.timeout(600),  # each starts Spark twice, on a machine that may be busy
    # pyspark leaves the socket of each result to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

FILES = 2_000
FILES_BEFORE = 500
"""Are gone when somebody is killed. Whoever is left would need more time for the others than a
lease lasts."""
PROGRAM = "headgate pipeline purge"


def deadly_children(victim: str, mark: Path) -> dict[str, str]:
    """Variables that make Python on executors kill who has these words in his command."""
    places = [str(Path(__file__).parent / "deadly_children"), os.environ.get("PYTHONPATH")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
        "DEADLY_VICTIM": victim,
        "DEADLY_FILES": str(FILES_BEFORE),
        "DEADLY_MARK": str(mark),
    }


async def test_an_executor_that_dies_is_replaced(
    cluster: SparkCluster, fence: Fence, tmp_path: Path
) -> None:
    """Spark does its tasks again: what they had deleted is missing then, and all is gone."""
    table = DroppedTable(tmp_path).with_many(FILES, manifests=4)
    mark = tmp_path / "killed"
    deadly = deadly_children(EXECUTOR, mark)
    options = cluster.options(**{f"spark.executorEnv.{name}": deadly[name] for name in deadly})
    pool = driver_pool(60.0)
    deleter = Deleter(pool, FILES_BELOW, msgspec.json.encode(options))
    try:
        told = [one async for one in deleter.run(table.task(LEAVES), fence.path)]
    finally:
        await pool.close()

    assert [line for one in told for line in one.failed] == []
    assert told[-1].deleted + told[-1].missing == FILES
    assert FILES_BEFORE <= told[-1].missing < FILES
    assert have_ended(mark)
    assert names_below(table.data) == set()


def test_a_driver_that_is_killed_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on, the job too, and nothing else is touched."""
    mark = tmp_path / "killed"
    for name, text in deadly_children(DRIVER[-1], mark).items():
        monkeypatch.setenv(name, text)
    with patient(), HeadgateServer(tmp_path, *sets(SETTINGS)) as server:
        lake = Lake(server)
        lake.create("kept")
        catalog = Catalog(server.iceberg_url, warehouse=f"{lake.metalake}.{lake.catalog}")
        made = make_table(catalog, ("shop", "large"), FILES)
        lake.drop("large")
        assert in_the_end(mark.exists, START_SECONDS_MAX), server.said()
        job = wait_for(lake, "large", State.SUCCEEDED, attempts=2)
        assert have_ended(mark)
        lake.close()

    assert job["files-deleted"] + job["files-missing"] == job["files-expected"] == made.files
    assert FILES_BEFORE <= job["files-missing"] < made.files
    assert not local_path(made.location).exists()
    assert files_below(lake.known["kept"].folder) == lake.known["kept"].files


def test_a_program_that_is_killed_is_run_again(tmp_path: Path) -> None:
    """When its job is open again its driver deletes nothing more; the next one does the rest, but
    for what a table of another catalog refers to."""
    settings = {
        **SETTINGS,
        "purger.async.worker-threads": "0",
        "purger.async.lease-timeout-ms": "5000",
    }
    mark = tmp_path / "killed"
    deadly = environment() | deadly_children(PROGRAM, mark)
    with patient(), HeadgateServer(tmp_path, *sets(settings)) as server:
        catalog = Catalog(server.iceberg_url, warehouse="main")
        made = make_table(catalog, ("shop", "large"), FILES)
        folder = local_path(made.location)
        kept = set(sorted(files_below(folder / "data"))[:2])
        Other(server, "default").refer(map(str, kept))
        catalog.ask("DELETE", f"{made.path}?purgeRequested=true")
        killed = subprocess.run(command(server), env=deadly, stdout=subprocess.DEVNULL, check=False)
        assert in_the_end(lambda: jobs(server, State.PENDING) == 1), server.said()
        left = len(files_below(folder))
        assert have_ended(mark)
        still = len(files_below(folder))
        done = json.loads(subprocess.check_output(command(server), env=environment()))

    [job] = done["jobs"]
    assert killed.returncode == -signal.SIGKILL
    assert 0 < left == still <= made.files - FILES_BEFORE
    gone = job["deleted"] + job["missing"]
    assert (job["state"], gone) == (State.SUCCEEDED, made.files - len(kept))
    assert files_below(folder) == kept


def have_ended(mark: Path) -> bool:
    """Whether all end that hung below whoever was killed: Python on executors, at least."""
    below = json.loads(mark.read_text())
    assert len(below) > 1
    return in_the_end(lambda: not any(map(psutil.pid_exists, below)))


def command(server: HeadgateServer) -> list[str]:
    """`headgate pipeline purge` for a server."""
    conf = [part for name, text in CONF.items() for part in ("--conf", f"{name}={text}")]
    words = [*PROGRAM.split(), "--server", server.url, "--master", "local[1]", "--json", *conf]
    return [sys.executable, "-m", *words]


def jobs(server: HeadgateServer, state: str) -> int:
    """How many jobs of a server are in a state."""
    url = f"{server.url}/management/v1/jobs"
    return len(httpx.get(url, params={"state": state}, trust_env=False).json()["jobs"])
