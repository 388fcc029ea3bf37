"""A whole server with things that small callers may not know, and the callers."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx
import pytest

from headgate.access.privileges import Privilege as Right
from headgate.access.privileges import names_of
from headgate.application import load_application
from headgate.catalog.calls import ITSELF, Call, CatalogName
from headgate.catalog.entities import FunctionEntity
from headgate.catalog.functions import create_function
from headgate.catalog.ports import Files
from headgate.http import database_reads
from headgate.http.front import Front
from headgate.http.iceberg.service import Service
from headgate.http.router import Surface
from headgate.model.names import Identifier
from headgate.settings.loading import load
from headgate.storage.gateway import StorageGateway
from tests.authorization.guarded import ADMIN, basic
from tests.authorization.hidden_requests import Shape
from tests.unit.catalog.lakes import new_table, new_view

HIDDEN, ABSENT, OWN = "hidden", "absent", "own"
LAKE = "/api/metalakes/default"
SETTINGS = (
    "authorization.enabled=true",
    f"authorization.service-admins={ADMIN}",
    "purger.async.grace-period-ms=3600000",
    "maintenance.enabled=false",
    "log.access=false",
)
_VARYING = {"date", "x-request-id"}
_SCHEMA = Right.USE_CATALOG | Right.USE_SCHEMA
CALLERS: dict[str, dict[str, Right]] = {
    "stranger": {},
    "member": {},
    "browser": {"catalog/main": Right.USE_CATALOG},
    "guest": {"catalog/main": Right.USE_CATALOG, "schema/main.mine": Right.USE_SCHEMA},
    "maker": {
        "catalog/main": Right.USE_CATALOG,
        "schema/main.mine": Right.USE_SCHEMA | Right.CREATE_TABLE | Right.CREATE_VIEW,
    },
    "owner": {"catalog/main": Right.USE_CATALOG},
    "roler": {"metalake/default": Right.CREATE_ROLE},
    "tenant": {},
}
"""What each may. `stranger` is in no metalake, `owner` owns a schema, `tenant` a catalog."""


class Heard(NamedTuple):
    """What a caller can tell of an answer; names are normalised."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


class Work(NamedTuple):
    """What an answer cost."""

    database_reads: int
    storage_calls: int


class _CountingStorage(StorageGateway):
    """Counts what is asked of storage."""

    calls: Counter[str] = Counter()

    def files(self, roots: tuple[str, ...]) -> Files:
        inner = super().files(roots)

        class Counting:
            def __getattr__(self, name: str) -> Any:
                _CountingStorage.calls[name] += 1
                return getattr(inner, name)

        counting: Any = Counting()
        return cast(Files, counting)


