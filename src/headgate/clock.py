"""Time as a port: a wall clock that never runs backwards, and a stopwatch."""

import asyncio
import time
from typing import Protocol

NS_PER_MS = 1_000_000


class Clock(Protocol):
    """Where every reading of time and every wait comes from."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970. Never less than an earlier answer of this clock."""
        ...

    def seconds(self) -> float:
        """A stopwatch for intervals; its zero means nothing."""
        ...

    def pause(self) -> None:
        """Block for well under a millisecond, so that `wall_ms` can move on."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run for this long."""
        ...


class SystemClock:
    """The machine's clocks. A step back of the wall clock is ignored: time goes on with the
    stopwatch until the wall clock has caught up. A step forward is followed at once."""

    def __init__(self) -> None:
        self._ahead_ns = time.time_ns() - time.monotonic_ns()

    def wall_ms(self) -> int:
        wall_ns = time.time_ns()  # first: a pause before the next line is no step forward
        stopwatch_ns = time.monotonic_ns()
        self._ahead_ns = max(self._ahead_ns, wall_ns - stopwatch_ns)
        return (stopwatch_ns + self._ahead_ns) // NS_PER_MS

    def seconds(self) -> float:
        return time.monotonic()

    def pause(self) -> None:
        time.sleep(0.0002)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
