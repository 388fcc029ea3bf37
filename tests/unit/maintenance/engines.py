"""Sweeps by either engine, with something else going on at known points: by one process, and by
the driver and the executors of Spark, without Spark."""

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.kernel.backend import Backend
from headgate.kernel.cache import Cache
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import ScannedRow
from headgate.kernel.store import Store
from headgate.maintenance.commits import CHANGES_TYPE
from headgate.maintenance.marks import Entrance
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.maintenance.sweep import Sweep
from headgate.pipelines import sweep as driver
from headgate.pipelines import sweep_rows as executors
from headgate.pipelines.reporting import Report
from tests.unit.maintenance.stores import KNOWN

ENGINES = ["process", "spark"]

Happens = Callable[[], Awaitable[object]]


async def nothing() -> None:
    """What happens if a test does not say."""


class Meanwhile(NamedTuple):
    """What happens while a sweep is under way."""

    before_scan: Happens = nothing
    """When all that lives is marked."""
    before_delete: Happens = nothing
    """When all checks are done and the first rows are about to be deleted."""


class LocalStages:
    """The stages of a sweep on Spark, with the code of its executors, in this process."""

    def __init__(self, terms: executors.Terms, sweep: Sweep, meanwhile: Meanwhile) -> None:
        self.forgotten: set[str] = set()
        self._terms = terms
        self._counts = sweep.counts
        self._meanwhile = meanwhile
        self._loop = asyncio.get_running_loop()
        self._marks: set[tuple[str, int]] = set()
        self._rows: list[ScannedRow] = []

    def mark(self, known: "dict[str, array[int]]", entrances: list[Entrance]) -> None:
        self._marks = {(realm, id) for realm, ids in known.items() for id in ids}
        if entrances:
            names = ("realm", "pointer", "index", "pages", "is_current")
            work = [dict(zip(names, one, strict=True)) for one in entrances]
            for batch in executors.mark(self._terms, iter([pa.RecordBatch.from_pylist(work)])):
                self._marks |= {(one["realm"], one["id"]) for one in batch.to_pylist()}

    def scan(self) -> None:
        self._happens(self._meanwhile.before_scan)
        share = pa.RecordBatch.from_pylist([{"id": 0}])
        for batch in executors.scan(self._terms, iter([share])):
            for one in batch.to_pylist():
                kind, _ = one.pop("kind"), one.pop("count")
                if kind == executors.ROW:
                    self._rows.append(ScannedRow(**one))

    def find_dead(self) -> set[str]:
        self._rows = [row for row in self._rows if (row.realm, row.id) not in self._marks]
        return {row.realm for row in self._rows}

    def delete(self) -> dict[str, list[ScannedRow]]:
        self._happens(self._meanwhile.before_delete)
        dead = [row._asdict() for row in self._rows if row.type != CHANGES_TYPE]
        if dead:
            rows = iter([pa.RecordBatch.from_pylist(dead)])
            [deleted] = executors.delete(self._terms, rows)
            self._counts.rows_deleted += deleted.to_pylist()[0]["rows"]
        changes: dict[str, list[ScannedRow]] = {}
        for row in self._rows:
            if row.type == CHANGES_TYPE:
                changes.setdefault(row.realm, []).append(row)
        return changes

    def close(self) -> None:
        pass

    def _happens(self, step: Happens) -> None:
        async def happen() -> None:
            await step()

        asyncio.run_coroutine_threadsafe(happen(), self._loop).result()


async def sweep_by(
    engine: str,
    kernel: Kernel,
    grace_ms: int,
    meanwhile: Meanwhile,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Sweep all of a store."""
    order = Order(by="test", holder="test:1", engine=engine, grace_ms=grace_ms)
    running = Running(kernel, order, KNOWN)
    await running.begin()
    if engine == "process":
        return await running.complete(partial(_by_process, kernel, meanwhile, monkeypatch))
    return await running.complete(partial(_by_spark, kernel, meanwhile, monkeypatch))


async def _by_process(
    kernel: Kernel, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch, sweep: Sweep
) -> None:
    scan, delete, is_first = sweep._scan, kernel.store.delete, True

    async def scan_later(live: Any) -> None:
        await meanwhile.before_scan()
        await scan(live)

    async def delete_later(realm: str, ids: list[int]) -> None:
        nonlocal is_first
        if is_first:
            is_first = False
            await meanwhile.before_delete()
        await delete(realm, ids)

    monkeypatch.setattr(sweep, "_scan", scan_later)
    with monkeypatch.context() as patch:
        patch.setattr(kernel.store, "delete", delete_later)
        await sweep.run()


async def _by_spark(
    kernel: Kernel, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch, sweep: Sweep
) -> None:
    monkeypatch.setattr(executors, "_opened", partial(_opened, kernel.backend, kernel))
    monkeypatch.setattr(
        driver,
        "_Stages",
        lambda _session, _report, terms, sweep, _look: LocalStages(terms, sweep, meanwhile),
    )
    await driver._sweep(
        sweep,
        store=driver.Store(lambda: kernel, {}, KNOWN),
        session=cast(SparkSession, None),
        report=cast(Report, None),
        shares=1,
    )


@contextmanager
def _opened(
    backend: Backend, kernel: Kernel, _terms: executors.Terms
) -> Iterator[tuple[Store, executors.Wait]]:
    """The same database, as an executor opens it: without a cache and without a node id."""
    with asyncio.Runner() as runner:
        store = Store(backend, kernel.store.types, Cache(0))
        yield store, runner.get_loop().run_until_complete
