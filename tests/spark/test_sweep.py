"""The sweep on Spark: the same end as that of one process, on each database; killed and run
again."""

import asyncio
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalogs import bootstrap
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.polling import per_request
from headgate.errors import LeaseLost
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

TABLES = 70  # so many names take pages of their own
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
SHARES = 2


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
            await node.table(f"t{n}")
        for n in range(0, TABLES, 3):
            await node.made(f"namespaces/a/tables/t{n}", commit([set_properties(k="1")]))
        for n in range(1, TABLES, 3):
            await node.delete(f"namespaces/a/tables/t{n}")
        realm = (await kernel.realms.get(METALAKE)).id
        gone = str(kernel.ids.next())
        for owner in (realm, gone):
            objects = {kernel.ids.next(): CatalogEntity(0, "x", "", {}) for _ in range(300)}
            await kernel.store.write(owner, objects)
        await node.close()


async def rows_of(settings: Settings) -> dict[tuple[str, int, int], Row]:
    """All rows but those of the system, which remembers the sweeps themselves."""
    async with open_kernel(settings) as kernel:
        found = (await snapshot(kernel.backend)).rows
        return {key: row for key, row in found.items() if key[0] != SYSTEM_REALM}


async def swept_here(settings: Settings, *, is_dry: bool = False) -> Run:
    """Sweep in this process, without a grace."""
    async with open_kernel(settings) as kernel:
        order = Order(by="test", holder="test:1", grace_ms=0, is_dry=is_dry)
        running = Running(kernel, order)
        await running.begin()
        return await running.complete()


def swept_by_spark(
    settings: Settings, *, is_dry: bool = False, place: dict[str, str] | None = None
) -> SweepSummary:
    """The same on the Spark of this test run; executors may look for the store elsewhere."""
    order = Order(by="test", holder="test:2", engine=SPARK, grace_ms=0, is_dry=is_dry)
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


KILLED = """
import os, signal, sys
from headgate.cli import pipeline_sweep
from headgate.cli.pipeline import pipeline
from headgate.maintenance.service import Terms
from headgate.pipelines import sweep
delete = sweep._Stages.delete
def killed(self):
    self._rows = self._rows.where("id % 2 = 0")
    delete(self)
    os.kill(os.getpid(), signal.SIGKILL)
sweep._Stages.delete = killed
pipeline_sweep.maintenance_terms = lambda _: Terms(0, 0)
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
