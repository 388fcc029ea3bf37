"""The backend on dicts: for tests, trials and as the shortest description of the port."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence

from headgate.errors import PointerNotFound
from headgate.kernel.records import (
    EMPTY,
    WHOLE,
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    Row,
    ScannedRow,
    Swap,
)

SCAN_BATCH = 1_000

_Parts = dict[int, Row]


class MemoryBackend:
    """One database per instance, on one event loop. No verb but the scans ever suspends, so each
    is atomic. Several kernels may share an instance: `close` takes nothing from the others."""

    name = "memory"
    snapshot_reads = True

    def __init__(self) -> None:
        self._pointers: dict[PointerKey, int] = {}
        self._rows: dict[tuple[str, int], _Parts] = {}

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of; what is stored stays."""

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        return [self._pointers.get(key) for key in keys]

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        for name in names:
            self._pointers.setdefault(PointerKey(realm, name), EMPTY)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        assert swap.new != swap.expected, swap
        found = self._pointers.get(swap.key)
        if found is None:
            raise PointerNotFound(
                f"pointer {swap.key.name!r} of realm {swap.key.realm!r} cannot be moved",
                why="it does not exist",
                fix="Create it first, unless its realm was purged",
            )
        if found != swap.expected:
            return Outcome.LOST
        self._store(rows)
        self._pointers[swap.key] = swap.new
        return Outcome.APPLIED

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        return [row for id in set(ids) for row in self._rows.get((realm, id), {}).values()]

    async def write(self, rows: Sequence[Row]) -> None:
        self._store(rows)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        for id in ids:
            self._rows.pop((realm, id), None)

    async def insert(self, row: Row) -> Outcome:
        if (row.realm, row.id) in self._rows:
            return Outcome.LOST
        self._store([row])
        return Outcome.APPLIED

    async def update(self, row: Row, expected_version: int) -> Outcome:
        parts = self._with_version(row.realm, row.id, expected_version)
        if parts is None:
            return Outcome.LOST
        parts[row.part] = _exactly(row)
        return Outcome.APPLIED

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        if self._with_version(realm, id, expected_version) is None:
            return Outcome.LOST
        del self._rows[realm, id]
        return Outcome.APPLIED

    async def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        found = [
            Pointer(*key, value)
            for key, value in self._pointers.items()
            if realm is None or key.realm == realm
        ]
        for start in range(0, len(found), SCAN_BATCH):
            yield found[start : start + SCAN_BATCH]
            await asyncio.sleep(0)

    async def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        # By hash, not by place: partitions that are scanned at different times must still fit.
        found = [
            ScannedRow(row.realm, row.id, row.part, row.type, row.version)
            for key, parts in self._rows.items()
            if hash(key) % partition.shares == partition.share
            for row in parts.values()
        ]
        for start in range(0, len(found), SCAN_BATCH):
            yield found[start : start + SCAN_BATCH]
            await asyncio.sleep(0)

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        for key in keys:
            self._pointers.pop(key, None)

    async def delete_realm(self, realm: str, limit: int) -> int:
        pointers = [key for key in self._pointers if key.realm == realm][:limit]
        await self.delete_pointers(pointers)
        ids = [id for owner, id in self._rows if owner == realm][: limit - len(pointers)]
        rows = await self.fetch(realm, ids)
        await self.delete(realm, ids)
        return len(pointers) + len(rows)

    def _store(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._rows.setdefault((row.realm, row.id), {}).setdefault(row.part, _exactly(row))

    def _with_version(self, realm: str, id: int, version: int) -> _Parts | None:
        parts = self._rows.get((realm, id), {})
        return parts if 0 in parts and parts[0].version == version else None


def _exactly(row: Row) -> Row:
    """This row with a value of its own, should the caller have passed a buffer it reuses."""
    return row._replace(value=bytes(row.value))
