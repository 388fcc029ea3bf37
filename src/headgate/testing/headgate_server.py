"""The real `headgate serve` as a process of its own, for tests and benchmarks."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.testing.child import Child

READY = re.compile(r"^headgate ready on (http://\S+:(\d+))\s*$", re.MULTILINE)
START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0


class HeadgateServer:
    """A server whose data lies in `folder`; `options` are added to its command line.

    Each start takes a free port unless `port` is given. Leaving the block is a graceful stop that
    must succeed, unless the server was killed or the block failed. `variables` are added to its
    environment.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        port: int = 0,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.url = ""
        self._options = options
        self._port = port
        self._variables = variables or {}
        self._child: Child | None = None

    @property
    def iceberg_url(self) -> str:
        """The base that Iceberg's clients are given."""
        return f"{self.url}/iceberg"

    @property
    def warehouse(self) -> Path:
        """Where the tables of the first catalog lie."""
        return self.folder / "data" / "warehouse"

    @property
    def is_running(self) -> bool:
        """Whether it was started, and neither stopped nor killed here."""
        return self._child is not None

    @property
    def pid(self) -> int:
        assert self._child, "it does not run"
        return self._child.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._child is None:
            return
        if error is None:
            self.stop()
        else:
            self.kill()
            error.add_note(f"the server's log ends:\n{self.said()[-4000:]}")

    def start(self) -> None:
        """Start on the data that is there; the server has said that it is ready on return."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", "headgate", "serve", "--port", str(self._port)),
            *("--data", str(self.folder / "data"), *self._options),
        ]
        child = Child(command, self.log, environment() | dict(self._variables))
        try:
            ready = child.wait_until(lambda: READY.search(child.said()), START_SECONDS_MAX)
        except BaseException:
            child.kill()
            raise
        self.url = ready[1]
        self._child = child

    def stop(self) -> None:
        """SIGTERM; it is an error if the server does not end well, and soon."""
        assert self._child, "it does not run"
        child, self._child = self._child, None
        if code := child.stop(STOP_SECONDS_MAX):
            raise RuntimeError(f"headgate serve ended with {code}: {child.said()[-4000:]}")

    def kill(self) -> None:
        """SIGKILL to the server and all its processes."""
        assert self._child, "it does not run"
        self._child.kill()
        self._child = None

    def kill_alone(self) -> int:
        """SIGKILL to the server; its processes are left to themselves. Their group."""
        assert self._child, "it does not run"
        child, self._child = self._child, None
        return child.kill_alone()

    def said(self) -> str:
        """All that it has written, over all starts."""
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Wait until it writes this: warnings follow the line that says it is ready."""
        assert self._child, "it does not run"
        self._child.wait_until(lambda: (text in self.said()) or None, START_SECONDS_MAX)


def environment() -> dict[str, str]:
    """This process's environment without Headgate's settings: a server has its defaults."""
    return {name: text for name, text in os.environ.items() if name[:9] != "HEADGATE_"}
