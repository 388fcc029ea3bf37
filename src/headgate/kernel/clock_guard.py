"""Watches this node's clock: no id is made while the clock is certainly wrong, or in doubt.

The database's clock decides, where it has one of its own. Else the leases of other nodes tell: a
row that was renewed between two looks shows that node's clock at some time between them. A step
ahead of the machine's clock is followed if these confirm it, or commits that others made meanwhile
do; if they contradict it, it is not followed for as long as it lasts.
"""

import logging
from typing import NamedTuple

from headgate.clock import Clock, step_ms
from headgate.errors import ClockRefused, Unavailable
from headgate.ids import IdGenerator, time_ms
from headgate.kernel.backend import database_clock_ms
from headgate.kernel.clock_offsets import Offset, offset, offset_from_most
from headgate.kernel.leases import NodeLease, NodeLeases, lease_of, read_leases
from headgate.kernel.store import Store
from headgate.limits import CLOCK_BEHIND_MS_MAX, LEASE_MS

logger = logging.getLogger(__name__)


class ClockGuard:
    """Compares this node's clock with others, and forbids its generator to make ids."""

    def __init__(
        self, store: Store, leases: NodeLeases, clock: Clock, generator: IdGenerator
    ) -> None:
        self._store = store
        self._clock = clock
        self._generator = generator
        self._others = OtherNodes(store, leases, clock)
        self._is_told = False  # the log says that nothing is written

    async def look(self) -> None:
        """Look at this machine's own clocks; at others only if these are in doubt.

        `ClockRefused` if they are still.
        """
        if step_ms(self._clock) > 0:
            await self._weigh()
        step = step_ms(self._clock)
        if step:
            direction = "ahead" if step > 0 else "back"
            raise self._refused(f"this machine's clock was set {direction} while this process ran")
        if self._generator.refusal:
            await self.compare()
        elif self._is_told:
            logger.warning("writing goes on: the clock is right again")
            self._is_told = False

    async def compare(self) -> None:
        """Compare with the database's clock or with other nodes; `ClockRefused` if ours is
        certainly wrong. Until it is right again, nothing is written."""
        self._generator.refusal = await self._certainly_wrong()
        if self._generator.refusal:
            raise self._refused(self._generator.refusal)

    async def _certainly_wrong(self) -> str:
        """Why this clock cannot be used; empty if nothing speaks against it."""
        database = await self._database_offset()
        if database is not None:
            words = database.describe()
            return f"this machine's clock is {words} that of the database" if words else ""
        others = await self._others.offset()
        if others is None or others.ahead_ms <= CLOCK_BEHIND_MS_MAX:
            return ""  # one that is behind is noticed by the commits that it is behind of
        return f"this machine's clock is {others.describe()} those of other nodes"

    async def _weigh(self) -> None:
        """Follow a step ahead of the machine's clock, or hold it, if something tells."""
        try:
            is_right = await self._is_right_now(step_ms(self._clock))
        except Unavailable:
            self._clock.hold()  # nothing can be written anyway
            raise
        if is_right:
            self._clock.follow()
            self._others.forget()
        elif is_right is not None:
            self._clock.hold()

    async def _is_right_now(self, step: int) -> bool | None:
        """Whether the machine's clock is right since its step; None if nothing tells."""
        database = await self._database_offset()
        if database is not None:
            middle_ms = (database.ahead_ms - database.behind_ms) // 2
            return abs(middle_ms + step) <= min(CLOCK_BEHIND_MS_MAX, abs(middle_ms))
        others = await self._others.offset()
        if others is not None and others.ahead_ms + step > CLOCK_BEHIND_MS_MAX:
            return False
        if others is not None and others.behind_ms > CLOCK_BEHIND_MS_MAX:
            return True
        return True if await self._is_behind_commits(step) else None

    async def _is_behind_commits(self, step: int) -> bool:
        """Whether commits were made that our clock is behind without this step, and not with it."""
        earliest_ms = self._clock.wall_ms() + CLOCK_BEHIND_MS_MAX
        async for pointers in self._store.backend.scan_pointers():
            times_ms = (time_ms(pointer.value) for pointer in pointers)
            if any(earliest_ms < one <= earliest_ms + step for one in times_ms):
                return True
        return False

    async def _database_offset(self) -> Offset | None:
        since_ms = self._clock.wall_ms()
        other_ms = await database_clock_ms(self._store.backend)
        return None if other_ms is None else offset(other_ms, since_ms, self._clock.wall_ms())

    def _refused(self, why: str) -> ClockRefused:
        if not self._is_told:
            logger.error("nothing is written: %s", why)
            self._is_told = True
        return ClockRefused(
            "nothing can be written", why=why, fix="Synchronise the clocks (NTP) and try again"
        )


class OtherNodes:
    """What the leases of other nodes tell of their clocks."""

    def __init__(self, store: Store, leases: NodeLeases, clock: Clock) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._last: _Look | None = None
        self._offsets: dict[int, tuple[Offset, float]] = {}
        """Of the nodes that renewed, by row, and when that was seen."""

    async def offset(self) -> Offset | None:
        """Our clock against those of most nodes, by what they wrote since the last look and not
        long before; None if no other node did."""
        last, since_ms = self._last, self._clock.wall_ms()
        rows = await read_leases(self._store)
        until_ms, seen = self._clock.wall_ms(), self._clock.seconds()
        self._last = _Look(since_ms, {id: row.version for id, row in rows.items()})
        live_since = seen - LEASE_MS / 1000
        self._offsets = {id: one for id, one in self._offsets.items() if one[1] > live_since}
        for id, row in rows.items():
            if last is not None and row.version != last.versions.get(id):
                self._add(id, lease_of(row), last.since_ms, until_ms, seen)
        return offset_from_most(one for one, _ in self._offsets.values())

    def forget(self) -> None:
        """Begin anew: our own clock was set."""
        self._last = None
        self._offsets.clear()

    def _add(self, id: int, lease: NodeLease, since_ms: int, until_ms: int, seen: float) -> None:
        if not lease.renewed_ms:
            self._offsets.pop(id, None)  # it was given back
        elif not self._leases.is_own(lease):
            self._offsets[id] = offset(lease.renewed_ms, since_ms, until_ms), seen


class _Look(NamedTuple):
    since_ms: int
    """When it began."""
    versions: dict[int, int]
    """Of the rows that there were."""
