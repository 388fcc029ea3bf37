"""One run from its beginning to its end: the lease, the time, the extent, the record. What is done
in between may be done by this process or by others."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from headgate.catalog.references import REFERENCES, References
from headgate.errors import HeadgateError
from headgate.ids import time_ms
from headgate.kernel.kernel import Kernel
from headgate.limits import SWEEP_GRACE_SECONDS
from headgate.maintenance.clocks import Times
from headgate.maintenance.extent import EVERYTHING, Wanted, extent_of
from headgate.maintenance.lease import HeldLease, RunLease
from headgate.maintenance.runs import Run, begin_run, end_run
from headgate.maintenance.sweep import Sweep

PROCESS, SPARK = "process", "spark"
"""What does a run."""
_MS = 1_000


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, for whom, and how."""

    by: str
    holder: str
    """Which process does it: host and process id."""
    wanted: Wanted = EVERYTHING
    engine: str = PROCESS
    grace_ms: int = SWEEP_GRACE_SECONDS * _MS
    pause_seconds: float = 0.0
    """After each step: in a server those who are served go first."""
    is_dry: bool = False


class Running:
    """A run. First `begin`, then `complete`."""

    def __init__(self, kernel: Kernel, order: Order, references: References = REFERENCES) -> None:
        self.id = kernel.ids.next()
        self._kernel = kernel
        self._order = order
        self._references = references
        self._lease = HeldLease(kernel, RunLease(self.id, order.holder), self._told)
        self._sweep: Sweep | None = None
        self._run: Run | None = None

    async def begin(self) -> Run:
        """Take the lease and write the record; `Conflict` if another run is under way.

        The time is fixed first, then the realms are listed: what comes later is young.
        """
        await self._lease.take()
        try:
            # No id is made by a clock that is not trusted.
            order, started_ms = self._order, time_ms(self._kernel.ids.next())
            extent = extent_of(await self._kernel.realms.list(), order.wanted)
            self._sweep = Sweep(
                self._kernel,
                self._references,
                extent,
                Times(started_ms, started_ms - order.grace_ms),
                self._rest,
                is_dry=order.is_dry,
            )
            self._run = Run(
                order.by,
                order.engine,
                started_ms,
                order.grace_ms,
                is_dry=order.is_dry,
                is_whole=extent.is_whole,
            )
            await begin_run(self._kernel, self.id, self._run)
        except BaseException:
            await self._lease.give_back()
            raise
        return self._run

    async def complete(self, work: Callable[[Sweep], Awaitable[None]] = Sweep.run) -> Run:
        """Do it; what came of it. What fails is in the record, and is no error here."""
        assert self._sweep is not None, "begin first"
        assert self._run is not None, "begin first"
        sweep = self._sweep
        async with self._lease:
            try:
                await work(sweep)
            except HeadgateError as error:
                sweep.failures.append(f"while {sweep.phase}: {error}")
            done = msgspec.structs.replace(
                self._run, counts=sweep.counts, failures=tuple(sweep.failures)
            )
            return await end_run(self._kernel, self.id, done)

    def _told(self, row: RunLease) -> RunLease:
        """The row of the lease, with how far the run is."""
        if self._sweep is None:
            return row
        return msgspec.structs.replace(row, phase=self._sweep.phase, counts=self._sweep.counts)

    async def _rest(self) -> None:
        """Give way to others, and end if others may have begun."""
        self._lease.check()
        if self._order.pause_seconds:
            await self._kernel.clock.sleep(self._order.pause_seconds)
        else:
            await asyncio.sleep(0)
