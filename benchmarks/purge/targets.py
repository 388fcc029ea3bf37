"""Tables that are dropped with their files, and the watch over them until the last file is gone."""

import contextlib
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.purge.memory import files_below
from benchmarks.rest.servers import Server
from headgate.pipelines.fixtures.places import Place, local_path
from headgate.pipelines.fixtures.table import make_table

NAMESPACE = "dropped"
WORKERS = ("headgate.purge.worker", "headgate.purge.manifest_worker")
"""Who deletes, and who reads for it."""
POLL_SECONDS = 0.01
LOOK_SECONDS = 0.5  # a look at all processes costs something, and what counts is their peak
GONE_SECONDS_MAX = 900.0
PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


class Target(NamedTuple):
    """A table that is there."""

    path: str
    """Below the base of its server."""
    folder: Path
    root: Path
    """The current metadata file, which goes last."""
    files: int
    """All of them."""

    @property
    def is_there(self) -> bool:
        return self.root.exists()


def make_target(server: Server, name: str, files: int, place: Place | None = None) -> Target:
    """A new table with so many files of data and deletes."""
    made = make_table(server, (NAMESPACE, name), files, place=place)
    root = json.loads(server.ask("GET", made.path))["metadata-location"]
    return Target(made.path, Path(local_path(made.location)), Path(local_path(root)), made.files)


def purging(path: str) -> str:
    """The DELETE of a table that its files go with."""
    return f"{path}?purgeRequested=true"


def drop(server: Server, target: Target) -> float:
    """The seconds that a drop with purge took; some servers answer when all files are gone."""
    began = time.perf_counter()
    server.ask("DELETE", purging(target.path), seconds=GONE_SECONDS_MAX)
    return time.perf_counter() - began


class Watch:
    """Sees how much memory a worker of a server takes, with the one that reads for it."""

    def __init__(self, pid: int) -> None:
        self._server = psutil.Process(pid)
        self._peaks = dict.fromkeys(WORKERS, 0)

    @property
    def peak_bytes(self) -> int:
        """The most that each of both has taken so far."""
        return sum(self._peaks.values())

    def wait_until_gone(self, targets: Sequence[Target]) -> float:
        """Look often until the last file of each is gone; the seconds that it took."""
        began = looked = time.monotonic()
        rest = list(targets)
        while rest := [target for target in rest if target.is_there]:
            time.sleep(POLL_SECONDS)
            now = time.monotonic()
            if now > looked + LOOK_SECONDS:
                looked = now
                self._look()
            if now > began + GONE_SECONDS_MAX:
                left = files_below(rest[0].folder)
                raise RuntimeError(f"{left:,} files of {rest[0].path} were not deleted")
        took = time.monotonic() - began
        self._look()
        return took

    def _look(self) -> None:
        for process in self._server.children(recursive=True):
            with contextlib.suppress(psutil.Error, OSError):
                for name in self._peaks.keys() & set(process.cmdline()):
                    self._peaks[name] = max(self._peaks[name], _peak_bytes(process))


def _peak_bytes(process: psutil.Process) -> int:
    """Its most resident memory, where the system knows that; else that of now."""
    status = Path(f"/proc/{process.pid}/status")
    found = PEAK.search(status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else int(process.memory_info().rss)
