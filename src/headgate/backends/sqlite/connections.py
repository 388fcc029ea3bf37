"""Connections to the file: their settings, how they wait for locks, and the schema's upgrade."""

import os
from contextlib import suppress
from pathlib import Path

import apsw

from headgate.backends.sqlite import failures
from headgate.clock import SystemClock
from headgate.errors import BackendUnavailable
from headgate.sql import Migration, pending

PAGE_BYTES = 4_096
WAL_KEPT_BYTES = 64 << 20  # a log that once grew larger is cut to this when it starts over
STATEMENTS_CACHED = 256
BUSY_PAUSES_MAX = 10  # of a fifth of a millisecond each


class BusyWait:
    """A busy handler with short pauses; SQLite's own sleeps up to 100 ms and loses every race.

    Its clock is always the machine's: other processes hold the locks.
    """

    def __init__(self, seconds: float) -> None:
        self._clock = SystemClock()
        self._seconds = seconds
        self._until = 0.0

    def __call__(self, attempts: int) -> bool:
        """Wait a little; False when the time is up."""
        now = self._clock.seconds()
        if attempts == 0:
            self._until = now + self._seconds
        if now >= self._until:
            return False
        # The microseconds of the clock spread the waiters as well as chance would.
        for _ in range(1 + int(now * 1e6) % BUSY_PAUSES_MAX):
            self._clock.pause()
        return True


def connect(path: Path, busy_seconds: float) -> apsw.Connection:
    """A connection to a file that exists, with the settings all connections share."""
    try:
        return _connect(path, busy_seconds, apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        raise failures.certain(error, cannot_open(path)) from error


def create_and_connect(
    path: Path, busy_seconds: float, migrations: list[Migration]
) -> apsw.Connection:
    """A connection to a file that is made if need be, and whose schema is brought up to date."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
    except OSError as error:
        raise BackendUnavailable(
            cannot_open(path),
            why=f"it cannot be made ({error})",
            fix="Choose another path, or make the directory writable for this user",
        ) from error
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    try:
        connection = _connect(path, busy_seconds, flags)
        try:
            migrate(connection, migrations, path)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise failures.certain(error, cannot_open(path)) from error
    return connection


def _make_private(path: Path) -> None:
    """A new file, which only its owner can read: SQLite gives the files beside it the same mode."""
    with suppress(FileExistsError):  # one that is there is left alone, and so are its locks
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def migrate(connection: apsw.Connection, migrations: list[Migration], path: Path) -> None:
    """Run the missing migrations in one transaction; if one fails, none was run."""
    where = f"SQLite store {path}"
    if not pending(migrations, connection.pragma("user_version"), where):
        return
    connection.execute("begin immediate")
    try:
        # Asked again, now that nobody else can be migrating.
        for step in pending(migrations, connection.pragma("user_version"), where):
            _run(connection, step, where)
        connection.execute("commit")
    except BaseException:
        roll_back(connection)
        raise


def roll_back(connection: apsw.Connection) -> None:
    """End the transaction, if SQLite has not done so by itself."""
    with suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("rollback")


def file_id(path: Path) -> tuple[int, int] | None:
    """Which file stands at this path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def cannot_open(path: Path) -> str:
    """What happened, for an error while opening."""
    return f"SQLite store {path} cannot be opened"


def _run(connection: apsw.Connection, step: Migration, where: str) -> None:
    try:
        connection.execute(step.script)
        connection.pragma("user_version", step.number)
    except (apsw.SQLError, apsw.ConstraintError) as error:
        raise BackendUnavailable(
            f"{where} cannot be upgraded",
            why=f"migration {step.number:04} ({step.what}) failed: {error}",
            fix="Nothing was changed; go on with the former version and report this error",
        ) from error


def _connect(path: Path, busy_seconds: float, flags: int) -> apsw.Connection:
    connection = apsw.Connection(
        str(path.absolute()), flags=flags, statementcachesize=STATEMENTS_CACHED
    )
    try:
        connection.set_busy_handler(BusyWait(busy_seconds))
        _configure(connection, busy_seconds, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, busy_seconds: float, path: Path) -> None:
    connection.pragma("page_size", PAGE_BYTES)  # heeded while the file is empty
    mode = _turn_to_wal(connection, busy_seconds)
    if mode != "wal":
        raise BackendUnavailable(
            cannot_open(path),
            why=f"its file system cannot share memory between processes (journal mode is {mode})",
            fix="Put the file on a local disk, not on a network share",
        )
    connection.pragma("synchronous", "full")
    connection.pragma("fullfsync", 1)  # macOS: without it the drive may still hold the data
    connection.pragma("checkpoint_fullfsync", 1)
    connection.pragma("journal_size_limit", WAL_KEPT_BYTES)
    connection.wal_autocheckpoint(0)  # it would run inside somebody's commit


def _turn_to_wal(connection: apsw.Connection, busy_seconds: float) -> str:
    """The journal mode afterwards. Against some locks SQLite does not ask the busy handler here."""
    clock = SystemClock()
    until = clock.seconds() + busy_seconds
    while True:
        try:
            mode: str = connection.pragma("journal_mode", "wal")
            return mode
        except apsw.BusyError:
            if clock.seconds() >= until:
                raise
            clock.pause()
