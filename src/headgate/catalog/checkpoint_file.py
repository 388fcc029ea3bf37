"""The file that checkpoints are appended to: one line each, by any process of this machine."""

import errno
import fcntl
import os
import stat
from pathlib import Path

from headgate.errors import BadSetting, NotFound, TooLarge
from headgate.limits import CHECKPOINT_FILE_BYTES_MAX

MODE = 0o600
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A link is not followed, and a pipe is not waited for."""


class CheckpointFile:
    """Whole lines, each on the disk before the next one. If it was moved away it is made anew."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Say at once if it cannot be written."""
        os.close(self._open())

    def due_in_ms(self, now_ms: int, interval_ms: int) -> int:
        """How long it takes until the next line is due; 0 if it is now."""
        try:
            found = self.path.stat()
        except OSError:
            return 0
        age_ms = now_ms - found.st_mtime_ns // 1_000_000
        return max(0, interval_ms - max(0, age_ms)) if found.st_size else 0

    def append(self, line: bytes, *, now_ms: int = 0, interval_ms: int = 0) -> bool:
        """Write a line; False if another process was faster by less than an interval."""
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if self.due_in_ms(now_ms, interval_ms):
                return False
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # the disk was full when the last one was written
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError as error:
            raise _unusable(self.path, error) from error
        finally:
            os.close(descriptor)
        return True

    def read(self) -> bytes:
        """All lines; refused if that is more than can be compared at once."""
        try:
            if self.path.stat().st_size > CHECKPOINT_FILE_BYTES_MAX:
                raise TooLarge(
                    f"{self.path} cannot be compared",
                    why=f"it has more than {CHECKPOINT_FILE_BYTES_MAX:,} bytes",
                    fix="Compare its lines in several parts",
                )
            return self.path.read_bytes()
        except OSError as error:
            raise NotFound(
                f"{self.path} cannot be read",
                why=error.strerror or str(error),
                fix="Check the path",
            ) from error

    def _open(self) -> int:
        try:
            descriptor = os.open(self.path, _FLAGS, MODE)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise OSError(errno.EINVAL, "it is no file", str(self.path))
        except OSError as error:
            raise _unusable(self.path, error) from error
        return descriptor


def _unusable(path: Path, error: OSError) -> BadSetting:
    return BadSetting(
        f"checkpoints cannot be written to {path}",
        why=error.strerror or str(error),
        fix="Name a file that this user can write",
    )
