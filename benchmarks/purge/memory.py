"""A file system in memory, where deleting is not slowed by a disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stores import is_on_disk, say

FOLDER = Path("/dev/shm")
FILE_BYTES = 5_500
"""A small file and its name, as the system keeps them."""


@contextmanager
def memory_folder(files: int, names: int) -> Iterator[Path]:
    """A folder with room for so many files, and for so many names of files; gone afterwards."""
    parent = FOLDER if FOLDER.is_dir() else Path(tempfile.gettempdir())
    if is_on_disk(parent):
        say(f"there is no file system in memory at {FOLDER}: {parent} is used")
    room = os.statvfs(parent)
    free = room.f_bavail * room.f_frsize
    if free < files * FILE_BYTES:
        raise RuntimeError(f"{parent} has {free / 1e9:.1f} GB free: {files:,} files need more")
    if room.f_files and room.f_favail < names:
        raise RuntimeError(f"{parent} has room for {room.f_favail:,} files: {names:,} are needed")
    with tempfile.TemporaryDirectory(prefix="headgate-benchmark-", dir=parent) as folder:
        yield Path(folder)


def files_below(folder: Path) -> int:
    """How many there are."""
    return sum(len(names) for _, _, names in os.walk(folder))
