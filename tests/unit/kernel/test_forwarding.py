"""What decorators of a backend share."""

from collections.abc import AsyncIterator

from headgate.backends.memory import MemoryBackend
from headgate.kernel.forwarding import ForwardingBackend, closing
from headgate.kernel.records import EMPTY, PointerKey

KEYS = [PointerKey("r", "p"), PointerKey("r", "q")]


class Plain:
    """An iterator that holds nothing."""

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        return 1


async def test_a_scan_that_is_left_early_gives_up_what_it_holds() -> None:
    """At once, and not when somebody collects the garbage."""
    left: list[str] = []

    async def scan() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            left.append("left")

    async with closing(scan()) as numbers:
        assert await anext(numbers) == 1
        assert left == []
    assert left == ["left"]


async def test_a_scan_that_cannot_be_closed_is_just_left() -> None:
    """Backends may answer with any iterator."""
    async with closing(Plain()) as numbers:
        assert await anext(numbers) == 1


async def test_pointers_are_created_read_and_deleted_in_the_inner_backend() -> None:
    """Nothing is kept on the way."""
    inner = MemoryBackend()
    backend = ForwardingBackend(inner)
    await backend.open()
    await backend.create_pointers("r", ["p", "q"])
    created = await backend.read_pointers(KEYS)
    await backend.delete_pointers(KEYS[:1])

    assert created == [EMPTY, EMPTY]
    assert await inner.read_pointers(KEYS) == [None, EMPTY]
    assert await backend.clock_ms() is None
