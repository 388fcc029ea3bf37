"""A sweep whose process is killed in the middle, and run again."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.catalog.entities import FunctionEntity
from headgate.maintenance import lease
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.maintenance.views import State, all_runs
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.testing.headgate_server import environment
from headgate.testing.kernels import snapshot
from headgate.wiring import open_kernel

WASTE = 1_000
PROGRAM = """
import os, signal, sys
from headgate.cli import maintenance
from headgate.cli.main import run
from headgate.maintenance.deleting import Deletions
from headgate.maintenance.service import Terms
flush, flushed = Deletions.flush, []
async def killed(self):
    await flush(self)
    flushed.append(1)
    if len(flushed) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
Deletions.flush = killed
maintenance.maintenance_terms = lambda _: Terms(0, 0)
run(sys.argv[1:])
"""


async def fill(settings: Settings) -> None:
    """A metalake with objects that nothing refers to."""
    async with open_kernel(settings) as kernel:
        realm = await kernel.realms.create("acme")
        waste = {kernel.ids.next(): FunctionEntity(b"") for _ in range(WASTE)}
        await kernel.store.write(realm.id, waste)


async def wasted(settings: Settings) -> int:
    """How many of them are left."""
    async with open_kernel(settings) as kernel:
        rows = (await snapshot(kernel.backend)).rows
        return sum(row.type == "function" for row in rows.values())


async def swept(settings: Settings) -> tuple[Run, list[State]]:
    """Sweep here; what came of it, and of all runs, the newest first."""
    async with open_kernel(settings) as kernel:
        running = Running(kernel, Order(by="test", holder="test:1", grace_ms=0))
        await running.begin()
        done = await running.complete()
        return done, [run.state for run in await all_runs(kernel)]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_sweep_that_was_killed_is_run_again(
    database: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it deleted is deleted; the next run waits for its lease, and does the rest."""
    place = ["--data", str(tmp_path)]
    if database == "postgresql":
        url = request.getfixturevalue("postgresql_server").create_database()
        place += ["--backend", url]
    settings = load(flags=dict(zip(("data", "backend"), place[1::2], strict=False)))
    asyncio.run(fill(settings))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "maintenance", "run", *place],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    left = asyncio.run(wasted(settings))
    monkeypatch.setattr(lease, "SWEEP_LEASE_SECONDS", 1.0)
    monkeypatch.setattr(lease, "LOOK_SECONDS", 0.1)
    run, states = asyncio.run(swept(settings))

    assert 0 < left < WASTE
    assert run.failures == ()
    assert run.counts.rows_deleted >= left
    assert asyncio.run(wasted(settings)) == 0
    assert states == [State.DONE, State.ABANDONED]
