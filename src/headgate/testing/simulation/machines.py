"""The clocks of a simulated machine, and the module `time` as the processes on it see it."""

import time
from collections.abc import Callable

from headgate.testing.manual_clock import START_MS

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000
NEVER = float("inf")


class Machine:
    """A machine. Its clocks go on while processes on it are killed and started."""

    def __init__(self, now: float = 0.0, wall_ahead_seconds: float = 0.0) -> None:
        self.rate = 1.0
        """Seconds of its clocks for each second that really passes."""
        self.is_suspended = False
        self._at = now
        self._monotonic = now
        self._boot = now
        self._wall_ns = START_MS * NS_PER_MS + int((now + wall_ahead_seconds) * NS_PER_SECOND)

    def seconds(self, now: float) -> float:
        """The stopwatch; it stands while the machine is suspended."""
        passed = 0.0 if self.is_suspended else (now - self._at) * self.rate
        return self._monotonic + passed

    def boot_seconds(self, now: float) -> float:
        """The stopwatch that counts suspension, too."""
        return self._boot + (now - self._at) * self.rate

    def wall_ns(self, now: float) -> int:
        """The wall clock."""
        return self._wall_ns + int((now - self._at) * self.rate * NS_PER_SECOND)

    def ahead_seconds(self, now: float) -> float:
        """How far the wall clock is ahead of the real time."""
        return self.wall_ns(now) / NS_PER_SECOND - START_MS / 1_000 - now

    def due(self, seconds: float) -> float:
        """When the stopwatch shows this, in real time."""
        if self.is_suspended:
            return NEVER
        return self._at + (seconds - self._monotonic) / self.rate

    def set_rate(self, now: float, rate: float) -> None:
        """Let all clocks go faster or slower from now on."""
        self._rebase(now)
        self.rate = rate

    def step_wall(self, now: float, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._rebase(now)
        self._wall_ns += int(seconds * NS_PER_SECOND)

    def suspend(self, now: float) -> None:
        """Let the stopwatch stand; the wall clock goes on."""
        self._rebase(now)
        self.is_suspended = True

    def resume(self, now: float) -> None:
        """Let the stopwatch go on."""
        self._rebase(now)
        self.is_suspended = False

    def pass_time(self, now: float, seconds: float) -> None:
        """Let the clocks move on although nothing else happens: a process blocks."""
        self._rebase(now)
        self._monotonic += seconds
        self._boot += seconds
        self._wall_ns += int(seconds * NS_PER_SECOND)

    def _rebase(self, now: float) -> None:
        self._monotonic, self._boot, self._wall_ns = (
            self.seconds(now),
            self.boot_seconds(now),
            self.wall_ns(now),
        )
        self._at = now


Current = Callable[[], tuple[Machine, float]]
"""The machine of the process that runs now, and the real time."""


class MachineTime:
    """Stands in for the module `time` within `headgate.clock`: the clocks of a product process are
    the real ones, on the clocks of a simulated machine."""

    CLOCK_MONOTONIC = time.CLOCK_MONOTONIC
    CLOCK_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    CLOCK_REALTIME = time.CLOCK_REALTIME

    def __init__(self, current: Current) -> None:
        self._current = current

    def time_ns(self) -> int:
        machine, now = self._current()
        return machine.wall_ns(now)

    def time(self) -> float:
        return self.time_ns() / NS_PER_SECOND

    def monotonic(self) -> float:
        machine, now = self._current()
        return machine.seconds(now)

    def monotonic_ns(self) -> int:
        return int(self.monotonic() * NS_PER_SECOND)

    def clock_gettime_ns(self, clock: int) -> int:
        if clock == self.CLOCK_REALTIME:
            return self.time_ns()
        machine, now = self._current()
        if clock == self.CLOCK_BOOTTIME != self.CLOCK_MONOTONIC:
            return int(machine.boot_seconds(now) * NS_PER_SECOND)
        return self.monotonic_ns()

    def clock_gettime(self, clock: int) -> float:
        return self.clock_gettime_ns(clock) / NS_PER_SECOND

    def sleep(self, seconds: float) -> None:
        machine, now = self._current()
        machine.pass_time(now, seconds)
