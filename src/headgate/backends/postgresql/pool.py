"""The pool: few warm connections, more under load, and no connection that is in doubt.

The driver has a pool too. It costs 100 µs of CPU per statement, two thirds of the statement itself,
and before version 0.32 it lets even the last connections go cold.
"""

import asyncio
from typing import Any, NamedTuple

from headgate.backends.postgresql.connector import Connection, Connector
from headgate.backends.postgresql.failures import (
    FAILURES,
    Told,
    never_sent,
    still_usable,
    write_failed,
)
from headgate.backends.postgresql.sessions import NotReplicated
from headgate.errors import BackendUnavailable, Closed, HeadgateError

WARM_CONNECTIONS = 5
IDLE_SECONDS_MAX = 30.0  # for connections beyond the warm ones
UPKEEP_SECONDS = 3.0
CLOSE_SECONDS_MAX = 2.0


class Pool:
    """Runs statements, each on one of at most `connections_max` connections."""

    def __init__(
        self,
        connector: Connector,
        connections_max: int,
        *,
        idle_seconds_max: float = IDLE_SECONDS_MAX,
        upkeep_seconds: float = UPKEEP_SECONDS,
    ) -> None:
        self._connector = connector
        self._slots = asyncio.Semaphore(connections_max)
        self._slots_taken = 0
        self._slot_freed = asyncio.Event()
        self._connections_max = connections_max
        self._warm = min(WARM_CONNECTIONS, connections_max)
        self._idle_seconds_max = idle_seconds_max
        self._upkeep_seconds = upkeep_seconds
        self._idle: list[_Idle] = []  # the one used last stands last, and is used next
        self._busy: set[Connection] = set()
        self._upkeep: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        """Connect the warm connections; the first one tells whether that works."""
        for _ in range(self._warm):
            await self._add_idle()
        self._upkeep = asyncio.create_task(self._keep_up())

    async def close(self) -> None:
        """Let running statements end for a moment, then drop all connections."""
        if self._closed:
            return
        self._closed = True
        if self._upkeep:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                while self._slots_taken:
                    self._slot_freed.clear()
                    await self._slot_freed.wait()
        except TimeoutError:
            pass
        for connection in [*self._busy, *(idle.connection for idle in self._idle)]:
            connection.terminate()
        self._idle.clear()
        await asyncio.sleep(0)  # sockets close in the next turn of the loop

    async def run(self, told: Told, statement: str, *arguments: object) -> list[Any]:
        """The rows this statement answers with. `told` names a failure after it was sent."""
        connection = await self._acquire()
        warnings = connection.warnings
        try:
            answer = await connection.fetch(statement, *arguments)
            self._connector.check_current(connection)
            if told is write_failed and connection.warnings != warnings:
                raise NotReplicated
            return answer
        except BaseException as error:
            if not still_usable(error):
                connection.terminate()
            if isinstance(error, FAILURES) and not never_sent(error):
                raise told(self._connector.where, error) from error
            raise
        finally:
            self._release(connection)

    async def _acquire(self) -> Connection:
        self._check_open()
        await self._take_slot()
        try:
            self._check_open()  # it may have been closed while we waited
            connection = self._pop_idle() or await self._connector.connect()
        except BaseException:
            self._free_slot()
            raise
        self._busy.add(connection)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"{self._connector.where} was closed", fix="Open it again")

    async def _take_slot(self) -> None:
        if not self._slots.locked():
            await self._slots.acquire()  # does not wait
            self._slots_taken += 1
            return
        seconds = self._connector.command_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
                self._slots_taken += 1
        except TimeoutError:
            raise BackendUnavailable(
                f"{self._connector.where} is not available",
                why=f"all {self._connections_max} connections were busy for {seconds:g} s",
                fix="Allow more connections, or send less at a time",
            ) from None

    def _free_slot(self) -> None:
        self._slots.release()
        self._slots_taken -= 1
        self._slot_freed.set()

    def _release(self, connection: Connection) -> None:
        self._busy.discard(connection)
        self._free_slot()
        if self._closed:
            connection.terminate()
        elif not connection.is_closed():
            self._idle.append(_Idle(connection, asyncio.get_running_loop().time()))

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop().connection
            if self._is_alive(connection):
                return connection
            connection.terminate()  # if the server closed it, this frees what the driver holds
        return None

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(self._upkeep_seconds)
            try:
                await self._connector.look_around()
                self._evict()
                while len(self._idle) + len(self._busy) < self._warm:
                    await self._add_idle()
            except HeadgateError:
                pass  # callers are told; the next round tries again

    def _evict(self) -> None:
        """Drop dead connections, and those beyond the warm ones that nobody used for long."""
        before = asyncio.get_running_loop().time() - self._idle_seconds_max
        live = [idle for idle in self._idle if self._is_alive(idle.connection)]
        spare = max(0, len(live) - self._warm)
        kept = [idle for idle in live[:spare] if idle.since > before] + live[spare:]
        for idle in set(self._idle) - set(kept):
            idle.connection.terminate()
        self._idle = kept

    def _is_alive(self, connection: Connection) -> bool:
        return not connection.is_closed() and self._connector.is_current(connection)

    async def _add_idle(self) -> None:
        await self._take_slot()
        try:
            connection = await self._connector.connect()
            # Placed first: it is the last to be used and the first to go.
            self._idle.insert(0, _Idle(connection, asyncio.get_running_loop().time()))
        finally:
            self._free_slot()


class _Idle(NamedTuple):
    """A connection nobody uses, and since when by the loop's clock."""

    connection: Connection
    since: float
