"""Programs of `headgate.testing` run as processes of their own, and what they say."""

import os
import subprocess
import sys
import threading
from types import TracebackType
from typing import Self

SECONDS_MAX = 30.0


class Program:
    """A running `python -m headgate.testing.<name>`: its whole lines so far are in `lines`."""

    def __init__(self, name: str, *arguments: object) -> None:
        self.lines: list[str] = []
        self._said = threading.Condition()
        self._silent = False
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", f"headgate.testing.{name}", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: text for name, text in os.environ.items() if name[:9] != "HEADGATE_"},
            text=True,
        )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    def wait_for_lines(self, count: int, seconds: float = SECONDS_MAX) -> None:
        """Wait until it has said so many lines."""
        with self._said:
            assert self._said.wait_for(lambda: len(self.lines) >= count or self._silent, seconds), (
                f"it is silent after {len(self.lines)} lines"
            )
        assert len(self.lines) >= count, f"it ended with {self._process.wait()}"

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def end(self, seconds: float = SECONDS_MAX) -> None:
        """Close its standard input and wait until it has ended well."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(seconds) == 0
        self._listener.join()

    def kill(self) -> None:
        """SIGKILL, unless it has ended; what it said before is in `lines`."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._said:
                if line.endswith("\n"):
                    self.lines.append(line[:-1])
                self._said.notify_all()
        with self._said:
            self._silent = True
            self._said.notify_all()
