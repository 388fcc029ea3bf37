"""A network fault on demand: a proxy that passes requests on and spoils the replies."""

import asyncio
from typing import Literal, Self

Mode = Literal["pass", "cut", "hang", "late"]
CHUNK_BYTES = 65_536


class CutProxy:
    """Stands between a client and a server on this machine; `mode` may change at any time.

    pass: as if it were not there. cut: the connection breaks when the server has replied.
    hang: replies vanish. late: the next reply comes `late_seconds` later, then all pass.
    Requests always reach the server.
    """

    def __init__(self, server_port: int, *, late_seconds: float = 1.0) -> None:
        self.mode: Mode = "pass"
        self.port = 0
        self.spoiled = asyncio.Event()
        """Set when a reply was cut, swallowed or delayed."""
        self._server_port = server_port
        self._late_seconds = late_seconds
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        await asyncio.sleep(0)  # who is being accepted gets its task
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        for end in self._ends:
            end.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # sockets close in the next turn of the loop

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)  # at once: a task that is cancelled early never runs
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        pumps: list[asyncio.Task[None]] = []
        try:
            replies, requests = await asyncio.open_connection("127.0.0.1", self._server_port)
            ends.append(requests)
            pumps = [
                asyncio.create_task(self._pass_requests(reader, requests)),
                asyncio.create_task(self._pass_replies(replies, writer)),
            ]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # the server is down: the client sees its connection break
        finally:
            for end in ends:
                end.transport.abort()
            self._ends.discard(writer)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pass_requests(
        self, requests: asyncio.StreamReader, server: asyncio.StreamWriter
    ) -> None:
        while data := await requests.read(CHUNK_BYTES):
            server.write(data)
            await server.drain()

    async def _pass_replies(
        self, replies: asyncio.StreamReader, client: asyncio.StreamWriter
    ) -> None:
        while data := await replies.read(CHUNK_BYTES):
            if self.mode != "pass":
                self.spoiled.set()
            if self.mode == "cut":
                return
            if self.mode == "hang":
                continue
            if self.mode == "late":
                self.mode = "pass"
                await asyncio.sleep(self._late_seconds)
            client.write(data)
            await client.drain()
