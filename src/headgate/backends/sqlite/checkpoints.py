"""The thread that moves the write-ahead log into the database file before the log grows long."""

import threading
from contextlib import suppress

import apsw

from headgate.backends.sqlite.connections import PAGE_BYTES
from headgate.backends.sqlite.own_files import OwnFiles

WAL_BYTES_WANTED = 16 << 20
WAL_PAGES_WANTED = WAL_BYTES_WANTED // PAGE_BYTES
CHECKPOINT_BUSY_SECONDS = 0.05  # how long the last step may keep writers waiting
CHECKPOINT_PAUSE_SECONDS = 0.2  # a reader that pins the log must not make us try all the time


class Checkpointer:
    """Checkpoints when told that the log is long. It fails quietly: the next commit tells again."""

    def __init__(self, files: OwnFiles) -> None:
        self._files = files
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, connection: apsw.Connection) -> None:
        """Begin; the connection is from now on this thread's own."""
        self._thread = threading.Thread(
            target=self._main, args=(connection,), name="sqlite-checkpointer", daemon=True
        )
        self._thread.start()

    def wal_grew(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """The hook of the writing connection, called after each commit with the log's length."""
        del connection, database
        if pages >= WAL_PAGES_WANTED:
            self._wanted.set()
        return apsw.SQLITE_OK

    def stop(self) -> None:
        """Empty the log if nobody else uses it, disconnect, and only then return."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _main(self, connection: apsw.Connection) -> None:
        try:
            while True:
                self._wanted.wait()
                if self._stopping.is_set():
                    break
                self._wanted.clear()
                if self._files.are_there():
                    checkpoint(connection)
                self._stopping.wait(CHECKPOINT_PAUSE_SECONDS)
            if self._files.are_there():
                with suppress(apsw.Error):
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self._files.disconnect(connection)


def checkpoint(connection: apsw.Connection) -> None:
    """Copy the log into the file, so that the next commit can start the log over.

    PASSIVE copies nearly all of it and holds nobody up. But the log can start over only when *all*
    is copied, which under steady writing is never so: FULL shuts the writers out for the rest.
    """
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
