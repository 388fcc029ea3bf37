"""The counting backend counts what was asked of it."""

from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import PointerNotFound
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, PointerKey, Row, Swap
from headgate.testing.counting import CountingBackend
from headgate.testing.row_conformance import immutable, versioned

KEY = PointerKey("realm", "pointer")

T = TypeVar("T")


async def drain(scan: AsyncIterator[list[T]]) -> None:
    async for _ in scan:
        pass


async def use_every_verb(backend: Backend) -> None:
    await backend.create_pointers("realm", ["pointer", "other"])
    await backend.read_pointers([KEY, KEY, KEY])
    await backend.commit([immutable("realm", 1, b"12345")], Swap(KEY, EMPTY, 1))
    await backend.write([immutable("realm", 2, b"123"), immutable("realm", 3, b"")])
    await backend.insert(versioned("realm", 4, 1, b"12"))
    await backend.update(versioned("realm", 4, 2, b"1"), 1)
    await backend.fetch("realm", [1, 2, 99])
    await drain(backend.scan_pointers())
    await drain(backend.scan_rows())
    await backend.remove("realm", 4, 2)
    await backend.delete("realm", [2])
    await backend.delete_pointers([KEY])
    await backend.delete_realm("realm", 100)


async def test_calls_rows_and_bytes_are_counted() -> None:
    """Each verb has its own counts; the sums are those of the writing verbs."""
    backend = CountingBackend(MemoryBackend())
    await backend.open()
    await use_every_verb(backend)
    await backend.close()

    assert set(backend.calls.values()) == {1}
    assert len(backend.calls) == 13
    assert +backend.rows == {
        "create_pointers": 2,
        "read_pointers": 3,
        "commit": 1,
        "write": 2,
        "insert": 1,
        "update": 1,
        "fetch": 2,
        "scan_pointers": 2,
        "scan_rows": 4,
        "delete_pointers": 1,
    }
    assert +backend.bytes == {"commit": 5, "write": 3, "insert": 2, "update": 1, "fetch": 8}
    assert backend.rows_written == 5
    assert backend.bytes_written == 11


async def test_calls_that_fail_are_counted() -> None:
    """What was sent was sent."""
    backend = CountingBackend(MemoryBackend())
    with pytest.raises(PointerNotFound):
        await backend.commit([Row("realm", 1, 0, 1, "test", 0, b"123")], Swap(KEY, EMPTY, 1))

    assert backend.calls == {"commit": 1}
    assert backend.bytes_written == 3


async def test_counts_can_be_reset() -> None:
    """Afterwards nothing has been counted."""
    backend = CountingBackend(MemoryBackend())
    await use_every_verb(backend)
    backend.reset()

    assert not backend.calls
    assert backend.rows_written == backend.bytes_written == 0
