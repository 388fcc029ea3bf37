"""Rows per second of a sweep on Spark: half of them live, half of them dead."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.pipelines.lakes import make_lake, new_entity
from benchmarks.pipelines.scale import Scale
from benchmarks.stores import say
from headgate.cli.pipeline_sweep import SHARES
from headgate.maintenance.running import SPARK, Order
from headgate.maintenance.views import State
from headgate.pipelines import sweep
from headgate.pipelines.reporting import Report
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.sweep import Store, SweepSummary
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.testing.postgresql import PostgresqlServer
from headgate.wiring import open_kernel, place_of

OBJECTS_PER_WRITE = 500


def measure_sweeps(scale: Scale, disk: Path) -> dict[str, Any]:
    """Both databases, on the same disk."""
    figures: dict[str, Any] = {"sweep_rows_left": 0}
    open_to_all = disk.parents[1]  # the server may run as another user
    with PostgresqlServer(folder=open_to_all) as server:
        databases = {"sqlite": "", "postgresql": server.create_database()}
        for name, url in databases.items():
            flags = {"data": str(disk / name)} | ({"backend": url} if url else {})
            settings = load(flags=flags)
            dead = scale.rows // 2
            asyncio.run(_fill(settings, scale.rows - dead, dead))
            done = _swept(settings)
            per_second = done.counts.scanned / done.seconds
            say(f"{done.counts.scanned:,} rows swept, {name}: {per_second:,.0f} /s")
            figures[f"sweep_rows_per_second_{name}"] = per_second
            figures[f"sweep_rows_{name}"] = done.counts.scanned
            figures["sweep_rows_left"] += max(dead - done.counts.rows_deleted, 0)
    return figures


async def _fill(settings: Settings, live: int, dead: int) -> None:
    """Tables, and as many objects that nothing refers to."""
    async with open_kernel(settings) as kernel:
        realm = await make_lake(kernel, "file:///nowhere", live)
        for start in range(0, dead, OBJECTS_PER_WRITE):
            numbers = range(start, min(start + OBJECTS_PER_WRITE, dead))
            objects = {kernel.ids.next(): new_entity("file:///gone", one) for one in numbers}
            await kernel.store.write(realm.id, objects)


def _swept(settings: Settings) -> SweepSummary:
    """Without a grace, on the session of this process."""
    order = Order(by="benchmark", holder="benchmark:1", engine=SPARK, grace_ms=0)
    store = Store(partial(open_kernel, settings), place_of(settings))
    done = sweep.run(order, store, SparkOptions(), Report(is_quiet=True), SHARES)
    if done.state is not State.DONE or done.failures:
        raise RuntimeError(f"the sweep ended as {done.state}: {'; '.join(done.failures)}")
    return done
