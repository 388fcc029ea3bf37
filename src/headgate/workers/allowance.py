"""What a worker process may use. It reads what others wrote: one that takes too much ends, or is
refused more memory, and that is the answer to one job."""

import resource
from contextlib import suppress
from dataclasses import dataclass
from math import ceil

from headgate.limits import (
    WORKER_CPU_SECONDS_MAX,
    WORKER_MEMORY_BYTES_MAX,
    WORKER_OPEN_FILES_MAX,
)


@dataclass(frozen=True)
class Allowance:
    """Limits of one process. Only those are lowered that are higher: an operator's own stay."""

    memory_bytes: int = WORKER_MEMORY_BYTES_MAX
    cpu_seconds: int = WORKER_CPU_SECONDS_MAX
    """Of a job until its first answer, and from one answer to the next."""
    open_files: int = WORKER_OPEN_FILES_MAX

    def begin(self) -> None:
        """Limit this process. Address space is not limited: threads and libraries reserve much of
        it that they never use. A core dump would have keys and files of tenants in it."""
        _lower(resource.RLIMIT_DATA, self.memory_bytes)
        _lower(resource.RLIMIT_NOFILE, self.open_files)
        _lower(resource.RLIMIT_CORE, 0)

    def renew(self) -> None:
        """Let the next answer have its time; who takes more is ended by the system."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = ceil(used.ru_utime + used.ru_stime)
        _set(resource.RLIMIT_CPU, spent + self.cpu_seconds)


def _lower(kind: int, most: int) -> None:
    soft, _ = resource.getrlimit(kind)
    if soft == resource.RLIM_INFINITY or soft > most:
        _set(kind, most)


def _set(kind: int, soft: int) -> None:
    """Set a limit as far as the system has it; not all that have the call keep to it."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with suppress(OSError, ValueError):  # macOS refuses some values of some of them
        resource.setrlimit(kind, (soft, hard))
