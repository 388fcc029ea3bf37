"""The place where an audit is written: a file that only its owner reads, or standard output."""

import errno
import os
import stat
from pathlib import Path

from headgate.errors import BadSetting

STANDARD_OUTPUT = 1
MODE = 0o600
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A link is not followed, and a pipe is not waited for."""


class AuditFile:
    """Appends whole lines. A file that was moved away or deleted is made anew."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._descriptor = STANDARD_OUTPUT if path is None else -1
        self._is_torn = False
        """The last line lacks its end: the disk was full."""

    def open(self) -> None:
        """Open it, or say at once that it cannot be."""
        try:
            self._reopen()
        except OSError as error:
            raise BadSetting(
                f"the audit cannot be written to {self._path}",
                why=str(error.strerror),
                fix="Set audit.file to a file that can be written, to - or to none",
            ) from error

    def append(self, lines: bytes) -> None:
        """Write these lines; OSError if not all of them could be."""
        self._reopen()
        rest = memoryview(b"\n" + lines if self._is_torn else lines)
        self._is_torn = False
        while rest:
            written = os.write(self._descriptor, rest)
            self._is_torn = written < len(rest)
            rest = rest[written:]

    def close(self) -> None:
        """Close it; standard output stays open."""
        if self._path is not None and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _reopen(self) -> None:
        """Make sure that what is written lands in the file of this name."""
        if self._path is None or self._is_there():
            return
        self.close()
        descriptor = os.open(self._path, FLAGS, MODE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no file", str(self._path))
        self._descriptor = descriptor

    def _is_there(self) -> bool:
        if self._descriptor < 0 or self._path is None:
            return False
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        ours = os.fstat(self._descriptor)
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
