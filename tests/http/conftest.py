"""Real servers in processes of their own, on free ports of this machine; nothing else is needed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

ROOT = Path(__file__).parents[2]
READY = "headgate ready on "
PATIENCE_SECONDS = 20.0


class DemoServer:
    """The demo service as a program."""

    def __init__(self, log: Path, *arguments: str, **environment: str) -> None:
        self.log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.http.demo", *arguments],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self.process.stdout is not None
        self._output = self.process.stdout
        line = self._output.readline()
        self.url = line.removeprefix(READY).strip() if line.startswith(READY) else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._output.close()

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False, verify=False, **options
        )

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code, when it has ended."""
        return self.process.wait(PATIENCE_SECONDS)

    def rest_of_output(self) -> str:
        return self._output.read()

    def lines(self) -> list[dict[str, Any]]:
        """What it logged in JSON."""
        *whole, _unfinished = self.log.read_text("utf-8").split("\n")
        return [json.loads(line) for line in whole if line.startswith("{")]


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true soon."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """One server of one process, for tests that leave it as they found it."""
    with DemoServer(tmp_path_factory.mktemp("demo") / "log") as server:
        yield server


@pytest.fixture
def client(server: DemoServer) -> Iterator[httpx.Client]:
    """Speaks to the server on kept connections."""
    with server.client() as client:
        yield client
