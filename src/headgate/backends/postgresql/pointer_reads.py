"""Reads of pointers, on a connection of their own: no commit ever makes them wait for one."""

import asyncio
from collections.abc import Sequence

from headgate.backends.postgresql.connector import Connection, Connector
from headgate.backends.postgresql.failures import FAILURES, never_sent, still_usable, unavailable
from headgate.errors import Closed
from headgate.kernel.records import PointerKey


class PointerReader:
    """Reads pointers, one read at a time. It reconnects by itself."""

    def __init__(self, connector: Connector, statement: str) -> None:
        self._connector = connector
        self._statement = statement
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def read(self, keys: Sequence[PointerKey]) -> list[int | None]:
        """The values of these pointers at one instant, or `BackendUnavailable`."""
        realms = [key.realm for key in keys]
        names = [key.name for key in keys]
        try:
            async with asyncio.timeout(self._connector.command_timeout_seconds), self._turn:
                return await self._read(realms, names)
        except FAILURES as error:
            if never_sent(error):
                raise
            raise unavailable(self._connector.where, error) from error

    def close(self) -> None:
        """Drop the connection; a read under way fails."""
        self._closed = True
        if self._connection:
            self._connection.terminate()

    async def _read(self, realms: list[str], names: list[str]) -> list[int | None]:
        connection = await self._connected()
        try:
            [answer] = await connection.fetch(self._statement, realms, names)
            self._connector.check_current(connection)
            values: list[int | None] = answer["values"]
            return values
        except BaseException as error:
            if not still_usable(error):
                connection.terminate()
            raise

    async def _connected(self) -> Connection:
        if self._closed:
            raise Closed(f"{self._connector.where} was closed", fix="Open it again")
        known = self._connection
        if known and (known.is_closed() or not self._connector.is_current(known)):
            known.terminate()  # if the server closed it, this frees what the driver still holds
            self._connection = None
        if not self._connection:
            self._connection = await self._connector.connect()
        return self._connection
