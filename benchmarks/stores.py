"""Where benchmarks store: kernels on SQLite and PostgreSQL, both on a real disk."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.clock import SystemClock
from headgate.kernel.backend import Backend
from headgate.kernel.commit import CommitOptions
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.limits import BATCH_ATTEMPTS_MAX
from headgate.wiring import entropy

IN_MEMORY = {"tmpfs", "ramfs"}
SYNCS = 50


def say(words: str) -> None:
    """Progress, for whoever waits."""
    print(f"[{time.perf_counter() - _STARTED:5.1f} s] {words}", file=sys.stderr, flush=True)


@contextmanager
def disk_folder() -> Iterator[Path]:
    """A folder on a real disk, gone afterwards."""
    candidates = [Path("/var/tmp"), Path(tempfile.gettempdir()), Path.cwd()]
    parent = next((path for path in candidates if is_on_disk(path)), None)
    if parent is None:
        raise SystemExit("benchmarks: no folder on a disk was found: start from a folder on one")
    with tempfile.TemporaryDirectory(prefix="headgate-benchmark-", dir=parent) as folder:
        yield Path(folder)


def is_on_disk(path: Path) -> bool:
    """False if the folder is not there or lives in memory, as far as the system tells."""
    mounts = Path("/proc/mounts")
    if not path.is_dir():
        return False
    if not mounts.exists():
        return True
    kinds = {fields[1]: fields[2] for fields in map(str.split, mounts.read_text().splitlines())}
    resolved = path.resolve()
    nearest = next(str(place) for place in (resolved, *resolved.parents) if str(place) in kinds)
    return kinds[nearest] not in IN_MEMORY


def sync_ms(folder: Path) -> float:
    """How long the disk takes to make 4 kB durable, median."""
    path = folder / "sync"
    took = []
    with path.open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    path.unlink()
    return statistics.median(took) * 1e3


def make_backend(place: str) -> Backend:
    """The backend at a PostgreSQL URL or a file's path."""
    if place.startswith("postgresql:"):
        return PostgresqlBackend(place)
    return SqliteBackend(Path(place))


@asynccontextmanager
async def open_kernel(
    where: str | Backend, batch_attempts: int = BATCH_ATTEMPTS_MAX
) -> AsyncIterator[Kernel]:
    """A kernel as `serve` opens it."""
    backend = make_backend(where) if isinstance(where, str) else where
    options = KernelOptions(commit=CommitOptions(batch_attempts=batch_attempts))
    async with Kernel(backend, SystemClock(), entropy, options) as kernel:
        yield kernel


async def new_realm(kernel: Kernel) -> RealmHandle:
    """A realm in use."""
    return kernel.realm((await kernel.realms.create("benchmark")).id)


_STARTED = time.perf_counter()
