"""Servers as child processes."""

import sys
from pathlib import Path

import pytest

from headgate.testing.child import Child

GOOD = (
    "import signal, sys; signal.signal(15, lambda *_: sys.exit(3)); "
    "print('up', flush=True); signal.pause()"
)
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True); signal.pause()"


def start(program: str, folder: Path) -> Child:
    child = Child([sys.executable, "-c", program], folder / "log")
    child.wait_until(lambda: "up" in child.said() or None, 20)
    return child


def test_a_stop_tells_the_exit_code(tmp_path: Path) -> None:
    """SIGTERM reaches the child, and its answer comes back."""
    child = start(GOOD, tmp_path)

    assert child.stop(20) == 3
    assert not child.is_running


def test_a_child_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    """It is an error, and nothing is left behind."""
    child = start(DEAF, tmp_path)

    with pytest.raises(RuntimeError, match="did not stop"):
        child.stop(0.1)
    assert not child.is_running


def test_an_early_end_is_told_with_its_log(tmp_path: Path) -> None:
    """Who waits for a child that has died learns what it said."""
    child = Child([sys.executable, "-c", "raise SystemExit('no port')"], tmp_path / "log")

    with pytest.raises(RuntimeError, match="ended with 1: no port"):
        child.wait_until(lambda: None, 20)


def test_the_log_goes_on_over_restarts(tmp_path: Path) -> None:
    """Each child sees its own words; the file keeps all."""
    start(GOOD, tmp_path).kill()
    second = start(GOOD, tmp_path)
    second.kill()

    assert second.said() == "up\n"
    assert (tmp_path / "log").read_text() == "up\nup\n"
