"""Python reads this when it starts, if this folder is on its path: children that delete files take
their time, and keep a log of it."""

import os
import sys
import time

LOG, PAUSE = "UNLINK_LOG", "UNLINK_PAUSE_SECONDS"
unlink = os.unlink


def slow_unlink(path: str, *, dir_fd: int | None = None) -> None:
    """Delete a file, and note when that was and which process did it."""
    time.sleep(pause)
    unlink(path, dir_fd=dir_fd)
    os.write(log, f"{time.monotonic()} {os.getpid()} {path}\n".encode())


if "headgate.purge.worker" in sys.orig_argv:
    pause = float(os.environ[PAUSE])
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.unlink = slow_unlink  # type: ignore[assignment]
