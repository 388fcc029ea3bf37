"""Nodes that check rights, on a database in memory or a real one; both protocols, no sockets."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from headgate.access.auditing import Unrecorded
from headgate.catalog.calls import ITSELF, Call, Caller, CatalogName
from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.catalogs import bootstrap
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.lake import Lake, LakeOptions
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.openings import Opened
from headgate.catalog.ports import Audit
from headgate.catalog.reports import Reports
from headgate.clock import Clock, SystemClock
from headgate.errors import HeadgateError
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.authentication.token_endpoint import SimpleGranter, TokenEndpoint
from headgate.http.database_reads import ReadCountingBackend, count_reads
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES
from headgate.http.gravitino.routes import ROUTES as GRAVITINO_ROUTES
from headgate.http.gravitino.service import Gravitino
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.iceberg.service import Service
from headgate.http.problems import ICEBERG
from headgate.http.request import Request
from headgate.http.router import Match, Router, Surface
from headgate.kernel.backend import Backend
from headgate.kernel.cache import Cache
from headgate.kernel.commit import CommitOptions
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import ObjectType
from headgate.limits import CACHE_BYTES
from headgate.storage.gateway import StorageGateway
from headgate.storage.options import StorageOptions
from headgate.testing.counting import CountingBackend
from headgate.testing.kernels import Rig, Snapshot, open_kernel_on, snapshot
from tests.unit.catalog.lakes import CATALOG, LOCAL, METALAKE, SECRET
from tests.unit.catalog.outside import CountingStorage, FakePlanner, InlineWorkers

ADMIN = "admin"
"""Whom the settings name: owns the metalake as long as nobody else does."""
MAIN = CatalogName(METALAKE, CATALOG)


class Heard(NamedTuple):
    """An answer, and how often the database was read for it."""

    status: int
    json: Any
    headers: dict[str, str]
    reads: int
    pointer_reads: int
    """Those of them that asked how things are now; the others fetch what never changes."""


class StoreRig(Rig):
    """A real database instead of one in memory: each node has connections of its own."""

    def __init__(self, make: Callable[[], Backend]) -> None:
        super().__init__()
        self._make = make

    async def open(
        self,
        *,
        clock: Clock | None = None,
        cache_bytes: int = CACHE_BYTES,
        commit: CommitOptions = CommitOptions(),
        types: Iterable[ObjectType] = CATALOG_TYPES,
    ) -> Kernel:
        kernel = open_kernel_on(
            ReadCountingBackend(CountingBackend(self._make())),
            clock=clock or SystemClock(),
            seed=len(self.kernels),
            cache_bytes=cache_bytes,
            commit=commit,
            types=types,
        )
        await kernel.open()
        self.kernels.append(kernel)
        return kernel


class CountedRig(Rig):
    """A database in memory; what each request reads is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = ReadCountingBackend(self.backend)

    async def open(
        self,
        *,
        clock: Clock | None = None,
        cache_bytes: int = CACHE_BYTES,
        commit: CommitOptions = CommitOptions(),
        types: Iterable[ObjectType] = CATALOG_TYPES,
    ) -> Kernel:
        kernel = open_kernel_on(
            self.counted,
            clock=clock or self.clock,
            seed=len(self.kernels),
            cache_bytes=cache_bytes,
            commit=commit,
            types=types,
        )
        await kernel.open()
        self.kernels.append(kernel)
        return kernel


class Headers:
    """Believes what a request says of its sender: `Basic user/group,group:`."""

    async def caller(self, request: Request) -> Caller:
        _, _, value = request.headers.get("authorization", "").partition(" ")
        text = base64.b64decode(value).decode().removesuffix(":")
        user, _, groups = text.partition("/")
        if user == ITSELF.name:
            return ITSELF
        roles = request.headers.get("x-gravitino-active-roles")
        return Caller(
            user,
            tuple(filter(None, groups.split(","))),
            None if roles is None else tuple(filter(None, roles.split(","))),
        )


