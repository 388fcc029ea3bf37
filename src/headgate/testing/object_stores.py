"""Real S3 servers for tests, each with its data in a folder or in memory, gone afterwards.

`MotoServer` comes from PyPI and starts in a second, but lets every key do everything: it proves
requests, not rights. `MinioServer` checks signatures and enforces policies; it is built once, which
takes ten minutes and Go, and kept in the user's cache.
"""

import contextlib
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import platformdirs

from headgate.storage.options import S3Options
from headgate.storage.sigv4 import Keys, Scope, sha256, sign

PORTS = range(20_000, 32_000)  # below the ports that the system hands out to clients
START_SECONDS = 60
STOP_SECONDS = 10
MINIO = "github.com/minio/minio@v0.0.0-20250907161309-07c3a429bfed"
BUILD_SECONDS = 1800


class S3Server:
    """A process that speaks S3 and STS, with one set of keys that may do everything."""

    access_key_id = "headgate"
    secret_access_key = "headgate-secret"  # noqa: S105  of a server that lives for a test
    region = "us-east-1"

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-s3-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove()

    def options(self, **changes: object) -> S3Options:
        """How to reach the server with its own keys."""
        given: dict[str, object] = {
            "endpoint": self.url,
            "region": self.region,
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
            "allow_http": True,
        }
        return S3Options(**(given | changes))  # type: ignore[arg-type]

    def create_bucket(self, name: str) -> None:
        """A new, empty bucket."""
        status, answer = send(self.keys, "PUT", f"{self.url}/{name}")
        if status != http.client.OK:
            raise RuntimeError(f"bucket {name} was not created: {status} {answer!r}")

    @property
    def keys(self) -> Keys:
        return Keys(self.access_key_id, self.secret_access_key)

    def command(self) -> list[str]:
        """What to run."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """What the process sees of the environment."""
        return {}

    def _start(self) -> None:
        log = self._folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603
                self.command(),
                cwd=self._folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder)} | self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no S3 server: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        """A process may listen before it serves, so it is asked for its buckets."""
        with contextlib.suppress(OSError):
            return send(self.keys, "GET", f"{self.url}/")[0] == http.client.OK
        return False

    def _remove(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class MotoServer(S3Server):
    """In memory; any key is accepted and policies are not enforced."""

    def command(self) -> list[str]:
        start = "from moto.server import main; main()"
        address = ["-H", "127.0.0.1", "-p", str(self.port)]
        return [sys.executable, "-W", "ignore", "-c", start, *address]


class MinioServer(S3Server):
    """On disk; signatures are checked and the policies of temporary keys are enforced."""

    def command(self) -> list[str]:
        address = f"127.0.0.1:{self.port}"
        data = str(self._folder / "data")
        return [str(minio_program()), "server", "--quiet", "--address", address, data]

    def environment(self) -> dict[str, str]:
        return {
            "MINIO_ROOT_USER": self.access_key_id,
            "MINIO_ROOT_PASSWORD": self.secret_access_key,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
        }


def minio_program() -> Path:
    """The program in the user's cache; it is built there the first time."""
    folder = Path(platformdirs.user_cache_dir("headgate")) / "bin"
    program = folder / "minio"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise RuntimeError("MinIO is built with Go, which was not found: install it (go.dev)")
    subprocess.run(  # noqa: S603
        [go, "install", MINIO],
        check=True,
        env=os.environ | {"GOBIN": str(folder)},
        timeout=BUILD_SECONDS,
    )
    return program


def send(
    keys: Keys, method: str, url: str, body: bytes = b"", *, region: str = S3Server.region
) -> tuple[int, bytes]:
    """One signed request, without a library in between."""
    scope = Scope("s3", region, time.time_ns() // 1_000_000)
    headers = sign(keys, scope, method=method, url=url, headers={}, payload=sha256(body))
    return send_plain(method, url, headers, body)


def send_plain(
    method: str, url: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, bytes]:
    """One request as it is given."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    with contextlib.closing(connection):
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def free_port() -> int:
    """A port that nobody listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
