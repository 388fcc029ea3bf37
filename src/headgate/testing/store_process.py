"""A storage server as a child process: on a free port, in a folder of its own, gone afterwards."""

import http.client
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import abstractmethod
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from headgate.testing.private_server import PrivateServer, free_port

START_SECONDS = 60
STOP_SECONDS = 10
BUILD_SECONDS = 1800


class StoreProcess(PrivateServer):
    """What it runs, and when it is ready, say the classes of the stores."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headgate-store-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """What to run."""

    def environment(self) -> dict[str, str]:
        """What the process sees of the environment besides its path."""
        return {}

    @abstractmethod
    def answers(self) -> bool:
        """Whether it serves by now; it may listen before. OSError means that it does not."""

    def start(self) -> None:
        log = self.folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603  the command of a subclass
                self.command(),
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)} | self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no server: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            return self.answers()
        except (OSError, http.client.HTTPException):
            return False

    def remove(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def send(method: str, url: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, bytes]:
    """One request as it is given, without a library in between."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    with closing(connection):
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def go_program(module: str) -> Path:
    """A program in the user's cache; it is built there the first time, with Go."""
    folder = Path(platformdirs.user_cache_dir("headgate")) / "bin"
    program = folder / module.partition("@")[0].rpartition("/")[2]
    if not program.exists():
        _run("go", "install", module, GOBIN=str(folder))
    return program


def npm_program(package: str, program: str) -> Path:
    """A program in the user's cache; it is installed there the first time, with npm."""
    folder = Path(platformdirs.user_cache_dir("headgate")) / package.partition("@")[0]
    found = folder / "node_modules" / ".bin" / program
    if not found.exists():
        _run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package)
    return found


def _run(tool: str, *arguments: str, **environment: str) -> None:
    path = shutil.which(tool)
    if path is None:
        raise RuntimeError(f"{tool} was not found, and a storage server of the full run needs it")
    subprocess.run(  # noqa: S603  the arguments are written in this package
        [path, *arguments], check=True, env=os.environ | environment, timeout=BUILD_SECONDS
    )
