"""The change log as it is served: pages, filters, who may read it, and how it says no."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headgate.access.auditing import Decision
from headgate.access.rules import READ_CHANGES
from headgate.catalog.changes import ChangeLog
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.lake import Lake
from headgate.errors import HeadgateError
from headgate.http.management.changes import PATH, ROUTES, ChangeServices, change_surface
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.kernel.records import PointerKey
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import METALAKE, OPTIONS, Node, World, opened_world
from tests.unit.http.gravitino.control import Believing


class Recorder:
    """An audit that a test looks into."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)


class Reader:
    """A client of the change log."""

    def __init__(self, lake: Lake) -> None:
        surface = change_surface(ChangeServices(lake, ChangeLog(lake.kernel)))
        self._surface = surface._replace(authenticate=Believing().caller)
        self._router = Router([self._surface])

    async def ask(self, query: str = "", user: str = "", body: object = None) -> tuple[int, Any]:
        """The status and the body of an answer."""
        method = "GET" if body is None else "POST"
        match = self._router.match(method, PATH)
        assert isinstance(match, Match)
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:x'.encode()).decode()}"}
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, PATH, {}, query, named if user else {}, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    async def read(self, query: str = "", user: str = "", body: object = None) -> Any:
        status, answer = await self.ask(query, user, body)
        assert status == 200, answer
        return answer


