"""The system's clocks: never backwards, not ahead before it is sure, not fooled by a pause."""

import asyncio
import time

import pytest

from headgate.clock import (
    NEVER,
    NS_PER_MS,
    SystemClock,
    deadline_from,
    latest_ms,
    present_ms,
    step_ms,
)
from headgate.limits import CLOCK_BEHIND_MS_MAX, CLOCK_STEP_MS_MAX, CLOCK_STEP_SECONDS_HELD
from headgate.testing.manual_clock import START_MS, ManualClock

HELD_MS = round(CLOCK_STEP_SECONDS_HELD * 1000)
MONTH_MS = 30 * 86_400_000
START_NS = 1_767_225_600_000 * NS_PER_MS


class Machine:
    """Stands in for the functions of `time`; every reading may be followed by a pause."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ns = START_NS
        self.stopwatch_ns = 5_000 * NS_PER_MS
        self.pause_after_reading_ms = 0
        self.pauses = 1_000
        monkeypatch.setattr(time, "time_ns", self._time_ns)
        monkeypatch.setattr(time, "clock_gettime_ns", self._clock_gettime_ns)

    def passes(self, ms: int) -> None:
        self.wall_ns += ms * NS_PER_MS
        self.stopwatch_ns += ms * NS_PER_MS

    def is_set(self, by_ms: int) -> None:
        self.wall_ns += by_ms * NS_PER_MS

    def _time_ns(self) -> int:
        now = self.wall_ns
        self._pause()
        return now

    def _clock_gettime_ns(self, _clock: int) -> int:
        now = self.stopwatch_ns
        self._pause()
        return now

    def _pause(self) -> None:
        if self.pauses:
            self.pauses -= 1
            self.passes(self.pause_after_reading_ms)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.fixture
def clock(machine: Machine) -> SystemClock:
    return SystemClock()


def test_the_wall_clock_is_the_machines(machine: Machine, clock: SystemClock) -> None:
    """Undisturbed, it shows milliseconds since 1970."""
    machine.passes(1_234)

    assert clock.wall_ms() == START_NS // NS_PER_MS + 1_234


def test_a_step_back_is_ignored(machine: Machine, clock: SystemClock) -> None:
    """Time goes on with the stopwatch when the wall clock is set back."""
    before = clock.wall_ms()
    machine.is_set(by_ms=-3_600_000)
    machine.passes(10)

    assert clock.wall_ms() == before + 10


def test_a_wall_clock_that_caught_up_is_followed_again(
    machine: Machine, clock: SystemClock
) -> None:
    """After a step back and a larger one forward the machine's time counts."""
    before = clock.wall_ms()
    machine.is_set(by_ms=-100)
    clock.wall_ms()
    machine.is_set(by_ms=150)

    assert clock.wall_ms() == before + 50


def test_a_small_step_ahead_is_followed_at_once(machine: Machine, clock: SystemClock) -> None:
    """A clock that is slewed or set by some seconds is what the machine shows."""
    before = clock.wall_ms()
    machine.is_set(by_ms=CLOCK_STEP_MS_MAX)

    assert clock.wall_ms() == before + CLOCK_STEP_MS_MAX
    assert step_ms(clock) == 0


def test_a_larger_step_ahead_is_suspected(machine: Machine, clock: SystemClock) -> None:
    """Time goes on with the stopwatch, and says by how much the machine differs."""
    before = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    machine.passes(10)

    assert clock.wall_ms() == before + 10
    assert clock.machine_ms() == before + 10 + MONTH_MS
    assert step_ms(clock) == MONTH_MS


def test_a_jump_of_a_month_for_four_seconds_leaves_no_trace(
    machine: Machine, clock: SystemClock
) -> None:
    """What was never followed needs no way back."""
    before = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    for _ in range(4):
        machine.passes(1_000)
        clock.wall_ms()
    machine.is_set(by_ms=-MONTH_MS)

    assert clock.wall_ms() == before + 4_000 == machine.wall_ns // NS_PER_MS
    assert step_ms(clock) == 0


def test_a_step_ahead_that_lasts_is_followed(machine: Machine, clock: SystemClock) -> None:
    """After a minute in which nothing contradicts it, and not before."""
    before = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    clock.wall_ms()
    machine.passes(HELD_MS - 1)
    early = clock.wall_ms()
    machine.passes(1)

    assert early == before + HELD_MS - 1
    assert clock.wall_ms() == before + HELD_MS + MONTH_MS
    assert step_ms(clock) == 0


def test_a_second_jump_is_not_taken_for_the_first(machine: Machine, clock: SystemClock) -> None:
    """Each has to last by itself, also if it is as large as the one before."""
    before = clock.wall_ms()
    for _ in range(2):
        machine.is_set(by_ms=MONTH_MS)
        clock.wall_ms()
        machine.is_set(by_ms=-MONTH_MS)
        machine.passes(HELD_MS)
        clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)

    assert clock.wall_ms() == before + 2 * HELD_MS


