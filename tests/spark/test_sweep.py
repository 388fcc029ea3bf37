"""The sweep on Spark: the same end as that of one process, on each database; killed and run
again."""

import asyncio
import itertools
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from headgate.catalog.catalogs import bootstrap
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.polling import per_request
from headgate.errors import LeaseLost
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import Row
from headgate.kernel.system import SYSTEM_REALM
from headgate.maintenance import lease
from headgate.maintenance.running import SPARK, Order, Running
from headgate.maintenance.runs import Counts, Run
from headgate.maintenance.views import RunView, State, all_runs
from headgate.pipelines import sweep
from headgate.pipelines.reporting import Report
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.sweep import Store, SweepSummary
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.testing.headgate_server import environment
from headgate.testing.kernels import Rig, snapshot
from headgate.testing.postgresql import PostgresqlServer
from headgate.testing.spark_session import JAVA_OPTIONS
from headgate.wiring import open_kernel, place_of
from tests.spark.cluster import SparkCluster
from tests.unit.catalog.lakes import (
    CATALOG,
    LOCAL,
    METALAKE,
    OPTIONS,
    UNGUARDED,
    Node,
    World,
    commit,
    set_properties,
)

TABLES = 70
NAME = "a_table_with_a_name_so_long_that_all_of_them_take_pages_of_their_own_{}".format
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
SHARES = 2
GRACE_MS = 3_000


@pytest.fixture(name="settings", params=["sqlite", "postgresql"])
def _settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of a store with a catalog in which much was changed."""
    if request.param == "sqlite":
        settings = load(sets=[f"data={tmp_path / 'data'}"])
    else:
        server: PostgresqlServer = request.getfixturevalue("postgresql_server")
        settings = load(sets=[f"backend={server.create_database()}", f"data={tmp_path}"])
    asyncio.run(fill(settings, tmp_path))
    return settings


async def fill(settings: Settings, folder: Path) -> None:
    """Tables that are made, changed and dropped, and objects that nothing refers to."""
    world = World(Rig(), folder, LOCAL)
    async with open_kernel(settings) as kernel:
        await bootstrap(kernel, METALAKE, CatalogEntity(0, CATALOG, world.warehouse, {}))
        node = Node(world, kernel, OPTIONS, UNGUARDED, per_request(kernel))
        await node.namespace("a")
        for n in range(TABLES):
            await node.table(NAME(n))
        for n in range(0, TABLES, 3):
            await node.made(_path(NAME(n)), commit([set_properties(k="1")]))
        for n in range(1, TABLES, 3):
            await node.delete(_path(NAME(n)))
        realm = (await kernel.realms.get(METALAKE)).id
        gone = str(kernel.ids.next())
        for owner in (realm, gone):
            objects = {kernel.ids.next(): CatalogEntity(0, "x", "", {}) for _ in range(300)}
            await kernel.store.write(owner, objects)
        await node.close()


def _path(table: str) -> str:
    return f"namespaces/a/tables/{table}"


async def rows_of(settings: Settings) -> dict[tuple[str, int, int], Row]:
    """All rows but fences and those of the system, which remembers the sweeps themselves."""
    async with open_kernel(settings) as kernel:
        found = (await snapshot(kernel.backend)).rows
        logs = [kernel.log.newest_first(key) for key in await kernel.log.pointers()]
        fences = {commit.id for log in logs async for commit in log if not commit.groups}
        return {
            key: row
            for key, row in found.items()
            if key[0] != SYSTEM_REALM and row.id not in fences
        }


async def swept_here(settings: Settings, *, is_dry: bool = False) -> Run:
    """Sweep in this process, without a grace."""
    async with open_kernel(settings) as kernel:
        order = Order(by="test", holder="test:1", grace_ms=0, is_dry=is_dry)
        running = Running(kernel, order)
        await running.begin()
        return await running.complete()


def swept_by_spark(
    settings: Settings,
    *,
    grace_ms: int = 0,
    is_dry: bool = False,
    place: dict[str, str] | None = None,
) -> SweepSummary:
    """The same on the Spark of this test run; executors may look for the store elsewhere."""
    order = Order(by="test", holder="test:2", engine=SPARK, grace_ms=grace_ms, is_dry=is_dry)
    store = Store(partial(open_kernel, settings), place or place_of(settings))
    return sweep.run(order, store, SparkOptions(), Report(is_quiet=True), SHARES)


async def runs_of(settings: Settings) -> list[RunView]:
    """The records of all sweeps."""
    async with open_kernel(settings) as kernel:
        return await all_runs(kernel)


def counted(counts: Counts) -> tuple[int, ...]:
    """What both count alike: each run adds a few rows of its own to those of the system."""
    return counts.realms, counts.rows_deleted, counts.pointers_deleted


@pytest.mark.usefixtures("spark")
def test_spark_comes_to_the_same_end_as_one_process(settings: Settings) -> None:
    """Row for row: what it would delete, what it deletes, and what is left."""
    expected = asyncio.run(swept_here(settings, is_dry=True))
    before = asyncio.run(rows_of(settings))
    dry = swept_by_spark(settings, is_dry=True)
    assert asyncio.run(rows_of(settings)) == before
    wet = swept_by_spark(settings)
    left = asyncio.run(rows_of(settings))
    again = asyncio.run(swept_here(settings))

    assert (dry.failures, wet.failures, wet.state) == ((), (), State.DONE)
    assert counted(dry.counts) == counted(expected.counts)
    assert dry.counts.rows_deleted + 300 <= wet.counts.rows_deleted  # and a deleted realm
    assert len(before) - len(left) > 400
    assert set(left) < set(before)
    assert asyncio.run(rows_of(settings)) == left
    assert again.counts.rows_deleted <= 10  # pages of the runs themselves


@pytest.mark.usefixtures("spark")
def test_the_end_is_that_of_a_sweep_in_one_process(tmp_path: Path) -> None:
    """Of two copies of a store, one each."""
    here, there = (load(sets=[f"data={tmp_path / name}"]) for name in ("here", "there"))
    asyncio.run(fill(here, tmp_path))
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    asyncio.run(swept_here(here))
    swept_by_spark(there)

    assert asyncio.run(rows_of(there)) == asyncio.run(rows_of(here))


class Customer:
    """Changes tables again and again, on a thread of its own, until it is left."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.written: dict[str, str] = {}
        self._settings = settings
        self._world = World(Rig(), folder, LOCAL)
        self._is_over = threading.Event()
        self._thread = ThreadPoolExecutor(1)
        self._work = self._thread.submit(asyncio.run, self._change())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._work.result(60)
        self._thread.shutdown()

    async def found(self) -> dict[str, str]:
        """What another process reads of the same tables."""
        async with open_kernel(self._settings) as kernel:
            node = self._node(kernel)
            answers = {name: await node.get(_path(name)) for name in self.written}
            await node.close()
        return {name: one.json["metadata"]["properties"]["k"] for name, one in answers.items()}

    async def _change(self) -> None:
        async with open_kernel(self._settings) as kernel:
            node = self._node(kernel)
            for n in itertools.count():
                if self._is_over.is_set():
                    break
                name = NAME(3 * (n % 20))
                await node.made(_path(name), commit([set_properties(k=str(n))]))
                self.written[name] = str(n)
            await node.close()

    def _node(self, kernel: Kernel) -> Node:
        return Node(self._world, kernel, OPTIONS, UNGUARDED, per_request(kernel))