def told(answer: Any) -> list[tuple[str, str, list[str]]]:
    return [(one["do"], one["kind"], one["name"]) for one in answer["changes"]]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A database and a warehouse, without nodes."""
    async with opened_world(tmp_path) as world:
        yield world


@pytest.fixture
async def node(world: World) -> Node:
    """A node, with a namespace `a`."""
    node = await world.node()
    await node.namespace("a")
    return node


@pytest.fixture
def reader(node: Node) -> Reader:
    """Of a server where everybody may do everything."""
    return Reader(node.lake)


@pytest.fixture
def audit() -> Recorder:
    return Recorder()


@pytest.fixture
async def guarded(world: World, node: Node, audit: Recorder) -> Guarded:
    """A server that checks rights, in a metalake that has an owner."""
    guard = Guard(node.kernel, GuardOptions(is_on=True, admins=frozenset({ADMIN})))
    parts = (node.storage, node.planner, node.workers, world.new_uuid, OPTIONS)
    guarded = Guarded(Lake(node.kernel, *parts, guard=guard, audit=audit))
    await give_owner(guarded)
    return guarded


async def test_a_client_reads_all_in_pages_and_then_what_comes(reader: Reader, node: Node) -> None:
    """`next` of each answer is `since` of the next request."""
    seen, since = [], ""
    while True:
        page = await reader.read(f"limit=1&since={since}")
        seen += told(page)
        since = page["next"]
        if not page["more"]:
            break
    await node.table("t")
    news = await reader.read(f"since={since}")

    assert seen == [
        ("create", "metalake", [METALAKE]),
        ("create", "catalog", ["main"]),
        ("create", "namespace", ["a"]),
    ]
    assert told(news) == [("create", "table", ["a", "t"])]
    assert news["more"] is False


async def test_a_record_says_all_about_an_operation(reader: Reader, node: Node) -> None:
    """What is empty is left out; ids are text."""
    since = (await reader.read("since=now"))["next"]
    await node.table("t")
    [record] = (await reader.read(f"since={since}"))["changes"]
    opened = await node.opened()

    assert record == {
        "position": f"{opened.realm.id}/{opened.pointer}/2.1",
        "commit": str(opened.head.id),
        "time-ms": record["time-ms"],
        "do": "create",
        "kind": "table",
        "name": ["a", "t"],
        "metalake": METALAKE,
        "catalog": "main",
        "by": "anonymous",
    }


async def test_a_kind_and_a_metalake_can_be_chosen(reader: Reader, node: Node) -> None:
    """Others are passed over."""
    await node.kernel.realms.create("second")
    await node.table("t")

    assert told(await reader.read("kind=table")) == [("create", "table", ["a", "t"])]
    assert told(await reader.read("metalake=second")) == [("create", "metalake", ["second"])]


async def test_a_long_cursor_is_sent_as_a_body(reader: Reader, node: Node) -> None:
    """With the same words and the same answers."""
    since = (await reader.read(body={"since": "now", "metalake": METALAKE}))["next"]
    await node.namespace("b")
    wanted = {"since": since, "metalake": METALAKE, "limit": 5, "kind": "namespace"}

    assert told(await reader.read(body=wanted)) == [("create", "namespace", ["b"])]


async def test_a_cursor_is_good_for_what_it_was_given_for(reader: Reader) -> None:
    """One of a metalake is not one of all."""
    since = (await reader.read(f"metalake={METALAKE}"))["next"]
    status, answer = await reader.ask(f"since={since}")

    assert status == 400
    assert "of another metalake" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("since=17", 400, "no cursor that was given out here"),
        ("limit=0", 400, "limit is below 1"),
        ("limit=many", 400, "Expected `int`"),
        ("kind=rolle", 400, "the nearest known one is 'role'"),
        ("kind=zzz", 400, "there is no kind 'zzz'. Use one of table, view"),
        ("sinse=now", 400, "the nearest known one is 'since'"),
        ("metalake=nowhere", 404, "Metalake does not exist: nowhere"),
    ],
)
async def test_what_cannot_be_read_is_refused(
    reader: Reader, query: str, status: int, said: str
) -> None:
    """With what is wrong."""
    answered, answer = await reader.ask(query)

    assert answered == status
    assert said in answer["error"]["message"]


async def test_a_body_is_refused_for_the_same_reasons(reader: Reader) -> None:
    """Unknown kinds and unknown words."""
    for body, said in ({"kind": "rolle"}, "is 'role'"), ({"sinse": "now"}, "field `sinse`"):
        status, answer = await reader.ask(body=body)

        assert status == 400
        assert said in answer["error"]["message"]


async def test_a_cursor_before_the_cut_is_gone(reader: Reader, node: Node) -> None:
    """410, with the oldest that is kept and what to do."""
    since = (await reader.read("since=now"))["next"]
    for name in "bc":
        await node.namespace(name)
    opened = await node.opened()
    key = PointerKey(opened.realm.id, opened.pointer)
    commits = [commit async for commit in node.kernel.log.oldest_first(key)]
    await node.kernel.store.delete(key.realm, [commit.id for commit in commits[:-1]])
    status, answer = await reader.ask(f"since={since}")

    assert (status, answer["error"]["type"]) == (410, "LogCut")
    assert f"oldest kept commit is {commits[-1].id}" in answer["error"]["message"]
    assert "since=oldest" in answer["error"]["message"]


async def test_only_the_owner_and_service_admins_read_it(guarded: Guarded, audit: Recorder) -> None:
    """It names all that is there; who else may see what is no matter. Refusals are recorded."""
    await guarded.users("ann")
    await guarded.role("all", rights("metalake", METALAKE, "use_catalog", "manage_users"))
    await guarded.assign("ann", "all")
    reader = Reader(guarded.lake)
    audit.decisions.clear()

    for query in ("", f"metalake={METALAKE}"):
        answers = {
            user: (await reader.ask(query, user))[0] for user in (OWNER, ADMIN, "ann", "bob")
        }
        assert answers == {OWNER: 200, ADMIN: 200, "ann": 403, "bob": 403}
    refused = [(one.principal, one.metalake, one.why) for one in audit.decisions if not one.allowed]
    lacking = "none of its roles and nothing it owns permits it, by the rule readChanges"
    assert refused == [
        ("ann", "", lacking),
        ("bob", "", lacking),
        ("ann", METALAKE, lacking),
        ("bob", METALAKE, "it is no user of it"),
    ]


async def test_an_owner_reads_of_all_only_what_is_its_own(guarded: Guarded, node: Node) -> None:
    """Without a name; not that there are others, nor what the system does."""
    await node.kernel.realms.create("theirs")
    reader = Reader(guarded.lake)
    own, everything = await reader.read("", OWNER), await reader.read("", ADMIN)

    assert {one["metalake"] for one in own["changes"]} == {METALAKE}
    assert {one["metalake"] for one in everything["changes"]} == {METALAKE, "theirs"}


async def test_rights_and_owners_are_told(guarded: Guarded) -> None:
    """Who was given what by whom, and whose something is now."""
    reader = Reader(guarded.lake)
    since = (await reader.read("since=now", OWNER))["next"]
    await guarded.users("ann")
    await guarded.role("r")
    await guarded.assign("ann", "r")
    await guarded.grant("r", rights("catalog", "main", "use_catalog", deny=["create_table"]))
    await guarded.revoke("r", rights("catalog", "main", "use_catalog"))
    await guarded.own("schema", "main.a", "ann")
    await guarded.unassign("ann", "r")
    news = await reader.read(f"since={since}", OWNER)
    by_do = {(one["do"], one["kind"]): one for one in news["changes"]}

    assert sorted(told(news)) == sorted(
        [
            ("create", "user", ["ann"]),
            ("create", "role", ["r"]),
            ("grant", "user", ["ann"]),
            ("grant", "role", ["r"]),
            ("revoke", "role", ["r"]),
            ("set-owner", "namespace", ["a"]),
            ("revoke", "user", ["ann"]),
        ]
    )
    assert by_do["grant", "role"]["details"]["allow"] == ["use_catalog"]
    assert by_do["grant", "role"]["details"]["deny"] == ["create_table"]
    assert by_do["grant", "user"]["details"] == {"roles": ["r"]}
    assert by_do["set-owner", "namespace"]["catalog"] == "main"
    assert by_do["set-owner", "namespace"]["details"]["owner"] == "ann"
    assert {one["by"] for one in news["changes"]} == {OWNER}


def test_its_routes_name_their_rule() -> None:
    """As documents and tests of all routes want it."""
    assert {route.rule for route in ROUTES} == {READ_CHANGES}
