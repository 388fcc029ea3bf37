"""Lakes for tests: nodes on one database in memory, real local files, requests without sockets."""

import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from msgspec.structs import replace

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalogs import bootstrap, change_catalog
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity, Kind
from headgate.catalog.events import EventBus
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.lake import Lake, LakeOptions
from headgate.catalog.openings import Opened
from headgate.catalog.polling import Validation, per_request
from headgate.catalog.providers import PURGE_SCOPE
from headgate.catalog.purging import PurgeTerms
from headgate.catalog.relations import Relation, find_relation
from headgate.catalog.reports import Reports
from headgate.clock import Clock
from headgate.errors import HeadgateError
from headgate.http.authentication.authenticator import Authenticator, Methods
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.authentication.token_endpoint import SimpleGranter, TokenEndpoint
from headgate.http.iceberg.routes import ROUTES
from headgate.http.iceberg.service import Service
from headgate.http.problems import ICEBERG
from headgate.http.request import Request, Response
from headgate.http.router import Match, Router, Surface
from headgate.kernel.cache import Cache
from headgate.kernel.commit import CommitOptions
from headgate.kernel.kernel import Kernel
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.model.names import Identifier
from headgate.purge.jobs import PURGE_TYPES
from headgate.purge.service import PurgeService
from headgate.storage.gateway import StorageGateway
from headgate.storage.options import StorageOptions
from headgate.testing.kernels import Rig, Snapshot, snapshot
from tests.unit.catalog.outside import CountingStorage, FakePlanner, InlineWorkers
from tests.unit.catalog.purges import purge_workers

TYPES = (*CATALOG_TYPES, *PURGE_TYPES, *MAINTENANCE_TYPES)
OPTIONS = LakeOptions()
UNGUARDED = GuardOptions()
LOCAL = StorageOptions(local_sync=False)
SECRET = b"a secret of thirty-two bytes 123"
METALAKE, CATALOG = "default", "main"
MAIN = CatalogName(METALAKE, CATALOG)

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "data", "required": False, "type": "string"},
    ],
}
VIEW_VERSION: dict[str, Any] = {
    "version-id": 1,
    "timestamp-ms": 0,
    "schema-id": 0,
    "summary": {"engine": "test"},
    "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    "default-namespace": ["a"],
}


class Answer(NamedTuple):
    """A response, read."""

    status: int
    json: Any
    headers: dict[str, str]

    @property
    def error(self) -> tuple[int, str, str]:
        """Status, type and message; all that clients see of an error."""
        error = self.json["error"]
        assert error["code"] == self.status
        return self.status, error["type"], error["message"]

    @property
    def etag(self) -> str:
        return self.headers["etag"]


