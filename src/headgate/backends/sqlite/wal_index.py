"""Whether anything was committed to a file, told without asking SQLite.

Every commit rewrites the header of the index of the write-ahead log, a file that all processes map
into memory (sqlite.org/walformat.html): how many transactions there were, how far the log goes, a
checksum of it. As long as these bytes are the same, so is the database.

A statement of SQLite takes microseconds, but lets other threads run, and on a busy server getting
the interpreter back costs ten times that. A look at memory does not.
"""

import mmap
import os
import threading
from pathlib import Path

HEADER_BYTES = 96  # two copies: a writer changes the second first, then the other


class WalIndex:
    """The index of a database that this process is connected to. Close it after the connections.

    A process that closes a file loses all its locks on it, those of SQLite too. So everybody in a
    process looks at the same open file, and the last one closes it.
    """

    def __init__(self, database: Path) -> None:
        self._file = _OpenFile.of(Path(f"{database}-shm"))
        self._memory = self._file.memory

    def header(self) -> bytes:
        """Bytes that are different after every commit."""
        return self._memory[:]

    def close(self) -> None:
        self._file.leave()


class _OpenFile:
    """A file in memory, and how many look at it."""

    _all: dict[tuple[int, int], "_OpenFile"] = {}
    _lock = threading.Lock()

    def __init__(self, path: Path, key: tuple[int, int]) -> None:
        self._key = key
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.memory = mmap.mmap(self._descriptor, HEADER_BYTES, mmap.MAP_SHARED, mmap.PROT_READ)
        self._users = 0

    @classmethod
    def of(cls, path: Path) -> "_OpenFile":
        """The file at this path, opened if this process has not done so."""
        with cls._lock:
            found = path.stat()
            key = found.st_dev, found.st_ino
            file = cls._all.get(key)
            if file is None:
                file = cls._all[key] = cls(path, key)
            file._users += 1
            return file

    def leave(self) -> None:
        """Close the file if nobody else in this process looks at it."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                del self._all[self._key]
                self.memory.close()
                os.close(self._descriptor)
