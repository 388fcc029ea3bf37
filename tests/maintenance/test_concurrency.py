"""Sweeps with a tiny grace while others commit and read: nothing that lives is deleted, and in the
end everything that is dead is."""

import asyncio
import random
from collections.abc import Callable

import pytest

from headgate.kernel.commit import CommitOptions
from headgate.maintenance.lease import LOOK_SECONDS
from headgate.testing.faults import Faults
from headgate.testing.kernels import Rig
from tests.conftest import FULL
from tests.maintenance.crowd import Crowd, Pause
from tests.seeds import draw_seed
from tests.unit.maintenance.stores import TYPES

CHANGES = 1_000 if FULL else 80  # of each writer
SIMULATED_GRACE_MS = 20_000  # where answers are lost a commit may take its whole timeout
REAL_GRACE_MS = 2_000  # a busy machine may hold a commit up
STEP_MS = 20
SIMULATED = 4  # times as many changes: they take no time
# Reads fail too, and a sweep that meets a failure is over: with more of them none comes to its end.
FAULTS = {"lost_before": 0.006, "lost_after": 0.006, "late": 0.04, "duplicate": 0.05, "delay": 0.2}


async def crowd_on(rig: Rig, grace_ms: int, seed: int, pause: Pause) -> Crowd:
    """A crowd on a new realm of this database."""
    nodes = [
        await rig.open(types=TYPES, commit=CommitOptions(timeout_seconds=5.0), cache_bytes=bytes)
        for bytes in (1 << 20, 0)
    ]
    realm = (await nodes[0].realms.create("acme")).id
    return Crowd(nodes, realm, grace_ms, random.Random(seed), pause)


async def test_where_answers_are_lost_and_writes_are_late() -> None:
    """In a simulated time that passes quickly, with faults of all kinds."""
    seed = draw_seed("sweeping")
    faults = Faults(seed, **FAULTS)
    faults.active = False
    async with Rig(faults) as rig:

        async def pause(seconds: float) -> None:
            end = rig.clock.seconds() + seconds
            while rig.clock.seconds() < end:
                rig.clock.advance(STEP_MS)
                await asyncio.sleep(0)

        crowd = await crowd_on(rig, SIMULATED_GRACE_MS, seed, pause)
        rig.clock.short_seconds = LOOK_SECONDS + 0.1  # heartbeats take their time
        faults.active = True
        await crowd.work(SIMULATED * CHANGES, until_deleted=True)
        faults.active = False
        assert crowd.rows_deleted > 0
        assert crowd.heads_read > 0
        await pause(SIMULATED_GRACE_MS / 1_000)
        await crowd.end()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_on_real_databases(make_rig: Callable[[str], Rig], database: str) -> None:
    """In real time, from two nodes."""
    async with make_rig(database) as rig:
        crowd = await crowd_on(rig, REAL_GRACE_MS, draw_seed("sweeping"), asyncio.sleep)
        await crowd.work(CHANGES)
        assert crowd.heads_read > 1
        await asyncio.sleep(REAL_GRACE_MS / 1_000)
        await crowd.end()
