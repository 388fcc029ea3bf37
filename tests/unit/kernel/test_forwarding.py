"""What decorators of a backend share."""

from collections.abc import AsyncIterator

from headgate.kernel.forwarding import closing


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
