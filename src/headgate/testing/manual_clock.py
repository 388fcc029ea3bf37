"""A clock that stands still until a test moves it."""

import asyncio

from headgate.clock import NS_PER_MS, GuardedClock

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
NS_PER_SECOND = 1_000_000_000


class ManualClock(GuardedClock):
    """Time for tests. Waiting takes no real time: it moves this clock instead.

    `sleep` moves the time by the whole wait at once and lets other tasks run for one turn. So the
    waits of tasks that sleep side by side add up, as if they slept one after the other.
    """

    _ahead_ns = _jumped_ns = _suspended_ns = 0

    def __init__(self, start_ms: int = START_MS) -> None:
        self._now_ns = start_ms * NS_PER_MS
        super().__init__()

    def _machine(self) -> tuple[int, int]:
        return self._now_ns + self._jumped_ns, self._now_ns

    def machine_ms(self) -> int:
        """What a machine shows whose clock jumped, also where a subclass shows another time."""
        return self.wall_ms() + (self._jumped_ns - self._ahead_ns) // NS_PER_MS

    def seconds(self) -> float:
        return (self._now_ns - self._suspended_ns) / NS_PER_SECOND

    def advance(self, ms: float) -> None:
        """Move the time on; it never goes back."""
        assert ms >= 0, ms
        self._now_ns += round(ms * NS_PER_MS)

    def jump(self, ms: int) -> None:
        """Set the machine's wall clock, ahead or back; no time passes."""
        self._jumped_ns += ms * NS_PER_MS

    def suspend(self, ms: int) -> None:
        """Let the machine sleep: time passes, and the stopwatch does not count it."""
        self._now_ns += ms * NS_PER_MS
        self._suspended_ns += ms * NS_PER_MS

    def pause(self) -> None:
        """Move the time on by one millisecond."""
        self.advance(1)

    async def sleep(self, seconds: float) -> None:
        """Move the time on by this much and give way to other tasks once."""
        self.advance(max(seconds, 0) * 1000)
        await asyncio.sleep(0)
