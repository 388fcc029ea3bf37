"""The backend port on PostgreSQL: each verb is one statement that commits by itself."""

import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

from headgate.backends.postgresql.connector import Connector
from headgate.backends.postgresql.failures import unavailable, write_failed
from headgate.backends.postgresql.pointer_reads import PointerReader
from headgate.backends.postgresql.pool import Pool
from headgate.backends.postgresql.schema import set_up
from headgate.errors import BadSetting, Closed, OutcomeUnknown, PointerNotFound, Unavailable
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
from headgate.limits import POSTGRESQL_COMMAND_SECONDS, POSTGRESQL_CONNECTIONS
from headgate.sql import Migration, load_migrations, load_statements

SCAN_ROWS_MAX = 1_000  # per statement
WRITE_BYTES_MAX = 8 << 20  # per statement
DOUBTFUL_SWAPS_MAX = 10_000
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PACKAGE = "headgate.backends.postgresql"
_ROW_KEY = itemgetter(0, 1, 2)  # realm, id, part


class PostgresqlBackend:
    """Stores everything in one schema of one PostgreSQL database."""

    name = "postgresql"
    snapshot_reads = True

    def __init__(  # noqa: PLR0913  each is a setting, and named
        self,
        url: str,
        *,
        command_timeout_seconds: float = POSTGRESQL_COMMAND_SECONDS,
        connections_max: int = POSTGRESQL_CONNECTIONS,
        schema: str = "headgate",
        migrations: list[Migration] | None = None,
        create: bool = True,
        standby: bool = False,
    ) -> None:
        if not SCHEMA_NAME.fullmatch(schema):
            raise BadSetting(
                f"schema {schema!r} cannot be used",
                why="it must be 1 to 63 characters of a-z, 0-9 and _, and not begin with a digit",
                fix="Choose another name",
            )
        self._connector = Connector(url, schema, command_timeout_seconds, standby=standby)
        self._connections_max = connections_max
        self._schema = schema
        self._create = create
        self._migrations = load_migrations(_PACKAGE) if migrations is None else migrations
        self._sql = load_statements(_PACKAGE)
        self._pool: Pool | None = None
        self._reader: PointerReader | None = None
        self._doubtful: dict[int, None] = {}
        """What swaps of unknown outcome would have swapped in."""

    async def open(self) -> None:
        """Connect, create the schema or upgrade it, and warm the connections."""
        steps = self._migrations
        await set_up(self._connector, self._schema, self._sql, steps, create=self._create)
        self._pool = Pool(self._connector, self._connections_max)
        self._reader = PointerReader(self._connector, self._sql["read_pointers"])
        try:
            await self._pool.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Drop all connections; statements under way get a moment to end."""
        if self._reader:
            self._reader.close()
        if self._pool:
            await self._pool.close()

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        """Current values, all of one instant."""
        if not self._reader:
            raise self._not_open()
        return await self._reader.read(keys) if keys else []

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        """Create what is missing, as EMPTY."""
        await self._write("create_pointers", realm, sorted(set(names)), EMPTY)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        """Swap, and store the rows if the swap won."""
        key = swap.key
        assert all(row.realm == key.realm for row in rows), "rows of another realm"
        columns = _columns(rows)[1:]
        try:
            [result] = await self._write(
                "commit", key.realm, key.name, swap.expected, swap.new, *columns
            )
        except OutcomeUnknown:
            self._remember_doubt(swap.new)
            raise
        if not result["found"]:
            raise PointerNotFound(
                f"pointer {key.name!r} of realm {key.realm!r} cannot be moved",
                why="it does not exist",
                fix="Create it first; if it was there before, its realm was purged",
            )
        if result["won"]:
            return Outcome.APPLIED
        if swap.new in self._doubtful:
            await self._confirm(swap)
        return Outcome.LOST

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        """All rows of these ids."""
        return [Row(*row) for row in await self._read("fetch", realm, list(ids))] if ids else []

    async def write(self, rows: Sequence[Row]) -> None:
        """Store rows that are not there yet."""
        written = False
        for batch in _batches(rows):
            try:
                await self._write("write", *_columns(batch))
            except Unavailable as error:
                if not written:
                    raise
                raise OutcomeUnknown(  # `Unavailable` would say that nothing was written
                    f"{self._connector.where} was written in part", why=str(error), fix="Try again"
                ) from error
            written = True

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        """Delete all rows of these ids."""
        await self._write("delete", realm, list(ids))

    async def insert(self, row: Row) -> Outcome:
        """Store a row if there is none."""
        return _outcome(await self._write("insert", *row))

    async def update(self, row: Row, expected_version: int) -> Outcome:
        """Replace a row that has this version."""
        return _outcome(await self._write("update", *row, expected_version))

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        """Delete a row that has this version."""
        return _outcome(await self._write("remove", realm, id, expected_version))

    async def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        """Pointers in the order of their keys; nothing is held between two batches."""
        statement = "scan_pointers" if realm is None else "scan_pointers_of_realm"
        last = Pointer(realm or "", "", EMPTY)
        while True:
            found = await self._read(statement, last.realm, last.name, SCAN_ROWS_MAX)
            if found:
                batch = [Pointer(*row) for row in found]
                last = batch[-1]
                yield batch
            if len(found) < SCAN_ROWS_MAX:
                return

    async def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        """Rows in the order of their keys; nothing is held between two batches."""
        last = ScannedRow("", 0, 0, "", 0)
        while True:
            found = await self._read(
                "scan_rows", *last[:3], partition.shares, partition.share, SCAN_ROWS_MAX
            )
            if found:
                batch = [ScannedRow(*row) for row in found]
                last = batch[-1]
                yield batch
            if len(found) < SCAN_ROWS_MAX:
                return

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        """Delete these pointers."""
        ordered = sorted(keys)  # as in `_columns`
        realms, names = [key.realm for key in ordered], [key.name for key in ordered]
        await self._write("delete_pointers", realms, names)

    async def delete_realm(self, realm: str, limit: int) -> int:
        """Delete pointers as long as there are any, then rows."""
        for statement in ("delete_pointers_of_realm", "delete_rows_of_realm"):
            found = limit
            while found:
                [answer] = await self._write(statement, realm, limit)
                found, deleted = answer["found"], answer["deleted"]
                if deleted:
                    return int(deleted)
        return 0

    async def clock_ms(self) -> int:
        """The time of the server at this instant, not that of a transaction."""
        [row] = await self._read("read_clock")
        return int(row["clock_ms"])

    def _remember_doubt(self, id: int) -> None:
        self._doubtful[id] = None
        if len(self._doubtful) > DOUBTFUL_SWAPS_MAX:
            del self._doubtful[next(iter(self._doubtful))]

    async def _confirm(self, swap: Swap) -> None:
        """Wait until all that the server shows of a pointer is as durable as what it acknowledges.

        A swap whose wait for a synchronous standby was broken off is visible, and yet may be lost
        when that standby is promoted. A write that is acknowledged later stands for all before it.
        """
        try:
            await self._write("confirm", swap.key.realm, swap.key.name)
        except Unavailable as error:
            raise OutcomeUnknown(
                f"{self._connector.where} did not confirm a write", why=str(error), fix="Try again"
            ) from error
        self._doubtful.pop(swap.new, None)

    async def _read(self, statement: str, *arguments: object) -> list[Any]:
        if not self._pool:
            raise self._not_open()
        return await self._pool.run(unavailable, self._sql[statement], *arguments)

    async def _write(self, statement: str, *arguments: object) -> list[Any]:
        if not self._pool:
            raise self._not_open()
        return await self._pool.run(write_failed, self._sql[statement], *arguments)

    def _not_open(self) -> Closed:
        return Closed(f"{self._connector.where} cannot be used", why="it is not open")


def _outcome(changed: list[Any]) -> Outcome:
    return Outcome.APPLIED if changed else Outcome.LOST


def _columns(rows: Sequence[Row]) -> list[list[Any]]:
    """One list for each column of a row, for `unnest`.

    Sorted, because statements that insert the same rows in other orders would deadlock.
    """
    if not rows:
        return [[] for _ in Row._fields]
    return [list(column) for column in zip(*sorted(rows, key=_ROW_KEY), strict=True)]


def _batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in groups that one statement can carry."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and size + len(row.value) > WRITE_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row.value)
    if batch:
        yield batch
