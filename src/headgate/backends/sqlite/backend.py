"""The backend on SQLite: reads on the event loop, writes on one thread, checkpoints on another."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from headgate.backends.sqlite.checkpoints import CHECKPOINT_BUSY_SECONDS, Checkpointer
from headgate.backends.sqlite.connections import connect, create_and_connect
from headgate.backends.sqlite.frozen import NoIndex, connect_frozen, is_frozen
from headgate.backends.sqlite.own_files import OwnFiles
from headgate.backends.sqlite.reader import Reader
from headgate.backends.sqlite.wal_index import WalIndex
from headgate.backends.sqlite.writer import Writer
from headgate.errors import BackendUnavailable, Closed, OutcomeUnknown, PointerNotFound, Unavailable
from headgate.kernel.records import (
    EMPTY,
    WHOLE,
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    Row,
    ScannedRow,
    Swap,
)
from headgate.limits import SQLITE_BUSY_SECONDS
from headgate.sql import Migration, load_migrations, load_statements

PACKAGE = "headgate.backends.sqlite"
READ_BUSY_SECONDS_MAX = 1.0  # readers wait only for a recovery, and the event loop waits with them
STEP_ITEMS = 1_000  # long writes are done in steps, so that they lock nobody out for long
STEP_BYTES = 4 << 20

SQL = load_statements(PACKAGE)

T = TypeVar("T")
Bindings = tuple[str | int | bytes, ...]


class SqliteBackend:
    """One file. Each process has its own instance, opened after any fork."""

    name = "sqlite"
    snapshot_reads = True

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout_seconds: float = SQLITE_BUSY_SECONDS,
        migrations: list[Migration] | None = None,
    ) -> None:
        self._path = path.absolute()
        self._where = f"SQLite store {path}"
        self._files = OwnFiles(self._path, self._where)
        self._busy_seconds = busy_timeout_seconds
        self._migrations = load_migrations(PACKAGE) if migrations is None else migrations
        self._reader: Reader | None = None  # all four are None while closed
        self._index: WalIndex | NoIndex | None = None
        self._writer: Writer | None = None
        self._checkpointer: Checkpointer | None = None
        self._is_frozen = False  # whether it was opened without a way to write

    async def open(self) -> None:
        assert self._reader is None, "open already"
        if is_frozen(self._path):
            self._open_frozen()
            return
        checkpointer = Checkpointer(self._files)
        writer = Writer(partial(self._connect_writer, checkpointer), self._files, self._where)
        index = WalIndex(self._path)
        try:
            await writer.start()
            index.open()
            checkpointer.start(connect(self._path, CHECKPOINT_BUSY_SECONDS))
            read_seconds = min(self._busy_seconds, READ_BUSY_SECONDS_MAX)
            connection = connect(self._path, read_seconds)
        except BaseException:
            await asyncio.to_thread(_stop, writer, checkpointer)
            index.close()
            raise
        self._reader = Reader(connection, index, self._files, SQL, self._where)
        self._index, self._writer, self._checkpointer = index, writer, checkpointer

    def _open_frozen(self) -> None:
        """Only to read: nothing is made or changed, neither the file nor what is beside it."""
        self._files.remember()
        alone = not self._files.have_log
        index: WalIndex | NoIndex = NoIndex() if alone else WalIndex(self._path)
        try:
            read_seconds = min(self._busy_seconds, READ_BUSY_SECONDS_MAX)
            connection = connect_frozen(self._path, read_seconds, self._migrations, alone=alone)
            if alone:
                self._files.check()  # no writer came meanwhile
            self._files.remember()
            index.open()
        except BaseException:
            index.close()
            raise
        self._reader = Reader(connection, index, self._files, SQL, self._where)
        self._index = index
        self._is_frozen = True

    async def close(self) -> None:
        reader, writer, checkpointer = self._reader, self._writer, self._checkpointer
        index = self._index
        self._reader = self._index = self._writer = self._checkpointer = None
        self._is_frozen = False
        if reader is not None:
            reader.close()
        if writer is not None and checkpointer is not None:
            await asyncio.to_thread(_stop, writer, checkpointer)
        if index is not None:
            index.close()  # last: it ends the locks of connections

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        return self._reading().pointers(keys)

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        new = [(realm, name, EMPTY) for name in names]
        await self._in_steps(_steps("create_pointer", new))

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        assert swap.new != swap.expected, swap
        return await self._writing().run(partial(_commit, rows, swap))

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        return self._reading().rows(realm, ids)

    async def write(self, rows: Sequence[Row]) -> None:
        await self._in_steps(partial(_each, "write", piece) for piece in _pieces(rows))

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        await self._in_steps(_steps("delete", [(realm, id) for id in ids]))

    async def insert(self, row: Row) -> Outcome:
        return await self._conditional("write", row)

    async def update(self, row: Row, expected_version: int) -> Outcome:
        new = (row.parts, row.type, row.version, row.value)
        return await self._conditional(
            "update", (*new, row.realm, row.id, row.part, expected_version)
        )

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        return await self._conditional("remove", (realm, id, expected_version))

    async def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        first = PointerKey("", "")
        while batch := self._reading().pointers_from(realm, first):
            yield batch
            await asyncio.sleep(0)
            last = batch[-1]
            first = PointerKey(last.realm, last.name + "\0")  # the next possible name

    async def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        position: int | None = 0
        while position is not None:
            batch, position = self._reading().rows_from(position, partition)
            if batch:
                yield batch
            await asyncio.sleep(0)

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        await self._in_steps(_steps("delete_pointer", list(keys)))

    async def delete_realm(self, realm: str, limit: int) -> int:
        return await self._writing().run(partial(_delete_of_realm, realm, limit))

    def _reading(self) -> Reader:
        if self._reader is None:
            raise self._closed()
        return self._reader

    def _writing(self) -> Writer:
        if self._writer is None and self._is_frozen:
            raise BackendUnavailable(
                f"{self._where} cannot be written",
                why="its file may only be read, or its disk is mounted read-only",
                fix="Start with --read-only, or make the file and its directory writable",
            )
        if self._writer is None:
            raise self._closed()
        return self._writer

    def _closed(self) -> Closed:
        return Closed(f"{self._where} cannot be used", why="it is not open", fix="Open it first")

    def _connect_writer(self, checkpointer: Checkpointer) -> apsw.Connection:
        connection = create_and_connect(self._path, self._busy_seconds, self._migrations)
        connection.set_wal_hook(checkpointer.wal_grew)
        self._files.remember()
        return connection

    async def _conditional(self, name: str, bindings: Bindings) -> Outcome:
        changed = await self._writing().run(partial(_changed, name, bindings))
        return Outcome.APPLIED if changed else Outcome.LOST

    async def _in_steps(self, steps: Iterable[Callable[[apsw.Connection], None]]) -> None:
        """Run each step in a transaction of its own."""
        applied = False
        for step in steps:
            try:
                await self._writing().run(step)
            except Unavailable as error:
                if not applied:
                    raise
                raise OutcomeUnknown(  # `Unavailable` would say that nothing was written
                    f"{self._where} was written in part", why=str(error), fix="Try again"
                ) from error
            applied = True


def _commit(rows: Sequence[Row], swap: Swap, connection: apsw.Connection) -> Outcome:
    """The swap comes first, so that a loser writes nothing."""
    if _changed("swap_pointer", (swap.new, *swap.key, swap.expected), connection):
        connection.executemany(SQL["write"], rows)
        return Outcome.APPLIED
    if connection.execute(SQL["read_pointer"], swap.key).fetchall():
        return Outcome.LOST
    raise PointerNotFound(
        f"pointer {swap.key.name!r} of realm {swap.key.realm!r} cannot be moved",
        why="it does not exist",
        fix="Create it first, unless its realm was purged",
    )


def _changed(name: str, bindings: Bindings, connection: apsw.Connection) -> int:
    """Execute a statement; how many rows it changed."""
    connection.execute(SQL[name], bindings)
    return connection.changes()


def _delete_of_realm(realm: str, limit: int, connection: apsw.Connection) -> int:
    pointers = _changed("delete_pointers_of_realm", (realm, limit), connection)
    return pointers + _changed("delete_of_realm", (realm, limit - pointers), connection)


def _each(name: str, bindings: Sequence[Bindings], connection: apsw.Connection) -> None:
    """Execute a statement for each of these."""
    connection.executemany(SQL[name], bindings)


def _steps(name: str, bindings: Sequence[Bindings]) -> Iterator[Callable[[apsw.Connection], None]]:
    for start in range(0, len(bindings), STEP_ITEMS):
        yield partial(_each, name, bindings[start : start + STEP_ITEMS])


def _pieces(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in runs of a limited number and size."""
    piece: list[Row] = []
    size = 0
    for row in rows:
        if len(piece) == STEP_ITEMS or (piece and size + len(row.value) > STEP_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(row)
        size += len(row.value)
    if piece:
        yield piece


def _stop(writer: Writer, checkpointer: Checkpointer) -> None:
    writer.stop()
    checkpointer.stop()  # after the last commit, so that it can empty the log
