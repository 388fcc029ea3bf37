"""A database that this process cannot write: on a disk that is mounted read-only, or of another
user. It is read without making the files beside it that SQLite otherwise needs.
"""

import os
from pathlib import Path
from urllib.parse import quote

import apsw

from headgate.backends.sqlite import failures
from headgate.backends.sqlite.connections import BusyWait, cannot_open
from headgate.errors import BackendUnavailable
from headgate.sql import Migration, pending

STATEMENTS_CACHED = 256


def is_frozen(path: Path) -> bool:
    """Whether the file is there and this process cannot write it."""
    return path.exists() and not os.access(path, os.W_OK)


def connect_frozen(
    path: Path, busy_seconds: float, migrations: list[Migration], *, alone: bool
) -> apsw.Connection:
    """A connection that only reads.

    A writer has a write-ahead log beside the file for as long as it is connected. Where there is
    one, it is read as well. `alone` says that there is none: then the file does not change, and no
    locks are needed. A writer that comes later is noticed by its log; see `OwnFiles`.
    """
    uri = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if alone else ''}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(uri, flags=flags, statementcachesize=STATEMENTS_CACHED)
        try:
            connection.set_busy_handler(BusyWait(busy_seconds))
            _check_schema(connection, migrations, path)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise _unreadable(error, path, alone=alone) from error
    return connection


class NoIndex:
    """Stands for the index of a write-ahead log where there is none: nothing is ever committed."""

    def open(self) -> None:
        """There is nothing to open."""

    def header(self) -> bytes:
        """Always the same bytes."""
        return b"frozen"

    def close(self) -> None:
        """There is nothing to close."""


def _check_schema(connection: apsw.Connection, migrations: list[Migration], path: Path) -> None:
    where = f"SQLite store {path}"
    if pending(migrations, connection.pragma("user_version"), where):
        raise BackendUnavailable(
            cannot_open(path),
            why="its schema is of an earlier version, and this process cannot write it",
            fix="Open it once with this version where it can be written",
        )


def _unreadable(error: apsw.Error, path: Path, *, alone: bool) -> Exception:
    if alone:
        return failures.certain(error, cannot_open(path))
    return BackendUnavailable(
        cannot_open(path),
        why="this process cannot write it, and the -wal and -shm beside it cannot be used "
        f"without writing ({error})",
        fix="Let the server that used it last stop in order, or open it once where it can be "
        "written",
    )
