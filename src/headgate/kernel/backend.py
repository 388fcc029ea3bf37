"""The port to a database. It asks for compare-and-swap on one row, and nothing else.

Invariants every backend keeps, proven by `headgate.testing.backend_conformance`:

- A conditional verb ends in one of three ways. APPLIED: the write is durable and every later read
  on any node sees it. LOST: the condition did not hold and nothing was written. `OutcomeUnknown` is
  raised: the write was sent, and only reading can tell; it may even still happen.
- `Unavailable` is raised only when nothing was written and nothing will be.
- A backend never retries a conditional write by itself: a retry would turn APPLIED into LOST.
- Reads are linearizable, each for itself: they see every write acknowledged before they began.
- Pointer values are ids; the caller never uses one twice for the same pointer.
- Cancelling a caller may or may not stop what it asked for; it never breaks the backend.
- Values are bytes and are stored exactly.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol, runtime_checkable

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


class Backend(Protocol):
    """One database, shared by all realms."""

    name: str
    """For messages and metrics: "sqlite", "postgresql"."""

    snapshot_reads: bool
    """True if one `read_pointers` call shows values that were all current at one instant."""

    async def open(self) -> None:
        """Connect and bring the schema up to date, keeping what is stored.

        Not atomic; safe to run from several processes at once. Absence: a fresh database is set up.
        """
        ...

    async def close(self) -> None:
        """Let go of all resources. May be called twice, and after a failed `open`."""
        ...

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        """The values of these pointers, of any realms, in the order asked for, in one round trip.

        A snapshot if `snapshot_reads`. Never cached. Absence: None for a pointer that does not
        exist, EMPTY for one without a commit.
        """
        ...

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        """Make sure that these pointers exist; new ones are EMPTY, existing ones stay as they are.

        Atomic for each pointer, not together.
        """
        ...

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        """Store immutable rows of the swap's realm and swap the pointer, in one round trip.

        When APPLIED, all rows are readable by whoever can see the new pointer value. When LOST,
        rows may remain where the database has no transactions; they are inert. Rows that exist are
        left as they are, so sending the same commit again is harmless. Absence: `PointerNotFound`
        if the pointer does not exist.
        """
        ...

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        """All rows, of all parts, of these ids, in any order.

        Not a snapshot. Rows of version 0 are immutable and may be cached, others never.
        Absence: ids without rows are simply not in the answer.
        """
        ...

    async def write(self, rows: Sequence[Row]) -> None:
        """Store immutable rows (version 0) of any realms. Rows that exist are left as they are.

        Atomic for each row, not together; may be repeated after `OutcomeUnknown`.
        """
        ...

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        """Delete all rows, of all parts, of these ids, whatever their version.

        Atomic for each row, not together. Absence: ignored.
        """
        ...

    async def insert(self, row: Row) -> Outcome:
        """Store one versioned row if there is none with its id. Atomic. LOST: there is one."""
        ...

    async def update(self, row: Row, expected_version: int) -> Outcome:
        """Replace one versioned row if it has this version. Atomic.

        Absence: LOST, as for any other version.
        """
        ...

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        """Delete one versioned row if it has this version. Atomic.

        Absence: LOST, as for any other version.
        """
        ...

    def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        """All pointers of a realm, or of all realms, in batches, in any order. Never cached.

        Not a snapshot: what is created or deleted meanwhile may be seen or not, all else is seen.
        """
        ...

    def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        """All rows of all realms without their values, in batches, in any order. Never cached.

        Not a snapshot: what is created or deleted meanwhile may be seen or not, all else is seen.
        The partitions of one number of shares are disjoint and together complete.
        """
        ...

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        """Delete these pointers, whatever their value. Atomic for each. Absence: ignored."""
        ...

    async def delete_realm(self, realm: str, limit: int) -> int:
        """Delete some pointers and rows of a realm, pointers first, about `limit` at most.

        Not atomic. The answer is how many were deleted; 0 means that nothing is left.
        """
        ...


@runtime_checkable
class DatabaseClock(Protocol):
    """What a backend may offer besides: the clock of the machine on which its database runs."""

    async def clock_ms(self) -> int | None:
        """The present time of the database, in milliseconds since 1970.

        Absence: None if it has no clock but that of this machine.
        """
        ...


async def database_clock_ms(backend: Backend) -> int | None:
    """The present time of a backend's database; None if it offers none."""
    return await backend.clock_ms() if isinstance(backend, DatabaseClock) else None
