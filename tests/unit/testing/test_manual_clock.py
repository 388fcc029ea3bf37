"""The manual clock stands still, and both of its hands move together."""

import asyncio
from datetime import UTC, datetime

import pytest

from headgate.clock import Clock
from headgate.ids import IdGenerator, Lease, time_ms
from headgate.limits import IDS_PER_MS
from headgate.testing.manual_clock import START_MS, ManualClock


def test_time_stands_still() -> None:
    """Without a push the clock shows the first moment of 2026."""
    clock: Clock = ManualClock()

    assert clock.wall_ms() == clock.wall_ms() == START_MS
    assert datetime.fromtimestamp(START_MS / 1000, UTC) == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_start_is_the_caller_s() -> None:
    """Any moment will do."""
    assert ManualClock(5).wall_ms() == 5


def test_both_hands_move_together() -> None:
    """The wall clock and the stopwatch agree, below a millisecond too."""
    clock = ManualClock()
    started = clock.seconds()
    clock.advance(1500)
    clock.advance(0.4)
    clock.advance(0.6)

    assert clock.wall_ms() == START_MS + 1501
    assert clock.seconds() - started == pytest.approx(1.501, abs=1e-6)


def test_time_never_goes_back() -> None:
    """A negative step is a mistake of the test."""
    with pytest.raises(AssertionError):
        ManualClock().advance(-1)


def test_a_pause_is_a_millisecond() -> None:
    """So that whoever waits for the next millisecond gets it."""
    clock = ManualClock()
    clock.pause()

    assert clock.wall_ms() == START_MS + 1


def test_an_id_generator_runs_on_it() -> None:
    """It waits for the next millisecond without waiting."""
    clock = ManualClock()
    ids = IdGenerator(clock)
    ids.use(Lease(1, START_MS, START_MS + 1000))
    made = [ids.next() for _ in range(IDS_PER_MS + 1)]

    assert made == sorted(set(made))
    assert time_ms(made[-1]) == START_MS + 1


async def test_sleeping_moves_the_time_and_gives_way_once() -> None:
    """Another task gets its turn; no real time passes; waits side by side add up."""
    clock = ManualClock()
    turns: list[str] = []

    async def sleeper(name: str) -> None:
        turns.append(f"{name} sleeps")
        await clock.sleep(3600)
        turns.append(f"{name} wakes")

    await asyncio.gather(sleeper("a"), sleeper("b"))
    await clock.sleep(-1)

    assert turns == ["a sleeps", "b sleeps", "a wakes", "b wakes"]
    assert clock.wall_ms() == START_MS + 2 * 3_600_000
