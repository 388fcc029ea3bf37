"""Python reads this when it starts, if this folder is on its path: when a worker of Spark has
deleted some files it kills one of the processes above it, once, and takes its time from then on."""

import itertools
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

VICTIM, FILES, MARK = "DEADLY_VICTIM", "DEADLY_FILES", "DEADLY_MARK"
PAUSE_SECONDS = 0.005
numbers = itertools.count(1)
unlink = os.unlink


def deadly_unlink(path: str, *, dir_fd: int | None = None) -> None:
    """Delete a file; the last one of so many is deadly."""
    unlink(path, dir_fd=dir_fd)
    if next(numbers) == files:
        kill_once()


def slow_unlink(path: str, *, dir_fd: int | None = None) -> None:
    """Delete a file, but leave others the time to stop that."""
    time.sleep(PAUSE_SECONDS)
    unlink(path, dir_fd=dir_fd)


def kill_once() -> None:
    """Kill whose command has these words; the mark tells what hung below it."""
    with suppress(FileExistsError), Path(os.environ[MARK]).open("x") as mark:
        words = os.environ[VICTIM]
        above = psutil.Process().parents()
        victim = next(one for one in above if words in " ".join(one.cmdline()))
        json.dump([one.pid for one in victim.children(recursive=True)], mark)
        mark.flush()
        os.unlink = slow_unlink  # type: ignore[assignment]
        victim.kill()


if "pyspark.daemon" in sys.orig_argv:  # which forks the workers
    files = int(os.environ[FILES])
    os.unlink = deadly_unlink  # type: ignore[assignment]