class HiddenWorld:
    """The server, and what is in it."""

    def __init__(self, front: Front, client: httpx.AsyncClient) -> None:
        self.surfaces: Sequence[Surface] = front._router.surfaces
        self.client = client
        self.values: dict[str, dict[str, str]] = {}
        """Placeholder -> what stands for it if it is the caller's own, hidden or absent."""
        self.normal: list[tuple[str, str]] = []
        """Texts that differ by nature -> what they are compared as."""

    async def must(self, method: str, path: str, body: object = None) -> Any:
        """The answer to the admin, which is a success."""
        sent = {"authorization": basic(ADMIN)}
        answer = await self.client.request(method, path, json=body, headers=sent)
        assert answer.is_success, (method, path, body, answer.text)
        return answer.json() if answer.content else None

    async def hear(self, user: str, shape: Shape, chosen: Mapping[str, str]) -> tuple[Heard, Work]:
        """What a caller is answered if placeholders stand for the values of these columns."""
        values = {name: self.values[name][column] for name, column in chosen.items()}
        if user == "tenant" and values.get("catalog") == "main":
            values["catalog"] = "theirs"
        body = _filled(shape.body, values)
        sent: dict[str, Any] = {}
        if isinstance(body, str):
            sent = {"content": body, "headers": {"content-type": shape.route.request_content}}
        elif body is not None:
            sent = {"json": body}
        headers = {**sent.pop("headers", {}), "authorization": basic(user)}
        url = str(_filled(shape.path + (f"?{shape.query}" if shape.query else ""), values))
        _CountingStorage.calls.clear()
        answer = await self.client.request(shape.route.method, url, headers=headers, **sent)
        reads = database_reads._of_request.get()
        assert reads is not None
        work = Work(reads.count, _CountingStorage.calls.total())
        return self._heard(answer), work

    def _heard(self, answer: httpx.Response) -> Heard:
        headers = sorted(
            (name, value) for name, value in answer.headers.items() if name not in _VARYING
        )
        body = answer.text
        for text, normal in self.normal:
            body = body.replace(text, normal)
        return Heard(answer.status_code, tuple(headers), body)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A body or path with values for its placeholders."""
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    if isinstance(value, dict):
        return {name: _filled(one, values) for name, one in value.items()}
    return value


@asynccontextmanager
async def hidden_world(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[HiddenWorld]:
    """A server in this process, with all of its surfaces."""
    patch.setattr("headgate.application.StorageGateway", _CountingStorage)
    settings = load(flags={"data": str(folder / "data")}, sets=list(SETTINGS))
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(load_application(settings, None))
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(front), base_url="http://localhost"
        )
        world = HiddenWorld(front, await stack.enter_async_context(client))
        await _furnish(world)
        yield world


async def _furnish(world: HiddenWorld) -> None:
    await world.must("POST", "/api/metalakes", {"name": HIDDEN})
    for metalake in ("default", HIDDEN):
        lake = f"/api/metalakes/{metalake}"
        for catalog in ("main", HIDDEN, "theirs"):
            if (metalake, catalog) != ("default", "main"):
                await world.must("POST", f"{lake}/catalogs", _catalog(catalog))
            await _fill(world, CatalogName(metalake, catalog))
        for name in (HIDDEN, OWN):
            await world.must("POST", f"{lake}/roles", {"name": name, "securableObjects": []})
            await world.must("POST", f"{lake}/users", {"name": name})
            await world.must("POST", f"{lake}/groups", {"name": name})
    for caller, rights in CALLERS.items():
        await _admit(world, caller, rights)
    await _own(world, "owner", "schema/main.mine")
    await _own(world, "tenant", "catalog/theirs")
    await _name_all(world)


def _catalog(name: str) -> dict[str, object]:
    return {"name": name, "type": "relational", "provider": "lakehouse-iceberg"}


async def _fill(world: HiddenWorld, catalog: CatalogName) -> None:
    """The same in each catalog: two schemas, one of which is hidden, and what is in them."""
    url = f"/iceberg/v1/{catalog}/namespaces"
    lake = next(one.services for one in world.surfaces if isinstance(one.services, Service)).lake
    for schema in ("mine", HIDDEN):
        await world.must("POST", url, {"namespace": [schema]})
        for name in (OWN, HIDDEN):
            await world.must("POST", f"{url}/{schema}/tables", new_table(name))
            await world.must("POST", f"{url}/{schema}/views", new_view(f"{name}_v"))
            opened = await lake.open(Call(catalog, ITSELF))
            named = Identifier((schema,), f"{name}_f")
            await create_function(lake, opened, named, FunctionEntity(b"{}"))
    await world.must("POST", url, {"namespace": [HIDDEN, "inner"]})


async def _admit(world: HiddenWorld, caller: str, rights: Mapping[str, Right]) -> None:
    if caller == "stranger":
        return
    await world.must("POST", f"{LAKE}/users", {"name": caller})
    role = f"{caller}_role"
    await world.must("POST", f"{LAKE}/roles", {"name": role, "securableObjects": []})
    for place, right in rights.items():
        given = [{"name": name, "condition": "allow"} for name in names_of(right)]
        url = f"{LAKE}/permissions/roles/{role}/{place}/grant"
        await world.must("PUT", url, {"privileges": given})
    url = f"{LAKE}/permissions/users/{caller}/grant"
    await world.must("PUT", url, {"roleNames": [role]})


async def _own(world: HiddenWorld, caller: str, place: str) -> None:
    await world.must("PUT", f"{LAKE}/owners/{place}", {"name": caller, "type": "USER"})


async def _name_all(world: HiddenWorld) -> None:
    """What placeholders stand for."""
    tables = "/iceberg/v1/default.main/namespaces/hidden/tables"
    hidden = await world.must("GET", f"{tables}/{HIDDEN}")
    file, place = hidden["metadata-location"], hidden["metadata"]["location"]
    own = await world.must("GET", "/iceberg/v1/default.main/namespaces/mine/tables/own")
    near = await world.must("GET", f"{tables.replace('/hidden/', '/mine/')}/{HIDDEN}")
    files = [file, near["metadata-location"]]
    missing, missing_near = [one.replace("00000-", "99999-") for one in files]
    warehouse, _, below = place.partition("/warehouse/")
    elsewhere = f"{warehouse}/warehouse/{below.replace(HIDDEN, ABSENT)}"
    await world.must("POST", tables, new_table("dropped"))
    await world.must("DELETE", f"{tables}/dropped?purgeRequested=true")
    [job] = [one["id"] for one in (await world.must("GET", "/management/v1/jobs"))["jobs"]]
    no_job = str(int(job) + 1)
    named = {"metalake": "default", "catalog": "main", "schema": "mine"}
    plain = ("metalake", "catalog", "schema", "table", "role", "user", "group")
    world.values |= {
        **{kind: _columns(named.get(kind, OWN)) for kind in plain},
        "view": {one: f"{one}_v" for one in (OWN, HIDDEN, ABSENT)},
        "function": {one: f"{one}_f" for one in (OWN, HIDDEN, ABSENT)},
        "job": {OWN: job, HIDDEN: job, ABSENT: no_job},
        "file": {
            OWN: own["metadata-location"],
            HIDDEN: file,
            ABSENT: missing,
            "near": files[1],
            "missing near": missing_near,
        },
        "place": {OWN: own["metadata"]["location"], HIDDEN: place, ABSENT: elsewhere},
    }
    for one in ("hidden:inner", "absent:inner", "hidden:other", "hidden.inner", "absent.inner"):
        world.values["schema"][one] = one
    world.values["target"] = {OWN: "new", HIDDEN: HIDDEN, ABSENT: ABSENT}
    for kind in ("metalake", "catalog", "schema", "role"):
        world.values[f"target_{kind}"] = world.values[kind]
    world.normal = [(one, "FILE") for one in (*files, missing, missing_near)]
    world.normal += [(job, "JOB"), (no_job, "JOB")]
    world.normal += [(HIDDEN, ABSENT), ("inner", "other")]


def _columns(own: str) -> dict[str, str]:
    return {OWN: own, HIDDEN: HIDDEN, ABSENT: ABSENT}
