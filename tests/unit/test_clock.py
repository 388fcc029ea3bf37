"""The system's clocks: never backwards, forward at once, and not fooled by a pause."""

import asyncio
import time

import pytest

from headgate.clock import NS_PER_MS, SystemClock

START_NS = 1_767_225_600_000 * NS_PER_MS


class Machine:
    """Stands in for the functions of `time`; every reading may be followed by a pause."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ns = START_NS
        self.stopwatch_ns = 5_000 * NS_PER_MS
        self.pause_after_reading_ms = 0
        monkeypatch.setattr(time, "time_ns", self._time_ns)
        monkeypatch.setattr(time, "monotonic_ns", self._monotonic_ns)

    def passes(self, ms: int) -> None:
        self.wall_ns += ms * NS_PER_MS
        self.stopwatch_ns += ms * NS_PER_MS

    def is_set(self, by_ms: int) -> None:
        self.wall_ns += by_ms * NS_PER_MS

    def _time_ns(self) -> int:
        now = self.wall_ns
        self.passes(self.pause_after_reading_ms)
        return now

    def _monotonic_ns(self) -> int:
        now = self.stopwatch_ns
        self.passes(self.pause_after_reading_ms)
        return now


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


def test_a_step_forward_is_followed_at_once(machine: Machine, clock: SystemClock) -> None:
    """The next reading shows the new time."""
    before = clock.wall_ms()
    machine.is_set(by_ms=86_400_000)

    assert clock.wall_ms() == before + 86_400_000


def test_a_pause_within_a_reading_is_no_step_forward(machine: Machine, clock: SystemClock) -> None:
    """A process that is stopped between two readings does not run ahead ever after."""
    machine.pause_after_reading_ms = 10_000
    clock.wall_ms()
    machine.pause_after_reading_ms = 0

    assert clock.wall_ms() == machine.wall_ns // NS_PER_MS


def test_a_pause_while_the_clock_is_made_is_caught_up(machine: Machine) -> None:
    """The first readings may be apart; the next ones set it right."""
    machine.pause_after_reading_ms = 10_000
    clock = SystemClock()
    machine.pause_after_reading_ms = 0

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
