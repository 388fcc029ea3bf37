"""Metalakes that are moved over HTTP: what is answered, and who may ask."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from headgate.access.rules import Rule
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.guards import GuardOptions
from headgate.errors import BadRequest, HeadgateError
from headgate.http.management.realm_exports import ExportServices, export_surface
from headgate.http.management.realm_messages import IMPORTS, ExportOutline, ExportRows
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.portage.locations import LocationChecks
from headgate.portage.pieces import Piece, token_of
from headgate.portage.rows import Facts, Row, facts_of
from tests.unit.catalog.lakes import METALAKE, Node, World
from tests.unit.http.gravitino.control import ADMIN, Believing
from tests.unit.portage.moves import ANYWHERE, vanish

EXPORT = f"/management/v1/metalakes/{METALAKE}/export"


class Client:
    """An operator who asks over HTTP, without a port."""

    def __init__(self, node: Node, checks: LocationChecks = ANYWHERE) -> None:
        self.kernel = node.kernel
        self._lake = node.lake
        surface = export_surface(ExportServices(node.kernel, self._admit, checks))
        self._surface = surface._replace(authenticate=Believing().caller)
        self._router = Router([self._surface])

    async def _admit(self, request: Request, rule: Rule) -> None:
        await outsiders.require(self._lake, Call(CatalogName("", ""), request.caller), rule)

    async def ask(
        self, method: str, path: str, body: object = None, user: str = ADMIN, **query: str
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        match = self._router.match(method, path)
        assert isinstance(match, Match), path
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:'.encode()).decode()}"}
        raw = b"" if body is None else msgspec.json.encode(body)
        request = Request(method, path, match.params, urlencode(query), named, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, msgspec.json.decode(answer.body)

    async def outline(self) -> ExportOutline:
        return msgspec.convert((await self.ask("GET", EXPORT))[1], ExportOutline)

    async def rows(self, pieces: list[str]) -> list[Row]:
        """All rows of these pieces."""
        found: list[Row] = []
        for piece in pieces:
            rest: str | None = piece
            while rest is not None:
                _, answer = await self.ask("GET", f"{EXPORT}/rows", piece=rest)
                page = msgspec.convert(answer, ExportRows)
                found += page.rows
                rest = page.rest
        return found


@pytest.fixture
async def guarded(world: World, node: Node) -> Client:
    """Of a server that checks rights."""
    await node.table()
    return Client(await world.node(guard=GuardOptions(is_on=True, admins=frozenset({ADMIN}))))


async def test_a_metalake_is_read_in_pieces_and_filled_in_batches(guarded: Client) -> None:
    """From the first request to the last, and each of those that write may be repeated."""
    found = await guarded.outline()
    rows = await guarded.rows(found.pieces)
    facts = facts_of(rows)
    await vanish(guarded.kernel)

    wanted = {"realm": found.realm, "facts": facts}
    status, begun = await guarded.ask("POST", IMPORTS, wanted)
    assert (status, begun["name"], begun["state"]) == (200, METALAKE, "LOADING")
    assert await guarded.ask("POST", IMPORTS, wanted) == (200, begun)
    path = f"{IMPORTS}/{begun['id']}"
    for _ in range(2):
        assert await guarded.ask("POST", f"{path}/rows", {"rows": rows}) == (200, {})
    assert facts_of(await guarded.rows((await guarded.outline()).pieces)) == facts
    end = {"content": facts.content, "state": "ACTIVE"}
    status, ended = await guarded.ask("POST", f"{path}/finish", end)

    assert (status, ended) == (200, {**begun, "state": "ACTIVE"})


async def test_an_unfinished_import_is_cleared_away(guarded: Client) -> None:
    """By its name or its id; once more there is nothing."""
    wanted = {"realm": {"name": "x", "state": "ACTIVE"}, "facts": Facts()}
    _, begun = await guarded.ask("POST", IMPORTS, wanted)

    assert await guarded.ask("DELETE", f"{IMPORTS}/x") == (200, {**begun, "state": "DELETED"})
    assert (await guarded.ask("DELETE", f"{IMPORTS}/x"))[0] == 404


async def test_only_service_admins_may(guarded: Client) -> None:
    """Not even the owner of the metalake: there is everything in it."""
    piece = (await guarded.outline()).pieces[0]
    wanted = {"realm": {"name": "x", "state": "ACTIVE"}, "facts": Facts()}
    end = {"content": "", "state": "ACTIVE"}
    answers = [
        await guarded.ask("GET", EXPORT, user="ann"),
        await guarded.ask("GET", f"{EXPORT}/rows", user="ann", piece=piece),
        await guarded.ask("POST", IMPORTS, wanted, user="ann"),
        await guarded.ask("POST", f"{IMPORTS}/1/rows", {"rows": []}, user="ann"),
        await guarded.ask("POST", f"{IMPORTS}/1/finish", end, user="ann"),
        await guarded.ask("DELETE", f"{IMPORTS}/1", user="ann"),
    ]

    assert [status for status, _ in answers] == [403] * 6


@pytest.mark.parametrize("piece", ["", "x", "!!", "kg", token_of(Piece("root", 1))[:-4]])
async def test_a_piece_that_no_outline_has_is_refused(guarded: Client, piece: str) -> None:
    """Whatever it is."""
    status, answer = await guarded.ask("GET", f"{EXPORT}/rows", piece=piece)

    assert (status, "Invalid piece" in answer["error"]["message"]) == (400, True)


async def test_a_head_that_is_gone_is_a_conflict(guarded: Client) -> None:
    """A sweep was faster: the export begins anew."""
    status, answer = await guarded.ask("GET", f"{EXPORT}/rows", piece=token_of(Piece("root", 17)))

    assert (status, answer["error"]["type"]) == (409, "Conflict")


async def test_what_is_not_there_is_not_found(guarded: Client, tmp_path: Path) -> None:
    """Nor is an import that nobody began."""
    status, answer = await guarded.ask("GET", "/management/v1/metalakes/nowhere/export")
    assert status == 404
    assert answer["error"]["message"].startswith("Metalake does not exist: nowhere. ")
    assert (await guarded.ask("POST", f"{IMPORTS}/1/rows", {"rows": []}))[0] == 404


async def test_an_import_lies_only_where_callers_may_create_catalogs(
    world: World, node: Node
) -> None:
    """Bad request, before there is a metalake and once more before it serves."""

    def check(location: str) -> None:
        raise BadRequest(f"Location is not allowed: {location}")

    client = Client(node, LocationChecks(check))
    wanted = {
        "realm": {"name": "x", "state": "ACTIVE"},
        "facts": Facts(places=("file:///etc",)),
    }
    status, answer = await client.ask("POST", IMPORTS, wanted)

    assert status == 400
    assert "'x' cannot be imported: Location is not allowed: file:///etc" in str(answer)
    assert "x" not in [realm.name for realm in await node.kernel.realms.list()]
