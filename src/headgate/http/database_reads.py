"""Counts how often the database is read: in all, and for the request at hand."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextvars import ContextVar

from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.records import WHOLE, Partition, Pointer, PointerKey, Row, ScannedRow


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


class ReadCountingBackend(ForwardingBackend):
    """Counts the round trips that only read."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.reads = 0

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        self._count()
        return await self.inner.read_pointers(keys)

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        self._count()
        return await self.inner.fetch(realm, ids)

    def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        self._count()
        return self.inner.scan_pointers(realm)

    def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        self._count()
        return self.inner.scan_rows(partition)

    def _count(self) -> None:
        self.reads += 1
        reads = _of_request.get()
        if reads is not None:
            reads.count += 1
