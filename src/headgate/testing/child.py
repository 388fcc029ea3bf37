"""A server run as a child process: started, watched through its log, stopped or killed."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

POLL_SECONDS = 0.01
LOG_TAIL_CHARACTERS = 4000


class Child:
    """One process in a group of its own, with both outputs in the file `log`."""

    def __init__(
        self, command: list[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._began = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  the command of a test
                command,
                cwd=log.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,  # and in our session: Linux shares cores between sessions
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """What it has written since it started."""
        with self.log.open("rb") as log:
            log.seek(self._began)
            return log.read().decode(errors="replace")

    def wait_until(self, look: Callable[[], Found | None], seconds: float) -> Found:
        """What `look` finds at last; it is an error if the process ends or time runs out."""
        deadline = time.monotonic() + seconds
        while (found := look()) is None:
            if not self.is_running:
                raise RuntimeError(f"it ended with {self._process.returncode}: {self._tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"it is not ready after {seconds:.0f} s: {self._tail()}")
            time.sleep(POLL_SECONDS)
        return found

    def stop(self, seconds: float) -> int:
        """SIGTERM to the process alone, and its exit code; killed if it takes longer."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"it did not stop in {seconds:.0f} s: {self._tail()}") from None
        finally:
            self.kill()

    def kill(self) -> None:
        """SIGKILL to the whole group, as if the power failed. Nothing happens if all is over."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def kill_alone(self) -> int:
        """SIGKILL to the process; its own children are left to themselves. Their group."""
        self._process.kill()
        self._process.wait()
        return self.pid

    def _tail(self) -> str:
        return self.said()[-LOG_TAIL_CHARACTERS:]
