"""The sweeps of a server: now and then by themselves, and at once if an operator asks."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import msgspec

from headgate.catalog.references import REFERENCES, References
from headgate.errors import Conflict, HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.limits import (
    SWEEP_GRACE_SECONDS,
    SWEEP_INTERVAL_SECONDS,
    SWEEP_LOOK_SECONDS,
    SWEEP_PAUSE_SECONDS,
)
from headgate.maintenance.extent import EVERYTHING, Wanted
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run, list_runs

_MS = 1_000
_PARTS = 1_000

logger = logging.getLogger(__name__)


class Terms(NamedTuple):
    """How a store is swept."""

    grace_ms: int = SWEEP_GRACE_SECONDS * _MS
    """That something is kept after the last reference to it was lost."""
    interval_ms: int = SWEEP_INTERVAL_SECONDS * _MS
    """Between the beginnings of two runs."""


class Totals(msgspec.Struct):
    """What the runs of this process did, for those who watch."""

    runs: int = 0
    failed: int = 0
    rows_scanned: int = 0
    rows_deleted: int = 0


class Maintenance:
    """Sweeps beside requests, slowly."""

    def __init__(
        self,
        kernel: Kernel,
        terms: Terms,
        holder: str,
        references: References = REFERENCES,
    ) -> None:
        self.terms = terms
        self.totals = Totals()
        self._kernel = kernel
        self._holder = holder
        self._references = references
        self._started: set[asyncio.Task[Any]] = set()

    async def start(self, wanted: Wanted, by: str, *, is_dry: bool = False) -> tuple[int, Run]:
        """Begin a run that goes on by itself; `Conflict` if one is under way."""
        running = self._new(wanted, by, is_dry=is_dry)
        run = await running.begin()
        self._go_on(self._complete(running))
        await asyncio.sleep(0)  # it has begun: if it is cancelled now it gives the lease back
        return running.id, run

    async def close(self) -> None:
        """End what goes on; another run does the rest."""
        for task in self._started:
            task.cancel()
        await asyncio.gather(*self._started, return_exceptions=True)

    def sweep_by_itself(self, entropy: Callable[[], int]) -> None:
        """From now on sweep when it is time, until it is closed."""
        self._go_on(self._sweep_for_ever(entropy))

    async def _sweep_for_ever(self, entropy: Callable[[], int]) -> None:
        """Sweep when it is time; servers that start together do not look together."""
        look = min(SWEEP_LOOK_SECONDS, self.terms.interval_ms / _MS)
        share = entropy() % _PARTS / _PARTS
        while True:
            await self._kernel.clock.sleep(look * share)
            try:
                await self.sweep_if_due()
            except Conflict:
                pass  # another server does it
            except Exception as error:  # whatever it is, it is tried again
                unexpected = not isinstance(error, HeadgateError)
                logger.warning("the store is not swept: %s", error, exc_info=unexpected)
            share = 1.0

    async def sweep_if_due(self) -> Run | None:
        """Sweep if the last run began long enough ago; None if it did not."""
        now_ms = self._kernel.clock.wall_ms()
        for _, run in await list_runs(self._kernel):
            is_whole = run.ended_ms and run.is_whole and not run.is_dry
            if is_whole and abs(now_ms - run.started_ms) < self.terms.interval_ms:
                return None  # one of a far later time was made by a clock that was ahead
        running = self._new(EVERYTHING, self._holder)
        await running.begin()
        return await self._complete(running)

    def _new(self, wanted: Wanted, by: str, *, is_dry: bool = False) -> Running:
        order = Order(
            by=by,
            holder=self._holder,
            wanted=wanted,
            grace_ms=self.terms.grace_ms,
            pause_seconds=SWEEP_PAUSE_SECONDS,
            is_dry=is_dry,
        )
        return Running(self._kernel, order, self._references)

    def _go_on(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)

    async def _complete(self, running: Running) -> Run:
        run = await running.complete()
        totals, counts = self.totals, run.counts
        totals.runs += 1
        totals.rows_scanned += counts.scanned
        totals.rows_deleted += 0 if run.is_dry else counts.rows_deleted
        if run.failures:
            totals.failed += 1
            logger.warning("a sweep left something alone: %s", "; ".join(run.failures))
        return run
