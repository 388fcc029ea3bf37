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
    """The index of a database: made before this process connects to it, opened when it has, closed
    after it has disconnected.

    A process that closes a file loses all its locks on it, those of SQLite too. So whoever looks at
    the same database in this process shares what is open, and it is closed when all have left.
    """

    def __init__(self, database: Path) -> None:
        self._shared = _Shared.enter(database)
        self._memory: mmap.mmap | None = None

    def open(self) -> None:
        """From now on its header can be looked at."""
        self._memory = self._shared.memory()

    def header(self) -> bytes:
        """Bytes that are different after every commit."""
        assert self._memory is not None, "it is not open"
        return self._memory[:]

    def close(self) -> None:
        """Do not look again."""
        self._memory = None
        self._shared.leave()


class _Shared:
    """What this process has open of one database's index. Locks belong to processes, so this does
    too."""

    _all: dict[str, "_Shared"] = {}
    _lock = threading.Lock()

    def __init__(self, path: str) -> None:
        self._path = path
        self.users = 0
        self._files: dict[tuple[int, int], tuple[int, mmap.mmap]] = {}
        """By identity: a database may be removed and made again while some still use the old."""

    @classmethod
    def enter(cls, database: Path) -> "_Shared":
        """Share what is open of a database; nothing is closed before `leave`."""
        path = os.path.realpath(database)
        with cls._lock:
            shared = cls._all.setdefault(path, cls(path))
            shared.users += 1
            return shared

    def memory(self) -> mmap.mmap:
        """The header of the index that is there now."""
        with self._lock:
            path = f"{self._path}-shm"
            found = os.stat(path)  # noqa: PTH116  no path of it is needed
            identity = found.st_dev, found.st_ino
            if identity not in self._files:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                memory = mmap.mmap(descriptor, HEADER_BYTES, mmap.MAP_SHARED, mmap.PROT_READ)
                self._files[identity] = descriptor, memory
            return self._files[identity][1]

    def leave(self) -> None:
        """Close all that is open if nobody is left."""
        with self._lock:
            self.users -= 1
            if self.users:
                return
            del self._all[self._path]
            for descriptor, memory in self._files.values():
                memory.close()
                os.close(descriptor)