@pytest.mark.usefixtures("spark")
def test_commits_go_on_while_spark_sweeps(settings: Settings, tmp_path: Path) -> None:
    """Nothing that lives is deleted, and after the grace all that died meanwhile is."""
    with Customer(settings, tmp_path) as customer:
        runs = [swept_by_spark(settings, grace_ms=GRACE_MS) for _ in range(3)]
    time.sleep(GRACE_MS / 1_000)
    found = asyncio.run(customer.found())
    swept_by_spark(settings, grace_ms=GRACE_MS)
    again = asyncio.run(swept_here(settings))

    assert [one.failures for one in runs] == [()] * 3
    assert sum(one.counts.rows_deleted for one in runs) > 300
    assert len(customer.written) == 20
    assert found == customer.written == asyncio.run(customer.found())
    assert again.failures == ()
    assert again.counts.rows_deleted <= 20  # what the runs themselves replaced


@pytest.mark.usefixtures("spark")
def test_what_fails_on_executors_is_in_the_record(tmp_path: Path) -> None:
    """The run has ended, and nothing is deleted."""
    settings = load(sets=[f"data={tmp_path / 'data'}"])
    asyncio.run(fill(settings, tmp_path))
    before = asyncio.run(rows_of(settings))
    elsewhere = place_of(load(sets=[f"data={tmp_path / 'elsewhere'}"]))
    summary = swept_by_spark(settings, place=elsewhere)
    [run] = asyncio.run(runs_of(settings))

    assert summary.state is run.state is State.FAILED
    assert len(run.failures) == 1
    assert run.failures[0].startswith("while marking: there is no store"), run.failures
    assert asyncio.run(rows_of(settings)) == before


