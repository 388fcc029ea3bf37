"""The files of a database, as they were when it was opened.

A node that has them open goes on with them even when others are put in their place: it would answer
from what nobody else sees, and its log would be copied into a file that nobody finds again.
"""

from pathlib import Path

import apsw

from headgate.backends.sqlite.connections import file_id
from headgate.clock import SystemClock
from headgate.errors import DatabaseGone

CHECKED_SECONDS = 0.1  # how often a reader looks


class OwnFiles:
    """The database, its write-ahead log and the index of that."""

    def __init__(self, path: Path, where: str) -> None:
        self._paths = (path, Path(f"{path}-wal"), Path(f"{path}-shm"))
        self._where = where
        self._known: tuple[object, ...] = ()
        self._clock = SystemClock()
        self._next_look = 0.0

    def remember(self) -> None:
        """Those that are there now are ours."""
        self._known = self._identities()

    @property
    def have_log(self) -> bool:
        """Whether a write-ahead log, or the index of one, is among those that are ours."""
        return any(self._known[1:])

    def are_there(self) -> bool:
        """Whether they are the same."""
        return self._identities() == self._known

    def check(self) -> None:
        """Refuse to work on files that nobody will find again."""
        if not self.are_there():
            raise DatabaseGone(
                f"{self._where} cannot be used",
                why="its file, or the -wal or -shm beside it, was removed or replaced",
                fix="Stop all nodes; if the file was replaced, remove -wal and -shm; start again",
            )

    def check_now_and_then(self) -> None:
        """The same, for those who ask all the time."""
        now = self._clock.seconds()
        if now >= self._next_look:
            self.check()
            self._next_look = now + CHECKED_SECONDS

    def disconnect(self, connection: apsw.Connection) -> None:
        """Close a connection. Into files of others nothing is copied, nor is their log removed."""
        if not self.are_there():
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()

    def _identities(self) -> tuple[object, ...]:
        return tuple(map(file_id, self._paths))
