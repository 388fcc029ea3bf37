"""The file of an embedded database, looked at from outside: can it still be written?"""

import os
from collections.abc import Callable
from pathlib import Path

from headgate.errors import BackendUnavailable

FREE_BYTES_MIN = 1 << 20  # on its disk, or that is as good as full


def file_check(file: Path, *, writable: bool) -> Callable[[], None]:
    """Looks at the file of an embedded database: an open file can be read when it is long gone."""
    at_first = _identity(file)

    def check() -> None:
        if at_first is None or _identity(file) != at_first:
            raise _unusable(
                file, "it was removed or replaced", "Put it back, or restart the server"
            )
        if not writable:
            return
        disk = os.statvfs(file)
        if disk.f_flag & os.ST_RDONLY or not os.access(file, os.W_OK):
            raise _unusable(file, "it may only be read", "Make it and its disk writable")
        if disk.f_bavail * disk.f_frsize < FREE_BYTES_MIN:
            raise _unusable(file, "its disk is full", "Free some space")

    return check


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _unusable(file: Path, why: str, fix: str) -> BackendUnavailable:
    return BackendUnavailable(f"the database {file} cannot be written", why=why, fix=fix)
