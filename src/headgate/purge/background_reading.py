"""Reads tables for which no purge of another schema waits, one at a time and by turns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from headgate.kernel.records import PointerKey
from headgate.purge.reading_budget import SchemaKey
from headgate.purge.reading_turns import Turns

logger = logging.getLogger(__name__)


class LateTable(NamedTuple):
    """A table that is still to be read."""

    head: PointerKey
    """The pointer of its catalog."""
    object: int


class BackgroundReading:
    """Reads late tables in a task that ends when none is left. Each table is read once, however
    many callers wait for it."""

    def __init__(self, read: Callable[[LateTable], Awaitable[None]]) -> None:
        self._read = read
        self._turns: Turns[LateTable] = Turns()
        self._ends: dict[LateTable, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def add(self, schema: SchemaKey, table: LateTable) -> None:
        """Let a table be read when the turn of its schema comes, unless it is to be anyway."""
        if self._is_closed or table in self._ends:
            return
        self._ends[table] = asyncio.get_running_loop().create_future()
        self._turns.add(schema, table)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def wait(self, tables: Iterable[LateTable]) -> None:
        """Wait until these tables are read, as far as they are to be."""
        ends = [self._ends[table] for table in tables if table in self._ends]
        if ends:
            await asyncio.wait(ends)  # which leaves them to other callers if this one is cancelled

    async def close(self) -> None:
        """Stop reading; no caller waits any longer."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for end in self._ends.values():
            end.cancel()
        self._ends.clear()

    async def _run(self) -> None:
        try:
            for table in self._turns:
                try:
                    await self._read(table)
                except Exception:
                    logger.warning("a table could not be read in the background", exc_info=True)
                finally:
                    self._ends.pop(table).set_result(None)
        finally:
            self._task = None