class Node:
    """One server process, without a port."""

    def __init__(
        self,
        world: "World",
        kernel: Kernel,
        options: LakeOptions,
        guard: GuardOptions,
        validation: Validation,
    ) -> None:
        self.kernel = kernel
        self.storage = CountingStorage(StorageGateway(world.storage, kernel.clock))
        self.planner = FakePlanner()
        self.workers = InlineWorkers()
        self.guard = Guard(kernel, guard)
        self.events = EventBus(f"node-{len(world.nodes)}")
        self.purges = purge_workers(kernel, self.storage, self.planner, self.events)
        self.lake = Lake(
            kernel,
            self.storage,
            self.planner,
            self.workers,
            world.new_uuid,
            options,
            guard=self.guard,
            validation=validation,
            events=self.events,
            purging=PurgeService(self.purges, PurgeTerms()),
        )
        self.reports = Reports(self.lake)
        self.tokens = SimpleTokens(SECRET, kernel.clock)
        service = Service(
            lake=self.lake,
            reports=self.reports,
            tokens=TokenEndpoint(SimpleGranter(self.tokens)),
            answers=Cache(1 << 20),
            metalake=METALAKE,
            catalog=CATALOG,
        )
        self.use(service)

    def use(self, service: Service) -> None:
        """Answer with this service from now on."""
        self.service = service
        by = Authenticator(Methods(self.tokens), self.kernel.clock)
        self.surface = Surface("", ROUTES, service, ICEBERG, by.caller)
        self._router = Router([self.surface])

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: UUID | None = None,
        headers: Mapping[str, str] | None = None,
        catalog: str = f"{METALAKE}.{CATALOG}",
        user: str = "",
    ) -> Answer:
        """Answer a request as a server would. Paths that begin with a slash are whole ones."""
        path, _, query = path.partition("?")
        if not path.startswith("/"):
            path = f"/v1/{catalog}/{path}"
        match = self._router.match(method, path)
        assert isinstance(match, Match), f"{method} {path}"
        raw = body if isinstance(body, bytes) else b"" if body is None else _encode(body)
        request = Request(method, path, match.params, query, dict(headers or {}), raw)
        if key is not None:
            request.headers["idempotency-key"] = str(key)
        if user:
            request.headers["authorization"] = basic(user)
        try:
            await match.authenticate(request)
            response = await match.route.handler(self.service, request)
        except HeadgateError as error:
            response = ICEBERG.answer(error)
        return _answer(response)

    async def opened(self, catalog: str = CATALOG) -> Opened:
        """A catalog as it is now."""
        return await self.lake.open(call(catalog=CatalogName(METALAKE, catalog)))

    async def opened_table(self, name: str = "t", namespace: str = "a") -> Relation:
        """A table as it is stored now."""
        return await find_relation(await self.opened(), Identifier((namespace,), name), Kind.TABLE)

    async def get(self, path: str, **more: Any) -> Answer:
        return await self.send("GET", path, **more)

    async def head(self, path: str, **more: Any) -> int:
        return (await self.send("HEAD", path, **more)).status

    async def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.send("POST", path, body, **more)

    async def delete(self, path: str, **more: Any) -> Answer:
        return await self.send("DELETE", path, **more)

    async def made(self, path: str, body: object = None, **more: Any) -> Any:
        """The body of the answer to a POST that must succeed."""
        answer = await self.post(path, body, **more)
        assert answer.status in {200, 204}, answer
        return answer.json

    async def namespace(self, *levels: str, **properties: str) -> None:
        await self.made("namespaces", {"namespace": levels, "properties": properties})

    async def table(self, name: str = "t", namespace: str = "a", **more: Any) -> Any:
        """A new table, in a namespace that is there."""
        return await self.made(f"namespaces/{namespace}/tables", new_table(name, **more))

    async def view(self, name: str = "v", namespace: str = "a", **more: Any) -> Any:
        """A new view, in a namespace that is there."""
        return await self.made(f"namespaces/{namespace}/views", new_view(name, **more))

    async def load(self, name: str = "t", namespace: str = "a") -> Any:
        answer = await self.get(f"namespaces/{namespace}/tables/{name}")
        assert answer.status == 200, answer
        return answer.json

    async def purge_in(self, scope: str, catalog: str = CATALOG) -> None:
        """Let a catalog's owner say where purges delete."""
        said = {PURGE_SCOPE: scope}
        where = call(catalog=CatalogName(METALAKE, catalog))
        await change_catalog(
            self.kernel, where, lambda old: replace(old, properties=old.properties | said)
        )

    async def close(self) -> None:
        await self.purges.close()
        await self.reports.close()


class World:
    """A database, a warehouse, and the nodes that share them."""

    def __init__(self, rig: Rig, folder: Path, storage: StorageOptions) -> None:
        self.rig = rig
        self.folder = folder
        self.warehouse = (folder / "warehouse").as_posix()
        self.storage = storage
        self.nodes: list[Node] = []
        self.properties: dict[str, str] = {}
        """Of the first catalog."""
        self.new_uuid: Callable[[], str] = lambda: str(uuid4())

    async def node(
        self,
        options: LakeOptions = OPTIONS,
        commit: CommitOptions = CommitOptions(),
        guard: GuardOptions = UNGUARDED,
        validate: Callable[[Kernel], Validation] = per_request,
        clock: Clock | None = None,
    ) -> Node:
        """Another node, perhaps with a clock of its own; it knows nothing yet."""
        kernel = await self.rig.open(types=TYPES, commit=commit, clock=clock)
        if not self.nodes:
            first = CatalogEntity(0, CATALOG, self.warehouse, self.properties)
            await bootstrap(kernel, METALAKE, first)
        node = Node(self, kernel, options, guard, validate(kernel))
        self.nodes.append(node)
        return node

    def files(self) -> set[str]:
        """All files there are, by their path."""
        walk = os.walk(self.folder)  # unlike a glob it does not mind folders that go meanwhile
        return {f"{folder}/{name}" for folder, _, names in walk for name in names}

    async def state(self) -> tuple[Snapshot, set[str]]:
        """All there is, to compare what was before with what is after."""
        return await snapshot(self.rig.memory), self.files()


