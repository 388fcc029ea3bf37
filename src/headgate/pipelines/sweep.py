"""The sweep on Spark, for databases too large for one process.

The driver takes the lease, fixes the time, looks at all heads and writes the record, as the sweep
of one process does. Executors walk through the pages, scan the rows in shares, and delete what no
mark was found for. Marks are complete before the first row is scanned, and the driver has fenced
every realm in which something is dead before the first row is deleted.
"""

import asyncio
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from headgate.catalog.references import REFERENCES, References
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import ScannedRow
from headgate.limits import SWEEP_PAGES_AT_ONCE
from headgate.maintenance.commits import CHANGES_TYPE, KeptCommits
from headgate.maintenance.extent import is_forgotten
from headgate.maintenance.marks import Entrance
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Counts
from headgate.maintenance.sweep import Sweep
from headgate.maintenance.views import State, view_of
from headgate.pipelines.failures import translated
from headgate.pipelines.reporting import Report
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.pipelines.spark_jobs import collected
from headgate.pipelines.sweep_rows import (
    DELETED,
    LEFT,
    MARKS,
    ROW,
    ROWS,
    STRANGE,
    WORK,
    YOUNG,
    Terms,
    delete,
    mark,
    scan,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

OpenKernel = Callable[[], AbstractAsyncContextManager[Kernel]]


class SweepSummary(msgspec.Struct, frozen=True, rename="kebab"):
    """What a sweep did."""

    run: str
    state: State
    dry_run: bool
    seconds: float
    counts: Counts
    failures: tuple[str, ...]


class Store(msgspec.Struct, frozen=True):
    """How a store is opened: here, and by executors."""

    open_kernel: OpenKernel
    place: dict[str, str]
    references: References = REFERENCES


def run(
    order: Order, store: Store, spark: SparkOptions, report: Report, shares: int
) -> SweepSummary:
    """Sweep; `Conflict` if another sweep is under way."""
    with spark_session(spark, "headgate sweep", report=report) as session:
        return asyncio.run(_run(order, store, session, report, shares))


async def _run(
    order: Order, store: Store, session: "SparkSession", report: Report, shares: int
) -> SweepSummary:
    async with store.open_kernel() as kernel:
        running = Running(kernel, order, store.references)
        await running.begin()
        work = partial(_sweep, store=store, session=session, report=report, shares=shares)
        done = await running.complete(work)
        seen = view_of(running.id, done)
        seconds = (done.ended_ms - done.started_ms) / 1_000
        return SweepSummary(seen.id, seen.state, done.is_dry, seconds, done.counts, done.failures)


async def _sweep(
    sweep: Sweep, *, store: Store, session: "SparkSession", report: Report, shares: int
) -> None:
    """What lies between the beginning and the end of a run."""
    await sweep.purge()
    commits: dict[str, KeptCommits] = {}
    known: dict[str, array[int]] = {}
    entrances: list[Entrance] = []
    for realm in sweep.extent.sweep:
        found = await sweep.survey(realm)
        if found is not None:
            commits[realm] = found.commits
            for outlined in found.outlines:
                known.setdefault(realm, array("q")).extend(outlined.ids)
                entrances += pieces(outlined.entrances)
    sweep.counts.realms = len(commits)
    terms = Terms(
        store.place,
        store.references,
        frozenset(commits),
        sweep.extent.listed,
        sweep.cutoff_ms,
        shares,
        sweep.is_dry,
        sweep.surveyed,
    )
    loop = asyncio.get_running_loop()

    async def rest() -> None:
        await sweep.rest()

    def look() -> None:
        """Called by another thread while Spark works: raises if there is to be an end."""
        asyncio.run_coroutine_threadsafe(rest(), loop).result()

    stages = _Stages(session, report, terms, sweep, look)
    with translated():  # what fails belongs into the record
        try:
            await sweep.rest()
            await asyncio.to_thread(stages.mark, known, entrances)
            await sweep.rest()
            await asyncio.to_thread(stages.scan)
            await sweep.rest()
            await sweep.guard(await asyncio.to_thread(stages.find_dead))
            orphans = await asyncio.to_thread(stages.delete)
            for realm, rows in orphans.items():
                await sweep.end_changes(realm, commits[realm], rows)
            await sweep.forget(stages.forgotten)
        finally:
            await asyncio.to_thread(stages.close)


def pieces(entrances: Iterable[Entrance]) -> Iterator[Entrance]:
    """Entrances of a few pages each, so that many executors have something to do.

    Pages that older contents share with the current ones are left out.
    """
    current: set[int] = set()
    for one in entrances:
        if one.is_current:
            current.update(one.pages)
        pages = [id for id in one.pages if one.is_current or id not in current]
        for at in range(0, len(pages), SWEEP_PAGES_AT_ONCE):
            yield one._replace(pages=tuple(pages[at : at + SWEEP_PAGES_AT_ONCE]))


def table_of(known: "Mapping[str, array[int]]") -> "pa.Table":
    """Ids of realms as a table of marks: those that the driver found itself."""
    import pyarrow as pa

    ids = [pa.array(some, pa.int64()) for some in known.values()]
    realms = [pa.array([realm] * len(some), pa.string()) for realm, some in known.items()]
    columns = pa.chunked_array(realms, pa.string()), pa.chunked_array(ids, pa.int64())
    return pa.Table.from_arrays(columns, names=["realm", "id"])


class _Stages:
    """The steps that Spark does; each is whole before the next one begins."""

    def __init__(
        self,
        session: "SparkSession",
        report: Report,
        terms: Terms,
        sweep: Sweep,
        look: Callable[[], None],
    ) -> None:
        self.forgotten: set[str] = set()
        self._session = session
        self._report = report
        self._terms = terms
        self._sweep = sweep
        self._look = look
        self._marks: DataFrame
        self._rows: DataFrame
        self._dead: DataFrame
        self._kept: list[DataFrame] = []

    def mark(self, known: "dict[str, array[int]]", entrances: list[Entrance]) -> None:
        """Find all that lives."""
        self._sweep.phase = "marking"
        session, terms = self._session, self._terms
        work = session.createDataFrame([tuple(one) for one in entrances], WORK)
        spread = work.repartition(max(min(len(entrances), terms.shares), 1))
        walked = spread.mapInArrow(partial(mark, terms), MARKS)
        heads = session.createDataFrame(table_of(known))
        with self._report.stage("marking", spark=session) as stage:
            self._marks = self._keep(heads.union(walked).distinct())
            self._sweep.counts.marked = self._sum(self._marks.groupBy().count())
            stage.advance(rows=self._sweep.counts.marked)

    def scan(self) -> None:
        """Look at all rows of the database."""
        self._sweep.phase = "scanning"
        session, counts, terms = self._session, self._sweep.counts, self._terms
        shares = session.range(0, terms.shares, 1, terms.shares)
        with self._report.stage("scanning", spark=session) as stage:
            self._rows = self._keep(shares.mapInArrow(partial(scan, terms), ROWS))
            found = self._collected(self._rows.groupBy("kind").sum("count"))
            seen = {one[0]: one[1] for one in found}
            counts.scanned = sum(seen.values())
            counts.young = seen.get(YOUNG, 0)
            counts.left = seen.get(LEFT, 0) + seen.get(STRANGE, 0)
            counts.live = seen.get(ROW, 0)
            stage.advance(rows=counts.scanned)
        strange = self._collected(
            self._rows.where(f"kind = '{STRANGE}'").select("realm").distinct()
        )
        extent = self._sweep.extent
        self.forgotten = {
            one[0]
            for one in strange
            if extent.is_whole and is_forgotten(one[0], extent, self._sweep.cutoff_ms)
        }

    def find_dead(self) -> set[str]:
        """Find the rows that no mark was found for; the realms that they are of."""
        rows = self._rows.where(f"kind = '{ROW}'").drop("kind", "count")
        self._dead = self._keep(rows.join(self._marks, ["realm", "id"], "left_anti"))
        return {one[0] for one in self._collected(self._dead.select("realm").distinct())}

    def delete(self) -> dict[str, list[ScannedRow]]:
        """Delete what is dead, but for changes that did not fit into commits: those."""
        self._sweep.phase = "deleting"
        session, counts, terms = self._session, self._sweep.counts, self._terms
        dead = self._dead
        with self._report.stage("deleting", spark=session) as stage:
            others = dead.where(f"type <> '{CHANGES_TYPE}'")
            counts.live -= self._sum(dead.groupBy().count())
            deleted = others.mapInArrow(partial(delete, terms), DELETED)
            counts.rows_deleted += self._sum(deleted.groupBy().sum("rows"))
            stage.advance(rows=counts.rows_deleted)
        found: dict[str, list[ScannedRow]] = {}
        for one in self._collected(dead.where(f"type = '{CHANGES_TYPE}'")):
            row = ScannedRow(one["realm"], one["id"], one["part"], one["type"], one["version"])
            found.setdefault(row.realm, []).append(row)
        return found

    def close(self) -> None:
        """Let Spark forget what it kept."""
        for frame in self._kept:
            frame.unpersist()

    def _sum(self, frame: "DataFrame") -> int:
        """The only number of a frame; null if there was nothing to add up."""
        return self._collected(frame)[0][0] or 0

    def _collected(self, frame: "DataFrame") -> "list[Row]":
        return collected(self._session, frame, self._look)

    def _keep(self, frame: "DataFrame") -> "DataFrame":
        self._kept.append(frame)
        return frame.persist()