@pytest.mark.usefixtures("spark")
def test_a_lost_lease_stops_what_executors_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would scan for minutes."""

    def slow(_terms: object, _batches: object) -> Any:
        time.sleep(300)
        yield

    async def rest(running: Running) -> None:
        assert running._sweep is not None
        if running._sweep.phase == "scanning":
            raise LeaseLost("somebody else sweeps")

    settings = load(sets=[f"data={tmp_path / 'data'}"])
    asyncio.run(fill(settings, tmp_path))
    before = asyncio.run(rows_of(settings))
    monkeypatch.setattr(sweep, "scan", slow)
    monkeypatch.setattr(Running, "_rest", rest)
    summary = swept_by_spark(settings)

    assert summary.failures == ("while scanning: somebody else sweeps",)
    assert summary.seconds < 100
    assert asyncio.run(rows_of(settings)) == before


SWEEPING = """
import os, signal, sys
from functools import partial
from headgate.cli import pipeline_sweep
from headgate.cli.pipeline import pipeline
from headgate.maintenance.service import Terms
from headgate.pipelines import sweep
pipeline_sweep.maintenance_terms = lambda _: Terms(0, 0)
"""
KILLED = f"""{SWEEPING}
delete = sweep._Stages.delete
def killed(self):
    self._rows = self._rows.where("id % 2 = 0")
    delete(self)
    os.kill(os.getpid(), signal.SIGKILL)
sweep._Stages.delete = killed
pipeline.main(sys.argv[1:])
"""
DYING = f"""{SWEEPING}
def die(mark):
    import psutil
    open(mark, "x").close()
    executor = psutil.Process()
    while "java" not in executor.name():
        executor = executor.parent()
    executor.kill()
    signal.pause()
def dying(work, mark, terms, batches):
    for found in work(terms, batches):
        if not os.path.exists(mark):
            die(mark)
        yield found
mark = sys.argv.pop(1)
for name in ("mark", "scan", "delete"):
    setattr(sweep, name, partial(dying, getattr(sweep, name), mark + name))
pipeline_sweep._check_reachable = lambda *_: None  # its workers are here
pipeline.main(sys.argv[1:])
"""


def test_a_driver_that_was_killed_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Half of the rows were deleted; the next run waits for its lease, and does the rest."""
    whole, settings = (load(sets=[f"data={tmp_path / name}"]) for name in ("whole", "killed"))
    asyncio.run(fill(whole, tmp_path))
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    conf = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": JAVA_OPTIONS}
    options = [part for name, text in conf.items() for part in ("--conf", f"{name}={text}")]
    place = ("--data", str(tmp_path / "killed"), "--master", "local[1]", "--shares", "1")
    before = asyncio.run(rows_of(settings))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "sweep", *place, *options],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    request.getfixturevalue("spark")
    half = asyncio.run(rows_of(settings))
    monkeypatch.setattr(lease, "SWEEP_LEASE_SECONDS", 2.0)
    monkeypatch.setattr(lease, "LOOK_SECONDS", 0.2)
    swept_by_spark(settings)
    asyncio.run(swept_here(whole))

    assert set(half) < set(before)
    assert asyncio.run(rows_of(settings)) == asyncio.run(rows_of(whole))


@pytest.mark.timeout(600)  # JVMs of a cluster and of a driver, on a machine that may be busy
def test_an_executor_that_dies_is_replaced(cluster: SparkCluster, tmp_path: Path) -> None:
    """One after it walked, one after it scanned, one after it deleted: none has told of it."""
    whole, settings = (load(sets=[f"data={tmp_path / name}"]) for name in ("whole", "dying"))
    asyncio.run(fill(whole, tmp_path))
    shutil.copytree(tmp_path / "whole", tmp_path / "dying")
    conf = {**cluster.options().conf, "spark.sql.shuffle.partitions": "2"}
    options = [part for name, text in conf.items() for part in ("--conf", f"{name}={text}")]
    place = ("--data", str(tmp_path / "dying"), "--master", cluster.url, "--shares", "2", "--json")
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path / "died-"), "sweep", *place, *options],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    asyncio.run(swept_here(whole))

    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in tmp_path.glob("died-*")} == {
        "died-mark",
        "died-scan",
        "died-delete",
    }
    assert asyncio.run(rows_of(settings)) == asyncio.run(rows_of(whole))
