"""The time in which a child process may delete."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headgate.clock import SystemClock, deadline_from
from headgate.errors import LeaseLost
from headgate.purge.fence import PREFIX, Fence, clear_fences, new_fence, open_fence
from headgate.testing.manual_clock import ManualClock

CHILD = """
import sys
from pathlib import Path
from headgate.clock import SystemClock
from headgate.errors import LeaseLost
from headgate.purge.fence import open_fence
with open_fence(Path(sys.argv[1]), SystemClock()) as fence:
    for _ in sys.stdin:
        try:
            fence.check()
            print("open", flush=True)
        except LeaseLost:
            print("closed", flush=True)
"""


def test_a_fence_is_closed_until_it_is_extended_and_after_its_time() -> None:
    """Nobody deletes before the parent said so, nor later than it said."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        with pytest.raises(LeaseLost, match="not renewed in time"):
            fence.check()
        fence.extend(deadline_from(clock).after(10))
        fence.check()
        clock.advance(9_999)
        fence.check()
        clock.advance(1)
        with pytest.raises(LeaseLost):
            fence.check()
        fence.extend(deadline_from(clock).after(1))
        fence.check()


def test_a_machine_that_was_suspended_finds_its_fence_closed() -> None:
    """The stopwatch stood still meanwhile, the wall clock did not, and others had the job."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(10))
        clock.suspend(10_000)

        assert clock.seconds() < deadline_from(clock).seconds + 10
        with pytest.raises(LeaseLost, match="not renewed in time"):
            fence.check()


def test_a_virtual_machine_that_is_resumed_finds_its_fence_closed_when_its_clock_is_set() -> None:
    """No clock of it counted the pause, but the wall clock is set ahead before it is believed."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(10))
        clock.jump(3_600_000)

        with pytest.raises(LeaseLost):
            fence.check()


def test_a_wall_clock_that_is_set_back_opens_no_fence() -> None:
    """The stopwatch goes on, whatever the wall clock shows."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(10))
        clock.jump(-3_600_000)
        fence.check()
        clock.advance(10_000)

        with pytest.raises(LeaseLost):
            fence.check()


@pytest.mark.parametrize("at", range(4))
def test_a_deadline_that_is_half_written_counts_as_the_earlier_one(at: int) -> None:
    """Each of its two times is stored twice, so one that is torn never opens the fence."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(10))
        fence._memory[8 * at : 8 * at + 8] = bytes(8)

        with pytest.raises(LeaseLost):
            fence.check()


def test_another_process_sees_at_once_what_the_parent_says() -> None:
    """The stopwatch is one for all processes of a machine, and so is the file."""
    clock = SystemClock()
    with (
        new_fence(clock) as fence,
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(fence.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        seen = []
        now = deadline_from(clock)
        for deadline in (now.after(60), now, now.after(60)):
            fence.extend(deadline)
            child.stdin.write("?\n")
            child.stdin.flush()
            seen.append(child.stdout.readline().strip())
        child.stdin.close()

    assert seen == ["open", "closed", "open"]


def test_a_fence_that_was_taken_down_is_closed() -> None:
    """A child that comes late finds that nobody waits for it; and no file is left behind."""
    clock = ManualClock()
    with new_fence(clock) as fence:
        path = fence.path

    assert not path.exists()
    with pytest.raises(LeaseLost, match="nobody waits"), open_fence(path, clock):
        pass


def test_what_a_killed_process_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing that a living one uses, or that is of another kind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left, other = tmp_path / f"{PREFIX}{dead.pid}-abc", tmp_path / f"{PREFIX}notes"
    left.write_bytes(b"")
    other.write_bytes(b"")
    with new_fence(ManualClock()) as fence:
        clear_fences()

        assert fence.path.exists()
    assert other.exists()
    assert not left.exists()


def test_who_still_has_a_fence_in_memory_stops_when_it_is_taken_down() -> None:
    """Children of a child may live a little longer than it."""
    clock = SystemClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(600))
        late = Fence(fence.path, clock)
        late.check()

    with pytest.raises(LeaseLost):
        late.check()
    late.close()
