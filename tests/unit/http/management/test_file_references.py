"""Which files of a catalog others need, as programs ask it over HTTP, and who may."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from headgate.access.rules import READ_REFERENCES
from headgate.catalog.lake import Lake
from headgate.catalog.reservations import reserve
from headgate.errors import HeadgateError, StorageUnavailable
from headgate.http.management.file_references import (
    PATH,
    ROUTES,
    ReferenceServices,
    reference_surface,
)
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.kernel.records import PointerKey
from headgate.limits import REFERENCES_ASKED_MAX
from headgate.purge import enquiries
from headgate.purge.enquiries import Enquiries
from headgate.purge.referrers import Referrers
from headgate.purge.surveyor import Shared
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, guarded_node, rights
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World
from tests.unit.http.gravitino.control import Believing

SECOND = "second one"

Json = dict[str, Any]


class Needing(Referrers):
    """Tables of other catalogs need whatever they are asked about, as far as that is known."""

    def __init__(self) -> None:
        self.asked: list[tuple[PointerKey, list[str]]] = []
        self.is_down = False
        self.is_needing = True
        self.gate = asyncio.Event()
        self.gate.set()

    async def elsewhere(
        self, own: PointerKey, paths: Sequence[str], principal: str, *, is_lenient: bool = False
    ) -> Shared:
        self.asked.append((own, list(paths)))
        await self.gate.wait()
        if self.is_down:
            raise StorageUnavailable("it is down")
        return Shared(list(paths) if self.is_needing else [])


class Program:
    """A program that looks for orphans."""

    def __init__(self, lake: Lake) -> None:
        self.needing = Needing()
        self.enquiries = Enquiries(self.needing)
        surface = reference_surface(ReferenceServices(lake, self.enquiries))
        self._surface = surface._replace(authenticate=Believing().caller)
        self._router = Router([self._surface])

    async def ask(
        self, body: object, catalog: str = CATALOG, metalake: str = METALAKE, user: str = ""
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        path = PATH.format(metalake=quote(metalake, safe=""), catalog=quote(catalog, safe=""))
        match = self._router.match("POST", path)
        assert isinstance(match, Match), path
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:x'.encode()).decode()}"}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = Request("POST", path, match.params, "", named if user else {}, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    async def refused(self, body: object, **more: str) -> tuple[int, str, str]:
        """Status, type and message of a refusal."""
        status, answer = await self.ask(body, **more)
        return status, answer["error"]["type"], answer["error"]["message"]


@pytest.fixture
async def program(node: Node) -> AsyncIterator[Program]:
    """Of a server that checks no rights."""
    program = Program(node.lake)
    yield program
    await program.enquiries.close()


@pytest.fixture
async def guarded(world: World, node: Node) -> Guarded:
    """A server that checks rights, in a metalake that has an owner."""
    guarded = await guarded_node(world)
    await give_owner(guarded)
    return guarded


async def test_those_that_others_need_are_told_as_they_were_written(
    program: Program, world: World
) -> None:
    """Spellings of one file are told alike; of no path at all nothing is."""
    paths = [f"{prefix}{world.warehouse}/a/x y%20é.parquet" for prefix in ("", "file:", "file://")]

    assert await program.ask({"paths": paths}) == (200, {"referred": paths, "is-known": True})
    assert await program.ask({"paths": []}) == (200, {"referred": [], "is-known": True})


async def test_files_are_looked_for_wherever_they_lie(program: Program, world: World) -> None:
    """A table may lie where its catalog has no place any more."""
    paths = ["/elsewhere/x", f"{world.warehouse}-too/x", "s3://bucket/x", "ftp://host/x", "x", ""]

    _, answer = await program.ask({"paths": paths})

    assert answer == {"referred": paths, "is-known": True}
    assert [asked for _, asked in program.needing.asked] == [paths]


async def test_what_is_not_the_catalogs_to_delete_is_told(program: Program, world: World) -> None:
    """Nobody needs any of these; but only what lies in its own locations are orphans of it."""
    program.needing.is_needing = False
    other = f"{world.folder}/other"
    paths = ["/elsewhere/x", f"{other}/x", f"{world.warehouse}-too/x", "ftp://host/x", "x", ""]

    _, answer = await program.ask({"paths": [*paths, f"{world.warehouse}/x"]})

    assert answer == {"referred": paths, "is-known": True}


async def test_what_lies_in_a_location_that_no_listing_shows_is_told(
    program: Program, node: Node, world: World
) -> None:
    """That of a dropped table which is not purged yet, or of one that is about to be created; in
    the location of a live table or view a file can be an orphan."""
    program.needing.is_needing = False
    made = {"live": await node.table("live"), "dropped": await node.table("dropped")}
    view = await node.view("v")
    folders = {name: one["metadata"]["location"] for name, one in made.items()}
    folders["view"] = view["metadata"]["location"]
    node.planner.gate.clear()
    await node.delete("namespaces/a/tables/dropped?purgeRequested=true")
    opened = await node.opened()
    staged = f"{world.warehouse}/a/staged"
    await node.kernel.realm(opened.realm.id).commit(
        opened.pointer, lambda draft: reserve(draft, [staged], draft.new_id())
    )
    orphans = [f"{folders[name]}/data/x" for name in ("live", "view")]
    hidden = [f"{folders['dropped']}/data/p=1/x", f"{folders['dropped']}/x", f"{staged}/x", staged]

    _, answer = await program.ask({"paths": [*orphans, *hidden, f"{world.warehouse}/a/loose"]})

    assert answer == {"referred": hidden, "is-known": True}
    node.planner.gate.set()
    await node.purges.idle()
    _, answer = await program.ask({"paths": [*orphans, *hidden]})
    assert answer == {"referred": hidden[2:], "is-known": True}


async def test_very_many_files_at_once_are_refused(program: Program) -> None:
    """Others wait meanwhile; nothing is looked for."""
    answer = await program.refused({"paths": ["x"] * (REFERENCES_ASKED_MAX + 1)})

    assert answer[:2] == (400, "BadRequest")
    assert "5,001 paths of 5,001 bytes were sent" in answer[2]
    assert program.needing.asked == []


async def test_who_asks_is_told_that_it_takes_long(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks the same again hears it as soon as it is known."""
    body = {"paths": [f"{world.warehouse}/x"]}
    program.needing.gate.clear()
    with monkeypatch.context() as hasty:
        hasty.setattr(enquiries, "ENQUIRY_SECONDS", 0.0)
        late = await program.ask(body)
    program.needing.gate.set()
    known = await program.ask(body)

    assert late == (200, {"referred": [], "is-known": False})
    assert known == (200, {"referred": body["paths"], "is-known": True})
    assert len(program.needing.asked) == 1


