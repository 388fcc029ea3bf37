"""Whole servers on one database, asked over HTTP: in this process, or as processes of their own."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from headgate.application import load_application
from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.http.front import Front
from headgate.kernel.backend import Backend
from headgate.settings.loading import load
from headgate.testing.headgate_server import HeadgateServer
from tests.authorization.guarded import ADMIN, GuardedNode, StoreRig, basic, guarded_world

POLL_MS = 100
PATIENCE_SECONDS = 10.0
_READS = re.compile(r"^headgate_request_database_reads_sum\{.*\} (\d+)$", re.MULTILINE)


class Mode(NamedTuple):
    """How nodes learn what is new."""

    validation: str = "per-request"
    invalidation: str = "fine"
    more: tuple[str, ...] = ()
    """Further settings."""

    def __str__(self) -> str:
        return f"{self.validation}-{self.invalidation}"

    @property
    def is_polling(self) -> bool:
        return self.validation == "poll"

    @property
    def settings(self) -> list[str]:
        """As an operator writes it."""
        return [
            "authorization.enabled=true",
            f"authorization.service-admins={ADMIN}",
            f"authorization.validation={self.validation}",
            f"authorization.invalidation={self.invalidation}",
            f"authorization.poll-interval-ms={POLL_MS}",
            "log.access=false",
            *self.more,
        ]


MODES = [Mode(), Mode("per-request", "coarse"), Mode("poll", "fine"), Mode("poll", "coarse")]


class Place(NamedTuple):
    """A folder, and a database: that of the folder if no URL is given."""

    folder: Path
    url: str = ""

    def backend(self) -> Backend:
        if self.url:
            return PostgresqlBackend(self.url)
        return SqliteBackend(self.folder / "data" / "headgate.db")


class Told(NamedTuple):
    """An answer, and how often the database was read for it."""

    status: int
    reads: int
    text: str


class Site:
    """Some servers that share a database."""

    def __init__(self, mode: Mode, place: Place, nodes: list[httpx.AsyncClient]) -> None:
        self.mode = mode
        self.nodes = nodes
        self._place = place

    async def send(
        self,
        node: int,
        method: str,
        path: str,
        body: object = None,
        user: str = ADMIN,
        **headers: str,
    ) -> httpx.Response:
        """Ask one of the servers."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.nodes[node].request(
            method, path, json=body, headers={"authorization": basic(user), **sent}
        )

    async def ask(self, node: int, method: str, path: str, user: str) -> Told:
        """The same, with how often the database was read for it."""
        before = await self._reads(node)
        answer = await self.send(node, method, path, user=user)
        return Told(answer.status_code, await self._reads(node) - before, answer.text)

    async def must(self, node: int, method: str, path: str, body: object = None) -> Any:
        """The body of an answer that is a success, to the admin."""
        answer = await self.send(node, method, path, body)
        assert answer.is_success, (method, path, answer.text)
        return answer.json() if answer.content else None

    @asynccontextmanager
    async def insider(self) -> AsyncIterator[GuardedNode]:
        """One more node on the same database, for what no protocol can do."""
        async with guarded_world(StoreRig(self._place.backend), self._place.folder) as world:
            yield await world.guarded()

    async def _reads(self, node: int) -> int:
        return sum(map(int, _READS.findall((await self.nodes[node].get("/metrics")).text)))


@asynccontextmanager
async def fronts(mode: Mode, place: Place, count: int) -> AsyncIterator[Site]:
    """Servers without ports, in this process."""
    async with AsyncExitStack() as stack:
        nodes = []
        for _ in range(count):
            flags = {"data": str(place.folder / "data")}
            if place.url:
                flags["backend"] = place.url
            front: Front = load_application(load(flags=flags, sets=mode.settings), None)
            await stack.enter_async_context(front)
            client = httpx.AsyncClient(
                transport=httpx.ASGITransport(front), base_url="http://localhost"
            )
            nodes.append(await stack.enter_async_context(client))
        yield Site(mode, place, nodes)


@asynccontextmanager
async def processes(mode: Mode, place: Place, count: int) -> AsyncIterator[Site]:
    """Servers as processes of their own."""
    options = [word for text in mode.settings for word in ("--set", text)]
    options += ["--processes", "1"]
    if place.url:
        options += ["--backend", place.url]
    async with AsyncExitStack() as stack:
        nodes = []
        for _ in range(count):
            server = HeadgateServer(place.folder, *options)
            await asyncio.to_thread(server.start)
            stack.push_async_callback(asyncio.to_thread, server.stop)
            client = httpx.AsyncClient(base_url=server.url, trust_env=False)
            nodes.append(await stack.enter_async_context(client))
        yield Site(mode, place, nodes)
