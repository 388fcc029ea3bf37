"""Counts how often the database is read: in all, and for the request at hand."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextvars import ContextVar

from headgate.kernel.backend import Backend
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


class Reads:
    """A number that the tasks of one request add to."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


_of_request: ContextVar[Reads | None] = ContextVar("reads", default=None)


def count_reads() -> Reads:
    """Count for the present task, and those it starts, from zero.

    A read that several requests share is counted once, for the one that began it.
    """
    reads = Reads()
    _of_request.set(reads)
    return reads


class ReadCountingBackend:
    """Hands every call on to `inner`, and counts the round trips that only read."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name
        self.snapshot_reads = inner.snapshot_reads
        self.reads = 0

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        self._count()
        return await self.inner.read_pointers(keys)

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        await self.inner.create_pointers(realm, names)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        return await self.inner.commit(rows, swap)

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        self._count()
        return await self.inner.fetch(realm, ids)

    async def write(self, rows: Sequence[Row]) -> None:
        await self.inner.write(rows)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        await self.inner.delete(realm, ids)

    async def insert(self, row: Row) -> Outcome:
        return await self.inner.insert(row)

    async def update(self, row: Row, expected_version: int) -> Outcome:
        return await self.inner.update(row, expected_version)

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        return await self.inner.remove(realm, id, expected_version)

    def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        self._count()
        return self.inner.scan_pointers(realm)

    def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        self._count()
        return self.inner.scan_rows(partition)

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        await self.inner.delete_pointers(keys)

    async def delete_realm(self, realm: str, limit: int) -> int:
        return await self.inner.delete_realm(realm, limit)

    def _count(self) -> None:
        self.reads += 1
        reads = _of_request.get()
        if reads is not None:
            reads.count += 1