async def test_a_storage_that_does_not_answer_is_no_answer(program: Program) -> None:
    """Nobody may take it for files that are not needed; it is worth asking again."""
    program.needing.is_down = True

    assert await program.refused({"paths": []}) == (503, "StorageUnavailable", "it is down")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "it has no body"),
        (b"{", "Input data was truncated"),
        ([], "Expected `object`, got `array`"),
        ({}, "missing required field `paths`"),
        ({"paths": "/x"}, "Expected `array`, got `str` - at `$.paths`"),
        ({"paths": ["/x", 1]}, "Expected `str`, got `int` - at `$.paths[1]`"),
        ({"paths": [], "path": "/x"}, "unknown field `path`"),
    ],
)
async def test_what_cannot_be_read_is_refused(program: Program, body: object, said: str) -> None:
    """With what is wrong; nothing is looked for."""
    status, kind, message = await program.refused(body)

    assert (status, kind) == (400, "BadRequest")
    assert said in message
    assert program.needing.asked == []


async def test_there_must_be_such_a_catalog(program: Program) -> None:
    """And such a metalake."""
    body: Json = {"paths": []}

    assert (await program.refused(body, catalog="none"))[:2] == (404, "CatalogNotFound")
    assert (await program.refused(body, metalake="none"))[:2] == (404, "MetalakeNotFound")
    assert program.needing.asked == []


async def test_only_owners_may_ask(guarded: Guarded, world: World) -> None:
    """Of the catalog or of its metalake, as for the search itself; no other right is enough."""
    await guarded.users("cora", "ann", "bob", "eve")
    await guarded.groups("staff")
    await guarded.own("catalog", CATALOG, "cora")
    everything = ("use_catalog", "use_schema", "select_table", "modify_table", "create_table")
    await guarded.role("all", rights("metalake", METALAKE, *everything))
    await guarded.assign("ann", "all")
    await guarded.own("schema", f"{CATALOG}.a", "bob")
    program, path = Program(guarded.lake), f"{world.warehouse}/x"

    for user in (OWNER, "cora"):
        status, answer = await program.ask({"paths": [path]}, user=user)
        assert (status, answer["referred"]) == (200, [path]), user
    asked = len(program.needing.asked)
    for user in ("ann", "bob", "eve", "nobody", ADMIN):
        status, kind, said = await program.refused({"paths": [path]}, user=user)
        assert (status, kind) == (403, "Forbidden"), user
        assert path not in said
    assert len(program.needing.asked) == asked


async def test_an_owner_learns_nothing_of_files_outside_of_its_catalog(
    guarded: Guarded, world: World
) -> None:
    """They count as needed, and nothing is asked about them."""
    program, own = Program(guarded.lake), f"{world.warehouse}/x"
    others = ["/elsewhere/x", f"{world.warehouse}-too/x", "s3://bucket/x", "ftp://host/x", ""]

    status, answer = await program.ask({"paths": [*others, own]}, user=OWNER)
    assert (status, answer["referred"]) == (200, [*others, own])
    assert [asked for _, asked in program.needing.asked] == [[own]]


async def test_whether_there_is_a_catalog_is_told_to_who_may_know(guarded: Guarded) -> None:
    """Others hear of one that is not there what they hear of one that is."""
    await guarded.users("eve")
    program = Program(guarded.lake)
    body: Json = {"paths": []}

    absent = await program.refused(body, catalog="none", user="eve")
    hidden = await program.refused(body, user="eve")
    assert (await program.refused(body, catalog="none", user=OWNER))[:2] == (404, "CatalogNotFound")
    assert absent[:2] == hidden[:2] == (403, "Forbidden")
    assert absent[2].replace("none", CATALOG) == hidden[2]


def test_a_question_changes_nothing() -> None:
    """So a server that only reads answers it too."""
    [route] = ROUTES

    assert (route.rule, route.writes) == (READ_REFERENCES, False)
