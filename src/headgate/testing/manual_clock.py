"""A clock that stands still until a test moves it."""

import asyncio

from headgate.clock import NS_PER_MS

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
NS_PER_SECOND = 1_000_000_000


class ManualClock:
    """Time for tests. Waiting takes no real time: it moves this clock instead.

    `sleep` moves the time by the whole wait at once and lets other tasks run for one turn. So the
    waits of tasks that sleep side by side add up, as if they slept one after the other.
    """

    def __init__(self, start_ms: int = START_MS) -> None:
        self._now_ns = start_ms * NS_PER_MS

    def wall_ms(self) -> int:
        return self._now_ns // NS_PER_MS

    def seconds(self) -> float:
        return self._now_ns / NS_PER_SECOND

    def advance(self, ms: float) -> None:
        """Move the time on; it never goes back."""
        assert ms >= 0, ms
        self._now_ns += round(ms * NS_PER_MS)

    def pause(self) -> None:
        """Move the time on by one millisecond."""
        self.advance(1)

    async def sleep(self, seconds: float) -> None:
        """Move the time on by this much and give way to other tasks once."""
        self.advance(max(seconds, 0) * 1000)
        await asyncio.sleep(0)
