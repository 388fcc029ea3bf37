"""A private PgBouncer in front of a private PostgreSQL server, for tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Literal

from headgate.testing.private_server import PrivateServer, free_port

PoolMode = Literal["session", "transaction", "statement"]

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10
PROGRAMS = "/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"  # not always in PATH


class PgBouncer(PrivateServer):
    """One PgBouncer with a pool mode and further settings of its configuration file."""

    def __init__(self, server_port: int, mode: PoolMode = "session", **settings: object) -> None:
        self._program = find_pgbouncer()
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-pgbouncer-"))
        self._server_port = server_port
        self._settings = {"pool_mode": mode, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def start(self) -> None:
        """Start on the same port each time; it accepts connections when this returns."""
        self._write_configuration()
        user = "postgres" if os.getuid() == 0 else None  # it refuses to be run by root
        if user:
            shutil.chown(self._folder, user)
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  the program of this class
                [self._program, str(self._folder / "pgbouncer.ini")],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._accepts():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no PgBouncer: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End it at once: all connections through it break. Nothing happens if it does not run."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(STOP_SECONDS_MAX)
            self._process = None

    def reload(self, **settings: object) -> None:
        """Change settings while it runs; the log says when they are in force."""
        assert self._process is not None
        self._settings |= settings
        self._write_configuration()
        self._process.send_signal(signal.SIGHUP)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def through(self, url: str) -> str:
        """The URL of a database of the server, by way of this PgBouncer."""
        return url.replace(f":{self._server_port}/", f":{self.port}/")

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def _write_configuration(self) -> None:
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "server_login_retry": 1,
            **self._settings,
        }
        lines = [f"{name} = {value}" for name, value in settings.items()]
        server = f"* = host=127.0.0.1 port={self._server_port} user=postgres"
        text = "\n".join(["[databases]", server, "[pgbouncer]", *lines, ""])
        (self._folder / "pgbouncer.ini").write_text(text)


def find_pgbouncer() -> str:
    """The path of the program on this machine."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *PROGRAMS])
    found = shutil.which("pgbouncer", path=path)
    if found is None:
        raise RuntimeError(
            "PgBouncer was not found: install it "
            "(Debian: apt-get install pgbouncer, macOS: brew install pgbouncer)"
        )
    return found
