"""Gravitino's protocol without a port: requests in, answers out."""

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from headgate.catalog.calls import Caller
from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.guards import GuardOptions
from headgate.catalog.lake import Lake
from headgate.errors import HeadgateError
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES, ROUTES
from headgate.http.gravitino.service import Gravitino
from headgate.http.request import Request
from headgate.http.router import Match, Router, Surface
from headgate.server_settings import real_location
from tests.unit.catalog.lakes import Node, World

ADMIN = "root"
NOWHERE = CatalogPlaces()
V1 = "application/vnd.gravitino.v1+json"


class Answer(NamedTuple):
    """A response, read."""

    status: int
    json: Any
    headers: dict[str, str]

    @property
    def error(self) -> tuple[int, int, str]:
        """Status, code and type: what clients choose their exception by."""
        assert self.json["message"]
        return self.status, self.json["code"], self.json["type"]


class Believing:
    """Takes everybody for whom it says it is; groups come behind a slash: `ann/staff,ops`."""

    async def caller(self, request: Request) -> Caller:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return Caller()
        user, _, groups = base64.b64decode(value).decode().partition(":")[0].partition("/")
        return Caller(user, tuple(filter(None, groups.split(","))))


class Control:
    """One node, asked in Gravitino's protocol."""

    def __init__(
        self,
        node: Node,
        *,
        has_authorization: bool = False,
        places: CatalogPlaces = NOWHERE,
    ) -> None:
        self.node = node
        self.lake: Lake = node.lake
        service = Gravitino(
            lake=node.lake,
            check=node.kernel.realms.list,
            places=places,
            configs={"gravitino.authorization.enable": has_authorization},
            has_authorization=has_authorization,
        )
        self.use(service)

    def use(self, service: Gravitino) -> None:
        """Answer with this service from now on."""
        self.service = service
        self._router = Router(
            [
                Surface("/api", ROUTES, service, GRAVITINO, Believing().caller),
                Surface("", ROOT_ROUTES, service, GRAVITINO, Believing().caller),
            ]
        )

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Answer a request as a server would. Paths without a slash are below /api/metalakes."""
        path, _, query = path.partition("?")
        if not path.startswith("/"):
            path = f"/api/metalakes/{path}"
        match = self._router.match(method, path)
        assert isinstance(match, Match), f"{method} {path}"
        raw = body if isinstance(body, bytes) else b"" if body is None else _encode(body)
        named = {"accept": V1, **(headers or {})}
        if user:
            named["authorization"] = f"Basic {base64.b64encode(f'{user}:x'.encode()).decode()}"
        request = Request(method, path, match.params, query, named, raw, id="r1")
        try:
            await match.authenticate(request)
            response = await match.route.handler(self.service, request)
        except HeadgateError as error:
            response = GRAVITINO.answer(error)
        whole = response.body if isinstance(response.body, bytes) else b"".join(response.body)
        return Answer(
            response.status,
            json.loads(whole) if whole else None,
            {name.lower(): value for name, value in response.headers},
        )

    async def get(self, path: str, **more: Any) -> Answer:
        return await self.send("GET", path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.send("POST", path, body, **more)

    async def put(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.send("PUT", path, body, **more)

    async def patch(self, path: str, body: object = None, **more: Any) -> Answer:
        return await self.send("PATCH", path, body, **more)

    async def delete(self, path: str, **more: Any) -> Answer:
        return await self.send("DELETE", path, **more)

    async def done(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        """The body of the answer to a request that must succeed."""
        answer = await self.send(method, path, body, **more)
        assert (answer.status, answer.json.get("code")) == (200, 0), answer
        return answer.json


async def open_node(world: World) -> Control:
    """A node where everybody may do everything."""
    return Control(await world.node(), places=places_in(world))


async def guarded_node(world: World) -> Control:
    """A node that checks rights. Whoever is its service admin owns what has no owner."""
    guard = GuardOptions(is_on=True, admins=frozenset({ADMIN}))
    node = await world.node(guard=guard)
    return Control(node, has_authorization=True, places=places_in(world))


def places_in(world: World) -> CatalogPlaces:
    """Where callers may create catalogs: below `warehouses`, and in `shared`."""
    folder = world.folder.as_posix()
    return CatalogPlaces(f"file://{folder}/warehouses", (f"{folder}/shared",), real_location)


def _encode(body: object) -> bytes:
    return json.dumps(body).encode()
