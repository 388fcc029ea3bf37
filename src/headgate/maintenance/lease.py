"""One run at a time: a row that the run writes again and again.

No two clocks are compared. Whoever finds the row watches it for the whole lease, by its own
stopwatch; if nobody writes it meanwhile its run is dead, and the row is taken over. Two runs at
once would do no harm, only twice the work.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import msgspec

from headgate.errors import Conflict, HeadgateError, LeaseLost, OutcomeUnknown
from headgate.ids import lease_row
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import ObjectType, Stored, expect
from headgate.kernel.records import Outcome
from headgate.kernel.store import Versioned
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import SWEEP_LEASE_SECONDS
from headgate.maintenance.runs import Counts

LEASE_ROW = lease_row(0) + 1
"""Beside the leases of nodes: no generator of ids ever reaches it."""
BEAT_SECONDS = SWEEP_LEASE_SECONDS / 3
LOOK_SECONDS = SWEEP_LEASE_SECONDS / 10
"""Between looks of whoever waits for it."""
USABLE_SECONDS = SWEEP_LEASE_SECONDS * 5 / 6
"""A holder stops a part of the lease before others may begin."""


class RunLease(Stored, frozen=True):
    """The row: which run is under way, and how far it is."""

    run: int
    holder: str
    """Who has it, for people: host and process."""
    phase: str = ""
    counts: Counts = msgspec.field(default_factory=Counts)


MAINTENANCE_TYPES = (ObjectType("maintenance-lease", RunLease),)


class HeldLease:
    """The right to sweep: taken, kept by a task of its own inside of `async with`, given back."""

    def __init__(
        self, kernel: Kernel, row: RunLease, report: Callable[[RunLease], RunLease]
    ) -> None:
        self._kernel = kernel
        self._row = row
        self._report = report
        self._deadline = 0.0
        self._beating: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """Begin; `Conflict` if another run is under way. Waits for one that may be dead."""
        found = await read_lease(self._kernel)
        if found is not None:
            found = await self._watched(found)
        if not await self._write(found):
            raise under_way(await read_lease(self._kernel))

    async def give_back(self) -> None:
        """Let others begin. If that fails they have to wait a little."""
        with suppress(HeadgateError):
            now = await read_lease(self._kernel)
            if now is not None and lease_of(now).run == self._row.run:
                await self._kernel.store.remove(SYSTEM_REALM, LEASE_ROW, now.version)

    def check(self) -> None:
        """Refuse to go on if others may have begun."""
        if self._kernel.clock.seconds() >= self._deadline:
            raise LeaseLost(
                "the sweep does not go on here",
                why="its lease was not renewed in time",
                fix="Check that the database answers; another run does the rest",
            )

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat_for_ever())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await asyncio.shield(self.give_back())

    async def _watched(self, found: Versioned) -> Versioned | None:
        """The same row if its run is dead, None if it is gone; `Conflict` if it is alive."""
        clock = self._kernel.clock
        began = clock.seconds()
        while clock.seconds() - began < SWEEP_LEASE_SECONDS:
            await clock.sleep(LOOK_SECONDS)
            now = await read_lease(self._kernel)
            if now is None:
                return None
            if now.version != found.version:
                raise under_way(now)
        return found

    async def _write(self, found: Versioned | None) -> bool:
        """Write the row over this one; whether it is ours now."""
        kernel = self._kernel
        sent, version = kernel.clock.seconds(), kernel.ids.next()
        try:
            if found is None:
                outcome = await kernel.store.insert(SYSTEM_REALM, LEASE_ROW, self._row, version)
            else:
                outcome = await kernel.store.update(
                    SYSTEM_REALM, LEASE_ROW, self._row, expected=found.version, version=version
                )
        except OutcomeUnknown:
            now = await read_lease(kernel)
            landed = now is not None and now.version == version
            outcome = Outcome.APPLIED if landed else Outcome.LOST
        if outcome is Outcome.LOST:
            return False
        self._deadline = sent + USABLE_SECONDS
        return True

    async def _beat_for_ever(self) -> None:
        """Write the row until it is cancelled. If that fails the deadline passes by itself."""
        while True:
            await self._kernel.clock.sleep(BEAT_SECONDS)
            self._row = self._report(self._row)
            with suppress(HeadgateError):
                now = await read_lease(self._kernel)
                if now is None or lease_of(now).run != self._row.run:
                    self._deadline = 0.0  # somebody else has it
                    return
                await self._write(now)


async def read_lease(kernel: Kernel) -> Versioned | None:
    """The row as it is now; None if no run is under way."""
    return (await kernel.store.read_versioned(SYSTEM_REALM, [LEASE_ROW])).get(LEASE_ROW)


def lease_of(row: Versioned) -> RunLease:
    """What the row says."""
    return expect(row.value, RunLease, LEASE_ROW)


def under_way(row: Versioned | None) -> Conflict:
    """What to say if another run is under way."""
    why = f"{lease_of(row).holder} does it" if row is not None else "another process was faster"
    return Conflict(
        "A sweep is under way already",
        why=why,
        fix="`headgate maintenance status` shows how far it is",
    )