def test_a_step_that_grows_has_to_last_again(machine: Machine, clock: SystemClock) -> None:
    """An hour that lasted for a minute says nothing of the month that follows."""
    before = clock.wall_ms()
    machine.is_set(by_ms=3_600_000)
    clock.wall_ms()
    machine.passes(HELD_MS)
    machine.is_set(by_ms=MONTH_MS)

    assert clock.wall_ms() == before + HELD_MS


def test_a_step_that_is_confirmed_is_followed_at_once(machine: Machine, clock: SystemClock) -> None:
    """Whatever else knows the time may say so; a step back is not followed even then."""
    before = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    clock.follow()
    ahead = clock.wall_ms()
    machine.is_set(by_ms=-MONTH_MS)
    clock.follow()

    assert ahead == clock.wall_ms() == before + MONTH_MS


def test_a_step_that_is_contradicted_has_to_last_from_then_on(
    machine: Machine, clock: SystemClock
) -> None:
    """It is not followed for as long as something contradicts it."""
    before = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    for _ in range(10):
        clock.wall_ms()
        machine.passes(HELD_MS - 1)
        clock.hold()
    assert clock.wall_ms() == before + 10 * (HELD_MS - 1)
    machine.passes(HELD_MS)

    assert clock.wall_ms() > before + MONTH_MS


def test_a_step_back_beyond_the_tolerance_is_told(machine: Machine, clock: SystemClock) -> None:
    """This process is ahead of all others then, until the machine's clock has caught up."""
    machine.is_set(by_ms=-CLOCK_BEHIND_MS_MAX)
    tolerated = step_ms(clock)
    machine.is_set(by_ms=-1)
    told = step_ms(clock)
    machine.is_set(by_ms=1)

    assert (tolerated, told, step_ms(clock)) == (0, -CLOCK_BEHIND_MS_MAX - 1, 0)


def test_verdicts_of_the_moment_come_back_with_the_machine(
    machine: Machine, clock: SystemClock
) -> None:
    """The present time is neither that of a suspected step, nor that of one which is over."""
    start = clock.wall_ms()
    machine.is_set(by_ms=MONTH_MS)
    suspected = present_ms(clock), latest_ms(clock)
    clock.follow()
    followed = present_ms(clock)
    machine.is_set(by_ms=-MONTH_MS)

    assert suspected == (start, start + MONTH_MS)
    assert followed == start + MONTH_MS
    assert present_ms(clock) == start
    assert latest_ms(clock) == start + MONTH_MS


def test_a_deadline_has_passed_when_one_of_two_clocks_says_so() -> None:
    """A machine that slept for hours may not have counted them on its stopwatch."""
    clock = ManualClock()
    deadline = deadline_from(clock).after(10)
    assert NEVER.has_passed(clock)
    assert not deadline.has_passed(clock)
    clock.jump(10_000)
    assert deadline.has_passed(clock)
    clock.jump(-10_000)
    assert not deadline.has_passed(clock)
    clock.advance(10_000)

    assert deadline.has_passed(clock)


def test_a_machine_that_slept_has_not_jumped() -> None:
    """The time that counts includes the time for which the machine was suspended."""
    clock = ManualClock()
    seconds = clock.seconds()
    clock.suspend(MONTH_MS)

    assert clock.wall_ms() == clock.machine_ms() == START_MS + MONTH_MS
    assert step_ms(clock) == 0
    assert clock.seconds() == seconds


def test_a_pause_within_a_reading_is_no_step_forward(machine: Machine, clock: SystemClock) -> None:
    """A process that is stopped between two readings does not run ahead ever after."""
    machine.pause_after_reading_ms = 10_000
    clock.wall_ms()
    machine.pause_after_reading_ms = 0

    assert clock.wall_ms() == machine.wall_ns // NS_PER_MS


def test_a_pause_while_the_clock_is_made_is_caught_up(machine: Machine) -> None:
    """The first readings may be apart; the next ones set it right."""
    machine.pause_after_reading_ms, machine.pauses = 10_000, 1
    clock = SystemClock()

    assert clock.wall_ms() == machine.wall_ns // NS_PER_MS


def test_the_stopwatch_measures_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the machine's monotonic clock."""
    monkeypatch.setattr(time, "monotonic", lambda: 12.5)

    assert SystemClock().seconds() == 12.5


def test_a_pause_is_well_under_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    """It blocks for as long as an id generator may wait."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    SystemClock().pause()

    assert len(slept) == 1
    assert 0 < slept[0] < 0.001


async def test_sleeping_lets_other_tasks_run() -> None:
    """Another task makes progress meanwhile."""
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await SystemClock().sleep(0)

    assert ran.is_set()


def test_the_real_clock_never_goes_back() -> None:
    """A thousand readings are in order."""
    clock = SystemClock()
    readings = [clock.wall_ms() for _ in range(1_000)]

    assert readings == sorted(readings)