@asynccontextmanager
async def opened_world(folder: Path, storage: StorageOptions = LOCAL) -> AsyncIterator[World]:
    """A world without nodes; closed with all its nodes."""
    async with Rig() as rig:
        world = World(rig, folder, storage)
        try:
            yield world
        finally:
            for node in world.nodes:
                await node.close()


def call(key: UUID | None = None, catalog: CatalogName = MAIN) -> Call:
    """A call of nobody in particular."""
    return Call(catalog, key=key.bytes if key else b"")


def basic(user: str) -> str:
    """The header by which a request says who sends it."""
    return f"Basic {b64encode(f'{user}:'.encode()).decode()}"


def new_table(name: str = "t", **more: Any) -> dict[str, Any]:
    """What a client sends to create a table."""
    given = {member.replace("_", "-"): value for member, value in more.items()}
    return {"name": name, "schema": SCHEMA, **given}


def new_view(name: str = "v", **more: Any) -> dict[str, Any]:
    """What a client sends to create a view."""
    given = {member.replace("_", "-"): value for member, value in more.items()}
    return {
        "name": name,
        "schema": SCHEMA,
        "view-version": VIEW_VERSION,
        "properties": {},
        **given,
    }


def commit(
    updates: Sequence[Mapping[str, Any]],
    requirements: Sequence[Mapping[str, Any]] = (),
    table: str | None = None,
    namespace: str = "a",
) -> dict[str, Any]:
    """What a client sends to change a table; with a name, as a part of a transaction."""
    body: dict[str, Any] = {"requirements": list(requirements), "updates": list(updates)}
    if table is not None:
        body["identifier"] = {"namespace": [namespace], "name": table}
    return body


def set_properties(**properties: str) -> dict[str, Any]:
    """The update that sets properties; underscores are written as dots."""
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return {"action": "set-properties", "updates": named}


def append(metadata: Mapping[str, Any], id: int) -> list[dict[str, Any]]:
    """The updates that add a snapshot to what a client has loaded."""
    snapshot: dict[str, Any] = {
        "snapshot-id": id,
        "timestamp-ms": metadata["last-updated-ms"] + 1,
        "summary": {"operation": "append"},
        "manifest-list": f"{metadata['location']}/metadata/snap-{id}.avro",
        "schema-id": 0,
        "sequence-number": metadata["last-sequence-number"] + 1,
    }
    if metadata.get("current-snapshot-id", -1) != -1:
        snapshot["parent-snapshot-id"] = metadata["current-snapshot-id"]
    return [
        {"action": "add-snapshot", "snapshot": snapshot},
        {
            "action": "set-snapshot-ref",
            "ref-name": "main",
            "type": "branch",
            "snapshot-id": id,
        },
    ]


def at_snapshot(id: int | None) -> dict[str, Any]:
    """The requirement that the main branch is at this snapshot."""
    return {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": id}


def staged_commit(metadata: Mapping[str, Any], location: str | None = None) -> dict[str, Any]:
    """What a client commits to create a table that it staged before."""
    updates: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": metadata["format-version"]},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location or metadata["location"]},
        {"action": "set-properties", "updates": metadata["properties"]},
    ]
    return commit(updates, [{"type": "assert-create"}])


def _encode(body: object) -> bytes:
    return json.dumps(body).encode()


def _answer(response: Response) -> Answer:
    raw = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    body = json.loads(raw) if raw else None
    return Answer(response.status, body, {name.lower(): value for name, value in response.headers})
