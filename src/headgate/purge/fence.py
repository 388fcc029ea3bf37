"""Until when a child process may delete: a small file that it and its parent have in memory.

The parent moves the end of the time as its lease is renewed. A parent that is stopped, or dead, no
longer does, so its child ends before another worker takes the job. The stopwatch and the machine's
wall clock are the same for all processes of a machine. Both count: a machine that was suspended may
not have counted that time on its stopwatch.
"""

import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.clock import NEVER, Clock, Deadline
from headgate.errors import LeaseLost
from headgate.workers.running import is_running

PREFIX = "headgate-fence-"
_TWICE = struct.Struct("=dqdq")
"""Stopwatch and wall clock; and both once more, as one may be half written."""


class Fence:
    """Closed until it is first extended."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._memory = mmap.mmap(file, _TWICE.size)
        finally:
            os.close(file)

    def extend(self, deadline: Deadline) -> None:
        """Let the child go on until then."""
        _TWICE.pack_into(self._memory, 0, *deadline, *deadline)

    def check(self) -> None:
        """Raise LeaseLost if the time is over."""
        seconds, machine_ms, seconds_again, machine_ms_again = _TWICE.unpack_from(self._memory)
        deadline = Deadline(min(seconds, seconds_again), min(machine_ms, machine_ms_again))
        if deadline.has_passed(self.clock):
            raise LeaseLost(
                "The purge was stopped",
                why="this worker's lease on the job was not renewed in time",
            )

    def close(self) -> None:
        """The file stays."""
        self._memory.close()


@contextmanager
def new_fence(clock: Clock) -> Iterator[Fence]:
    """A fence with a file of its own, for as long as it is in use."""
    with tempfile.NamedTemporaryFile(prefix=f"{PREFIX}{os.getpid()}-") as file:
        file.write(bytes(_TWICE.size))
        file.flush()
        fence = Fence(Path(file.name), clock)
        try:
            yield fence
        finally:
            fence.extend(NEVER)  # a process that still has it in memory stops too
            fence.close()


def clear_fences() -> None:
    """Remove the files of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdecimal() and not is_running(int(pid)):
            with suppress(OSError):  # somebody else's
                path.unlink()


@contextmanager
def open_fence(path: Path, clock: Clock) -> Iterator[Fence]:
    """The fence of the parent, in the child; LeaseLost if it was taken down."""
    try:
        fence = Fence(path, clock)
    except FileNotFoundError:
        raise LeaseLost("The purge was stopped", why="nobody waits for it any more") from None
    try:
        yield fence
    finally:
        fence.close()
