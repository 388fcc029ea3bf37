"""Time as a port: a wall clock that never runs backwards nor jumps ahead, and a stopwatch.

The wall time of a process is a stopwatch plus an offset. The stopwatch counts the time for which
the machine was suspended, so a machine that wakes up has not jumped. The offset follows the
machine's wall clock as long as that moves on steadily. A step ahead is only *suspected*: it is
followed once it has lasted for a while, or when something else confirms it. A step back is never
followed: time goes on with the stopwatch.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from headgate.limits import CLOCK_BEHIND_MS_MAX, CLOCK_STEP_MS_MAX, CLOCK_STEP_SECONDS_HELD

NS_PER_MS = 1_000_000
_FIRST_READINGS = 3
_STEP_NS_MAX = CLOCK_STEP_MS_MAX * NS_PER_MS
_BEHIND_NS_MAX = CLOCK_BEHIND_MS_MAX * NS_PER_MS
_HELD_NS = round(CLOCK_STEP_SECONDS_HELD * 1000) * NS_PER_MS
_SUSPENSION_COUNTED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""On macOS the monotonic clock of the system counts suspension, that of Python does not."""


class Clock(Protocol):
    """Where every reading of time and every wait comes from."""

    step_ms: int
    """How far the machine's clock was from the last answer of `wall_ms`, if that is a step: above 0
    for one ahead that is not confirmed yet, below 0 for one back. 0 if it is none."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970. Never less than an earlier answer of this clock."""
        ...

    def machine_ms(self) -> int:
        """What the machine's own wall clock shows: it may jump, and go back."""
        ...

    def follow(self) -> None:
        """Follow a step ahead of the machine's clock now: something else confirms it."""
        ...

    def hold(self) -> None:
        """Do not follow a step ahead before it has lasted for a while from now on: something else
        contradicts it."""
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


def step_ms(clock: Clock) -> int:
    """The step of the machine's clock that there is now; 0 if there is none."""
    clock.wall_ms()
    return clock.step_ms


def present_ms(clock: Clock) -> int:
    """The present time for verdicts that are not remembered: unlike `wall_ms` it comes back with a
    machine whose clock was ahead."""
    return min(clock.wall_ms(), clock.machine_ms())


def latest_ms(clock: Clock) -> int:
    """The latest time that it may be, for verdicts on what begins later than now."""
    return max(clock.wall_ms(), clock.machine_ms())


class Deadline(NamedTuple):
    """A time by the stopwatch and by the machine's wall clock, whichever comes first: a machine
    that was suspended may not have counted that, but its wall clock is set right."""

    seconds: float
    machine_ms: int

    def after(self, seconds: float) -> "Deadline":
        """So many seconds later."""
        return Deadline(self.seconds + seconds, self.machine_ms + round(seconds * 1000))

    def has_passed(self, clock: Clock) -> bool:
        """Whether it lies in the past by one of the two clocks."""
        return clock.seconds() >= self.seconds or clock.machine_ms() >= self.machine_ms


NEVER = Deadline(float("-inf"), 0)
"""It has always passed."""


def deadline_from(clock: Clock) -> Deadline:
    """The present time by both clocks, to count from."""
    return Deadline(clock.seconds(), clock.machine_ms())


class GuardedClock(ABC):
    """The wall time of a process, from the clocks of a machine."""

    step_ms = 0

    def __init__(self) -> None:
        readings = [self._machine() for _ in range(_FIRST_READINGS)]  # a pause makes one too low
        self._ahead_ns = max(wall_ns - stopwatch_ns for wall_ns, stopwatch_ns in readings)
        self._suspected_ns = 0  # the offset after a step that is not followed; 0 if there is none
        self._since_ns = 0  # when it was noticed, by the stopwatch

    @abstractmethod
    def _machine(self) -> tuple[int, int]:
        """The wall clock, and then the stopwatch: a pause between the two is no step ahead."""

    def wall_ms(self) -> int:
        wall_ns, stopwatch_ns = self._machine()
        ahead_ns = wall_ns - stopwatch_ns
        if not -_BEHIND_NS_MAX <= ahead_ns - self._ahead_ns <= _STEP_NS_MAX:
            self._notice_step(ahead_ns, stopwatch_ns)
        else:
            self.step_ms = self._suspected_ns = 0
            if ahead_ns > self._ahead_ns:  # noqa: PLR1730  read very often: `max` is a call more
                self._ahead_ns = ahead_ns
        return (stopwatch_ns + self._ahead_ns) // NS_PER_MS

    def machine_ms(self) -> int:
        return self._machine()[0] // NS_PER_MS

    def follow(self) -> None:
        wall_ns, stopwatch_ns = self._machine()
        self._ahead_ns = max(self._ahead_ns, wall_ns - stopwatch_ns)

    def hold(self) -> None:
        self._since_ns = self._machine()[1]

    def _notice_step(self, ahead_ns: int, stopwatch_ns: int) -> None:
        """Follow a step ahead that has lasted for long enough; remember one that is new."""
        if ahead_ns < self._ahead_ns:
            self._suspected_ns = 0
        elif abs(ahead_ns - self._suspected_ns) > _STEP_NS_MAX:
            self._suspected_ns, self._since_ns = ahead_ns, stopwatch_ns
        elif stopwatch_ns - self._since_ns >= _HELD_NS:
            self._ahead_ns = ahead_ns
        self.step_ms = (ahead_ns - self._ahead_ns) // NS_PER_MS


class SystemClock(GuardedClock):
    """The clocks of this machine."""

    def _machine(self) -> tuple[int, int]:
        return time.time_ns(), time.clock_gettime_ns(_SUSPENSION_COUNTED)

    def seconds(self) -> float:
        return time.monotonic()

    def pause(self) -> None:
        time.sleep(0.0002)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
