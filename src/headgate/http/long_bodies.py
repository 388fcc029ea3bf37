"""Bodies that are too long to be put together, or to be sent at once, while everybody waits."""

from collections.abc import Iterator, Sequence

from headgate.limits import SENT_AT_ONCE_BYTES


class LongBody:
    """The parts of a body, one after another."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = parts
        self._size = sum(map(len, parts))

    def __len__(self) -> int:
        return self._size

    def pieces(self) -> Iterator[bytes]:
        """All of it, in pieces that can be sent."""
        for part in self._parts:
            for start in range(0, len(part), SENT_AT_ONCE_BYTES):
                yield part[start : start + SENT_AT_ONCE_BYTES]
