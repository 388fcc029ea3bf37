"""The one database of a simulation. Each write that takes effect is shown to the auditor."""

from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from headgate.backends.memory import MemoryBackend
from headgate.kernel.records import (
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    Row,
    ScannedRow,
    Swap,
)
from headgate.testing.simulation.processes import Process

T = TypeVar("T")


class Auditor(Protocol):
    """Judges writes: before what is deleted is gone, and after what is swapped is there."""

    def swapped(self, process: Process, swap: Swap) -> None: ...
    def deleting(self, process: Process, realm: str, ids: Collection[int]) -> None: ...
    def deleting_pointers(self, process: Process, keys: Collection[PointerKey]) -> None: ...
    def deleting_realm(self, process: Process, realm: str) -> None: ...


class Database:
    """All that is stored. No verb suspends, so each is atomic."""

    def __init__(self) -> None:
        self.inner = MemoryBackend()
        self.auditor: Auditor | None = None

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        return await self.inner.read_pointers(keys)

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        await self.inner.create_pointers(realm, names)

    async def commit(self, process: Process, rows: Sequence[Row], swap: Swap) -> Outcome:
        outcome = await self.inner.commit(rows, swap)
        if outcome is Outcome.APPLIED and self.auditor is not None:
            self.auditor.swapped(process, swap)
        return outcome

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        return await self.inner.fetch(realm, ids)

    async def write(self, rows: Sequence[Row]) -> None:
        await self.inner.write(rows)

    async def delete(self, process: Process, realm: str, ids: Collection[int]) -> None:
        if self.auditor is not None:
            self.auditor.deleting(process, realm, ids)
        await self.inner.delete(realm, ids)

    async def insert(self, row: Row) -> Outcome:
        return await self.inner.insert(row)

    async def update(self, row: Row, expected_version: int) -> Outcome:
        return await self.inner.update(row, expected_version)

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        return await self.inner.remove(realm, id, expected_version)

    async def all_pointers(self, realm: str | None = None) -> list[Pointer]:
        return await _gathered(self.inner.scan_pointers(realm))

    async def all_rows(self, partition: Partition) -> list[ScannedRow]:
        return await _gathered(self.inner.scan_rows(partition))

    async def delete_pointers(self, process: Process, keys: Collection[PointerKey]) -> None:
        if self.auditor is not None:
            self.auditor.deleting_pointers(process, keys)
        await self.inner.delete_pointers(keys)

    async def delete_realm(self, process: Process, realm: str, limit: int) -> int:
        if self.auditor is not None:
            self.auditor.deleting_realm(process, realm)
        return await self.inner.delete_realm(realm, limit)

    async def nothing(self) -> None:
        """A round trip."""

    # For auditors: at once, without a network.

    def rows_of(self, realm: str, id: int) -> list[Row]:
        """The rows of an object."""
        return run_now(self.inner.fetch(realm, [id]))

    def pointer(self, key: PointerKey) -> int | None:
        """The value of a pointer; None if it does not exist."""
        return run_now(self.inner.read_pointers([key]))[0]

    def pointers(self, realm: str | None = None) -> list[Pointer]:
        """All pointers."""
        return run_now(self.all_pointers(realm))


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing to its end."""
    try:
        while True:
            work.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer


async def _gathered(scan: AsyncIterator[list[T]]) -> list[T]:
    return [one async for batch in scan for one in batch]
