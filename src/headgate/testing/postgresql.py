"""A private PostgreSQL server for tests: fresh, quick to start, gone afterwards."""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

from headgate.testing.private_server import PrivateServer, free_port

StopMode = Literal["fast", "immediate"]

START_ATTEMPTS = 5  # another process may take the port first
BINARIES = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  fsync stays on and costs next to nothing


class PostgresqlServer(PrivateServer):
    """One server with its data in a folder of its own.

    `immediate` is a crash: connections break and the next start recovers. `fast` undoes what runs.
    """

    def __init__(self, *, fsync: bool = True, folder: Path | None = None) -> None:
        self._binaries = find_binaries()
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-postgresql-", dir=_parent(folder)))
        self._fsync = fsync
        self._databases = itertools.count(1)
        self._running = False
        self.data = self._folder / "data"
        self.log = self._folder / "log"
        self.port = 0

    def start(self) -> None:
        """Start, for the first time with new data and on a free port; ready when it returns."""
        if not self.data.exists():
            self._create_data()
        attempts = 1 if self.port else START_ATTEMPTS
        for attempt in range(1, attempts + 1):
            port = self.port or free_port()
            try:
                self._control("start", "-l", str(self.log), "-o", self._options(port))
            except RuntimeError:
                if attempt == attempts:
                    raise
            else:
                self.port, self._running = port, True
                return

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop, and keep the data for the next start. Nothing happens if it does not run."""
        if self._running:
            self._control("stop", "-m", mode)
            self._running = False

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start on the same port."""
        self.stop(mode)
        self.start()

    def remove(self) -> None:
        """Stop and delete everything."""
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._databases)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", name)
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def configure(self, **settings: str) -> None:
        """Change settings of the server while it runs."""
        for name, value in settings.items():
            self._psql(f"alter system set {name} = '{value}'")
        self._psql("select pg_reload_conf()")

    def _psql(self, statement: str) -> None:
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres")
        self._run("psql", *address, "-c", statement)

    def _own_folder(self) -> None:
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")

    def _create_data(self) -> None:
        self._own_folder()
        self._run(
            *("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust"),
            *("-E", "UTF8", "--locale=C", "--no-sync"),
        )

    def _options(self, port: int) -> str:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self._folder),
            "fsync": "on" if self._fsync else "off",
        }
        return f"-p {port} " + " ".join(f"-c {name}={value}" for name, value in settings.items())

    def _control(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-s", verb, *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs; the server refuses to be run by root."""
        user = "postgres" if os.getuid() == 0 else None
        words = self._folder / "words"  # no pipe: the server would keep it open
        with words.open("wb") as output:
            done = subprocess.run(  # noqa: S603  the server's own programs
                [str(self._binaries / program), *arguments],
                check=False,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        if done.returncode:
            log = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise RuntimeError(f"{program} failed: {words.read_text(errors='replace')}{log}")


class PostgresqlStandby(PostgresqlServer):
    """A hot standby of another server, by streaming replication."""

    NAME = "standby"
    """What its primary knows it by, in `synchronous_standby_names`."""

    def __init__(self, primary: PostgresqlServer) -> None:
        super().__init__()
        self._primary = primary

    def promote(self) -> None:
        """Make it a primary, whatever its former primary does."""
        self._control("promote")

    def _create_data(self) -> None:
        self._own_folder()
        source = f"host=127.0.0.1 port={self._primary.port} user=postgres"
        self._run(
            *("pg_basebackup", "-D", str(self.data), "-R", "-X", "stream", "--checkpoint=fast"),
            *("--no-sync", "-d", f"{source} application_name={self.NAME}"),
        )


def find_binaries() -> Path:
    """The folder with the programs of the newest PostgreSQL server on this machine."""
    found = [Path(path) for pattern in BINARIES for path in Path("/").glob(pattern[1:])]
    if in_path := shutil.which("initdb"):
        found.append(Path(in_path).resolve().parent)
    servers = [folder for folder in found if (folder / "initdb").exists()]
    if not servers:
        raise RuntimeError(
            "no PostgreSQL server was found: install one "
            "(Debian: apt-get install postgresql, macOS: brew install postgresql)"
        )
    return max(servers, key=_version)


def _version(folder: Path) -> int:
    match = re.search(r"postgresql\D*(\d+)", str(folder))
    return int(match[1]) if match else 0


def _parent(folder: Path | None) -> Path | None:
    if folder is None and os.access(MEMORY_FOLDER, os.W_OK):
        return MEMORY_FOLDER
    return folder