class GuardedNode:
    """One server process that checks rights, without a port."""

    def __init__(self, world: "GuardedWorld", kernel: Kernel, guard: Guard, audit: Audit) -> None:
        self.kernel = kernel
        self.guard = guard
        self.storage = CountingStorage(StorageGateway(world.storage, kernel.clock))
        self.lake = Lake(
            kernel,
            self.storage,
            FakePlanner(),
            InlineWorkers(),
            lambda: str(uuid4()),
            LakeOptions(),
            guard=guard,
            audit=audit,
        )
        self.reports = Reports(self.lake)
        by, tokens = Headers().caller, SimpleTokens(SECRET, kernel.clock)
        self.service = Service(
            lake=self.lake,
            reports=self.reports,
            tokens=TokenEndpoint(SimpleGranter(tokens)),
            answers=Cache(1 << 20),
            metalake=METALAKE,
            catalog=CATALOG,
        )
        gravitino = Gravitino(
            lake=self.lake,
            check=kernel.realms.list,
            places=CatalogPlaces(f"{world.warehouse}s"),
            has_authorization=True,
        )
        self._router = Router(
            [
                Surface("/iceberg", ICEBERG_ROUTES, self.service, ICEBERG, by),
                Surface("/api", GRAVITINO_ROUTES, gravitino, GRAVITINO, by),
                Surface("", ROOT_ROUTES, gravitino, GRAVITINO, by),
            ]
        )

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = ITSELF.name,
        headers: Mapping[str, str] | None = None,
        key: UUID | None = None,
    ) -> Heard:
        """Answer a request as a server would. Paths without a slash are those of the catalog."""
        path, _, query = path.partition("?")
        if not path.startswith("/"):
            path = f"/iceberg/v1/{METALAKE}.{CATALOG}/{path}"
        match = self._router.match(method, path)
        assert isinstance(match, Match), f"{method} {path}"
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        sent = {"authorization": basic(user), **(headers or {})}
        if key is not None:
            sent["idempotency-key"] = str(key)
        request = Request(method, path, match.params, query, sent, raw)
        reads, pointers = count_reads(), self._pointer_reads()
        try:
            await match.authenticate(request)
            response = await match.route.handler(match.surface.services, request)
        except HeadgateError as error:
            response = match.surface.dialect.answer(error)
        whole = response.body if isinstance(response.body, bytes) else b"".join(response.body)
        named = {name.lower(): value for name, value in response.headers}
        read = json.loads(whole) if whole else None
        return Heard(response.status, read, named, reads.count, self._pointer_reads() - pointers)

    def _pointer_reads(self) -> int:
        backend = self.kernel.backend.inner
        assert isinstance(backend, ReadCountingBackend)
        assert isinstance(backend.inner, CountingBackend)
        return backend.inner.calls["read_pointers"]

    async def must(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        """The body of the answer to a request that must succeed."""
        heard = await self.ask(method, path, body, **more)
        assert heard.status in {200, 204}, (method, path, heard)
        return heard.json

    async def catalog(self, caller: Caller = ITSELF) -> Opened:
        """The catalog as it is now, for this caller."""
        return await self.lake.open(Call(MAIN, caller))

    async def metalake(self, caller: Caller = ITSELF, *, inactive: bool = False) -> OpenedMetalake:
        """The metalake as it is now, for this caller."""
        call = Call(CatalogName(METALAKE, ""), caller)
        return await self.lake.open_metalake(call, inactive=inactive)

    async def close(self) -> None:
        await self.reports.close()


class GuardedWorld:
    """A database and a warehouse, whose nodes check rights."""

    def __init__(self, rig: Rig, folder: Path, storage: StorageOptions) -> None:
        self.rig = rig
        self.folder = folder
        self.warehouse = (folder / "warehouse").as_posix()
        self.storage = storage
        self.nodes: list[GuardedNode] = []

    def files(self) -> set[str]:
        """All files in the warehouse, by their path."""
        return {path.as_posix() for path in Path(self.warehouse).rglob("*") if path.is_file()}

    async def state(self) -> tuple[Snapshot, set[str]]:
        """All there is, to compare what was before with what is after."""
        return await snapshot(self.rig.memory), self.files()

    async def guarded(
        self,
        audit: Audit | None = None,
        make: Callable[[Kernel, GuardOptions], Guard] = Guard,
    ) -> GuardedNode:
        """Another node; it knows nothing yet."""
        kernel = await self.rig.open(types=CATALOG_TYPES)
        if not self.nodes:
            await bootstrap(kernel, METALAKE, CatalogEntity(0, CATALOG, self.warehouse, {}))
        guard = make(kernel, GuardOptions(is_on=True, admins=frozenset({ADMIN})))
        node = GuardedNode(self, kernel, guard, audit or Unrecorded())
        self.nodes.append(node)
        return node


@asynccontextmanager
async def guarded_world(
    rig: Rig, folder: Path, storage: StorageOptions = LOCAL
) -> AsyncIterator[GuardedWorld]:
    """A world without nodes; closed with all its nodes."""
    async with rig:
        world = GuardedWorld(rig, folder, storage)
        try:
            yield world
        finally:
            for node in world.nodes:
                await node.close()


def basic(user: str) -> str:
    """The header by which simple authentication knows a user."""
    return f"Basic {base64.b64encode(f'{user}:'.encode()).decode()}"
