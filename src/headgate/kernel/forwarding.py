"""A decorator of the Backend port that changes nothing: the others override what they change."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from headgate.kernel.backend import Backend, database_clock_ms
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

T = TypeVar("T")


class ForwardingBackend:
    """Hands every call on to `inner`."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name
        self.snapshot_reads = inner.snapshot_reads

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        return await self.inner.read_pointers(keys)

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        await self.inner.create_pointers(realm, names)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        return await self.inner.commit(rows, swap)

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
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
        return self.inner.scan_pointers(realm)

    def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        return self.inner.scan_rows(partition)

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        await self.inner.delete_pointers(keys)

    async def delete_realm(self, realm: str, limit: int) -> int:
        return await self.inner.delete_realm(realm, limit)

    async def clock_ms(self) -> int | None:
        return await database_clock_ms(self.inner)


@asynccontextmanager
async def closing(scan: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Give up what a scan holds as soon as it is left, also when it is left early."""
    try:
        yield scan
    finally:
        if isinstance(scan, AsyncGenerator):
            await scan.aclose()
