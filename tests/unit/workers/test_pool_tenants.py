"""Tenants that share a pool of worker processes, with jobs that end when the test says so."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from headgate.workers.pool import PoolOptions, WorkerPool
from headgate.workers.turns import Tenant

PATIENCE_SECONDS = 50  # less than the time after which a pool gives a job up
WORKER = """
import os
from headgate.workers.serving import live

def echo(*parts): yield b"|".join(parts)
def spin(mark):
    while not os.path.exists(mark): pass
    yield b"released"

live({b"echo": echo, b"spin": spin})
"""


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool((sys.executable, "-c", WORKER), PoolOptions(workers=2, is_shared=True))
    yield pool
    await pool.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def test_jobs_that_never_end_hold_up_no_other_tenant(
    pool: WorkerPool, tmp_path: Path
) -> None:
    """Another principal and another metalake are answered while they run, and they go on after."""
    mark = tmp_path / "mark"
    hostile = [
        asyncio.ensure_future(pool.run("spin", bytes(mark), tenant=Tenant("north", "mallory")))
        for _ in range(4)
    ]
    await until(lambda: pool.processes == 2)

    async with asyncio.timeout(PATIENCE_SECONDS):
        for tenant in (Tenant("north", "ann"), Tenant("south", "bob"), Tenant("north", "ann")):
            assert await pool.run("echo", b"answer", tenant=tenant) == b"answer"

    assert not any(job.done() for job in hostile)
    assert pool.processes == 3
    mark.touch()
    assert await asyncio.gather(*hostile) == [b"released"] * 4


async def test_a_principal_that_is_alone_has_no_more_processes_than_before(
    pool: WorkerPool,
) -> None:
    """Those for others are not started for it."""
    alone = Tenant("north", "ann")

    await asyncio.gather(*(pool.run("echo", tenant=alone) for _ in range(6)))

    assert pool.processes == 2
