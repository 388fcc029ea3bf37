"""Deleting what is dead: immutable objects with all their parts, versioned rows only if nobody has
written them since."""

from collections.abc import Awaitable, Callable, Collection

from headgate.errors import OutcomeUnknown
from headgate.kernel.records import Outcome, ScannedRow
from headgate.kernel.store import Store
from headgate.limits import SWEEP_DELETES_AT_ONCE
from headgate.maintenance.runs import Counts

Guard = Callable[[Collection[str]], Awaitable[None]]
"""Raises if rows of these realms must not be deleted now."""


class Deletions:
    """Gathers rows and deletes them, some at a time."""

    def __init__(self, store: Store, counts: Counts, guard: Guard, *, is_dry: bool = False) -> None:
        self._store = store
        self._counts = counts
        self._guard = guard
        self._is_dry = is_dry
        self._waiting: dict[str, set[int]] = {}
        self._rows = 0
        self._versioned: list[ScannedRow] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to `flush`."""
        return self._rows + len(self._versioned) >= SWEEP_DELETES_AT_ONCE

    def add(self, row: ScannedRow) -> None:
        """Take in a row that is dead. The other parts of its object are dead too: they go with the
        first one that is met, and are counted when they are met."""
        if row.version:
            self._versioned.append(row)
        else:
            self._waiting.setdefault(row.realm, set()).add(row.id)
            self._rows += 1

    async def flush(self) -> None:
        """Delete what was gathered; `ClockRefused`, and none of it is, if the time is wrong."""
        realms = {*self._waiting, *(row.realm for row in self._versioned)}
        if realms:
            await self._guard(realms)
        waiting, self._waiting = self._waiting, {}
        rows, self._rows = self._rows, 0
        versioned, self._versioned = self._versioned, []
        if self._is_dry:
            self._counts.rows_deleted += rows + len(versioned)
            return
        for realm, ids in waiting.items():
            await self._store.delete(realm, sorted(ids))
        self._counts.rows_deleted += rows
        for row in versioned:
            self._counts.rows_deleted += await self._is_removed(row)

    async def _is_removed(self, row: ScannedRow) -> bool:
        try:
            outcome = await self._store.remove(row.realm, row.id, row.version)
        except OutcomeUnknown:
            return False  # if it is still there the next run finds it
        return outcome is Outcome.APPLIED
