"""Counts what is asked of a backend: for tests that assert round trips, rows and bytes."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence

from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend, closing
from headgate.kernel.records import (
    WHOLE,
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    Row,
    ScannedRow,
    Swap,
)

WRITING_VERBS = ("commit", "write", "insert", "update")


class CountingBackend(ForwardingBackend):
    """Counts calls, rows and bytes of each verb, also of calls that fail or are LOST.

    Rows are those sent or answered; for pointers each one counts as a row without bytes.
    """

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.calls: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def reset(self) -> None:
        """Count from zero again."""
        self.calls.clear()
        self.rows.clear()
        self.bytes.clear()

    @property
    def rows_written(self) -> int:
        """Rows sent to be stored."""
        return sum(self.rows[verb] for verb in WRITING_VERBS)

    @property
    def bytes_written(self) -> int:
        """Bytes of the values sent to be stored."""
        return sum(self.bytes[verb] for verb in WRITING_VERBS)

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        self._count("read_pointers", len(keys))
        return await self.inner.read_pointers(keys)

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        self._count("create_pointers", len(names))
        await self.inner.create_pointers(realm, names)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        self._count_rows("commit", rows)
        return await self.inner.commit(rows, swap)

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        self._count("fetch")
        rows = await self.inner.fetch(realm, ids)
        self._add_rows("fetch", rows)
        return rows

    async def write(self, rows: Sequence[Row]) -> None:
        self._count_rows("write", rows)
        await self.inner.write(rows)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        self._count("delete")
        await self.inner.delete(realm, ids)

    async def insert(self, row: Row) -> Outcome:
        self._count_rows("insert", [row])
        return await self.inner.insert(row)

    async def update(self, row: Row, expected_version: int) -> Outcome:
        self._count_rows("update", [row])
        return await self.inner.update(row, expected_version)

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        self._count("remove")
        return await self.inner.remove(realm, id, expected_version)

    async def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        self._count("scan_pointers")
        async with closing(self.inner.scan_pointers(realm)) as scan:
            async for batch in scan:
                self.rows["scan_pointers"] += len(batch)
                yield batch

    async def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        self._count("scan_rows")
        async with closing(self.inner.scan_rows(partition)) as scan:
            async for batch in scan:
                self.rows["scan_rows"] += len(batch)
                yield batch

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        self._count("delete_pointers", len(keys))
        await self.inner.delete_pointers(keys)

    async def delete_realm(self, realm: str, limit: int) -> int:
        self._count("delete_realm")
        return await self.inner.delete_realm(realm, limit)

    def _count(self, verb: str, rows: int = 0) -> None:
        self.calls[verb] += 1
        self.rows[verb] += rows

    def _count_rows(self, verb: str, rows: Sequence[Row]) -> None:
        self._count(verb)
        self._add_rows(verb, rows)

    def _add_rows(self, verb: str, rows: Sequence[Row]) -> None:
        self.rows[verb] += len(rows)
        self.bytes[verb] += sum(len(row.value) for row in rows)
