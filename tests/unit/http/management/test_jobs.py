"""Purge jobs as they are served: lists, one job, steering, undrop, who may, and how it says no."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headgate.access.auditing import Decision
from headgate.access.rules import MANAGE_JOBS, READ_JOBS, UNDROP_TABLE
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.lake import Lake
from headgate.catalog.purging import LiveJob, begin_job
from headgate.errors import HeadgateError
from headgate.http.management.jobs import PATH, ROUTES, JobServices, job_surface
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.purge.inspecting import Inspector
from headgate.purge.jobs import Failed, JobRow, State
from headgate.purge.steering import Steering
from tests.unit.catalog.dropping import HOUR_MS, drop, loaded
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import CATALOG, METALAKE, OPTIONS, Node, World, opened_world
from tests.unit.http.gravitino.control import Believing
from tests.unit.purge.rows import write_row

USE = rights("catalog", CATALOG, "use_catalog", "use_schema")


class Recorder:
    """An audit that a test looks into."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)


class Operator:
    """A client of the jobs."""

    def __init__(self, lake: Lake) -> None:
        self.woken: list[LiveJob] = []
        inspector = Inspector(lake.kernel)
        steering = Steering(lake.kernel, inspector)
        services = JobServices(lake, inspector, steering, Believing().caller, self.woken.append)
        self._surface = job_surface(services)
        self._router = Router([self._surface])

    async def ask(
        self, path: str = "", user: str = "", method: str = "GET", body: object = None
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        path, _, query = f"{PATH}{path}".partition("?")
        match = self._router.match(method, path)
        assert isinstance(match, Match), path
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:x'.encode()).decode()}"}
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, match.params, query, named if user else {}, raw, id="r-1")
        try:
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    async def read(self, path: str = "", user: str = "") -> Any:
        status, answer = await self.ask(path, user)
        assert status == 200, answer
        return answer

    async def post(self, path: str, user: str = "", body: object = None) -> tuple[int, Any]:
        return await self.ask(path, user, "POST", body)

    async def refused(self, path: str, user: str = "", body: object = None) -> tuple[int, str, str]:
        """Status, type and message of a refusal."""
        status, answer = await self.post(path, user, body)
        return status, answer["error"]["type"], answer["error"]["message"]


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
def operator(node: Node) -> Operator:
    """Of a server where everybody may do everything."""
    return Operator(node.lake)


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


async def dropped(node: Node, name: str = "t", grace_ms: int = 0) -> str:
    """A table that was dropped; the id of its job, as it is shown."""
    await node.table(name)
    return str(await drop(node, name, grace_ms))


async def test_a_job_tells_all_of_it(operator: Operator, node: Node) -> None:
    """Ids are text, times are milliseconds, and what nobody knows is null."""
    job = await dropped(node)
    row = JobRow(
        State.DEAD_LETTER,
        attempts=5,
        owner="host:7",
        error="1 file cannot be deleted",
        started_ms=1_000,
        updated_ms=4_000,
        elapsed_ms=3_000,
        claimed_ms=2_000,
        deleted=9,
        missing=1,
        expected=11,
        bytes=900,
        failed=1,
        ledger=(Failed("file:/x", "it is stuck"),),
    )
    found = await write_row(node, int(job), row)
    shown = await operator.read(f"/{job}")

    assert shown == {
        "id": job,
        "metalake": METALAKE,
        "catalog": CATALOG,
        "table": ["a", "t"],
        "metadata-location": found.live.job.metadata_location,
        "state": "DEAD_LETTER",
        "purger": "async",
        "attempts": 5,
        "phase": "",
        "files-deleted": 9,
        "files-missing": 1,
        "files-expected": 11,
        "files-failed": 1,
        "bytes-deleted": 900,
        "files-per-second": 4.5,
        "estimated-end-ms": None,
        "error": "1 file cannot be deleted",
        "worker": "host:7",
        "dropped-by": "anonymous",
        "request": "",
        "created-ms": found.live.job.created_ms,
        "grace-end-ms": None,
        "can-undrop": False,
        "started-ms": 1_000,
        "updated-ms": 4_000,
        "next-attempt-ms": None,
        "elapsed-ms": 3_000,
        "ledger": [{"path": "file:/x", "why": "it is stuck"}],
    }
    [listed] = (await operator.read())["jobs"]
    assert listed == {name: value for name, value in shown.items() if name != "ledger"}


async def test_jobs_are_listed_in_pages_and_chosen(operator: Operator, node: Node) -> None:
    """`next-page-token` of each answer is `page-token` of the next request."""
    jobs = [await dropped(node, name) for name in ("t1", "t2", "t3")]
    await write_row(node, int(jobs[1]), JobRow(State.RUNNING))
    seen, token = [], ""
    while True:
        page = await operator.read(f"?limit=2&page-token={token}")
        seen += [one["id"] for one in page["jobs"]]
        token = page["next-page-token"]
        if token is None:
            break
    running = await operator.read(f"?metalake={METALAKE}&catalog={CATALOG}&state=running")

    assert seen == jobs[::-1]
    assert [one["id"] for one in running["jobs"]] == [jobs[1]]
    assert (await operator.read("?catalog=other"))["jobs"] == []


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("?limit=0", 400, "limit is below 1"),
        ("?limit=many", 400, "Expected `int`"),
        ("?state=runing", 400, "the nearest known one is RUNNING"),
        ("?page-token=x", 400, "it is no whole number of 64 bits"),
        ("?sate=RUNNING", 400, "unknown field `sate`"),
        ("?metalake=nowhere", 404, "Metalake does not exist: nowhere"),
        ("/abc", 400, "Invalid job id: 'abc'"),
        ("/-1", 400, "it is no whole number of 64 bits"),
        ("/17", 404, "Job does not exist: 17"),
    ],
)
async def test_what_cannot_be_read_is_refused(
    operator: Operator, query: str, status: int, said: str
) -> None:
    """With what is wrong and what to do."""
    answered, answer = await operator.ask(query)

    assert answered == status
    assert said in answer["error"]["message"]


@pytest.mark.parametrize("verb", ["retry", "cancel", "undrop"])
async def test_a_job_that_is_not_there_cannot_be_steered(operator: Operator, verb: str) -> None:
    """404 for one that may have been, 400 for what cannot be an id."""
    status, kind, said = await operator.refused(f"/17/{verb}")

    assert (status, kind) == (404, "JobNotFound")
    assert "`headgate jobs list` shows those that are kept" in said
    assert (await operator.refused(f"/x/{verb}"))[:2] == (400, "BadRequest")


async def test_a_job_is_tried_again_and_the_workers_are_told(
    operator: Operator, node: Node
) -> None:
    """They need not wait for their next look."""
    job = await dropped(node)
    await write_row(node, int(job), JobRow(State.DEAD_LETTER, attempts=5))
    status, answer = await operator.post(f"/{job}/retry")

    assert (status, answer["state"], answer["attempts"]) == (200, "PENDING", 0)
    assert [one.id for one in operator.woken] == [int(job)]


async def test_a_job_is_given_up_once(operator: Operator, node: Node) -> None:
    """The second time it has ended; so it has for a retry and an undrop."""
    job = await dropped(node)
    status, answer = await operator.post(f"/{job}/cancel")
    assert (status, answer["state"], answer["error"]) == (
        200,
        "CANCELLED",
        "cancelled by anonymous",
    )

    for verb in ("cancel", "retry", "undrop"):
        status, kind, said = await operator.refused(f"/{job}/{verb}")
        assert (status, kind) == (409, "Conflict"), said
    assert (await operator.read(f"/{job}"))["state"] == "CANCELLED"


async def test_a_table_is_undropped_exactly(operator: Operator, node: Node) -> None:
    """Loading it answers byte for byte what it did before."""
    await node.table()
    before = await loaded(node)
    job = await drop(node)
    assert (await operator.read(f"/{job}"))["can-undrop"] is True
    status, answer = await operator.post(f"/{job}/undrop")

    assert (status, answer) == (200, {"metalake": METALAKE, "catalog": CATALOG, "name": ["a", "t"]})
    assert await loaded(node) == before
    assert (await operator.ask(f"/{job}"))[0] == 404


async def test_a_table_is_undropped_under_another_name(operator: Operator, node: Node) -> None:
    """If its own is taken by now, the refusal says so."""
    job = await dropped(node, grace_ms=HOUR_MS)
    await node.table()
    status, kind, said = await operator.refused(f"/{job}/undrop")
    assert (status, kind) == (409, "TableExists")
    assert "Choose another name" in said
    status, answer = await operator.post(f"/{job}/undrop", body={"name": ["a", "old"]})

    assert (status, answer["name"]) == (200, ["a", "old"])
    assert (await node.get("namespaces/a/tables/old")).status == 200


async def test_why_a_table_does_not_come_back_is_told(operator: Operator, node: Node) -> None:
    """No grace period, files that are being deleted, a namespace that is gone."""
    ungraced = await dropped(node, "t1")
    begun = await dropped(node, "t2", HOUR_MS)
    homeless = await dropped(node, "t3", HOUR_MS)
    opened = await node.opened()
    await opened.realm.commit(opened.pointer, lambda draft: begin_job(draft, int(begun)))
    await node.delete("namespaces/a")

    assert (await operator.refused(f"/{ungraced}/undrop"))[0] == 409
    assert "without a grace period" in (await operator.refused(f"/{ungraced}/undrop"))[2]
    assert "are being deleted" in (await operator.refused(f"/{begun}/undrop"))[2]
    assert (await operator.refused(f"/{homeless}/undrop"))[:2] == (404, "NamespaceNotFound")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": ["t"]}, "it is in no namespace"),
        ({"name": "a.t"}, "Expected `array`"),
        ({"nme": ["a", "t"]}, "unknown field `nme`"),
        ([], "Expected `object`"),
    ],
)
async def test_a_name_that_cannot_be_read_is_refused(
    operator: Operator, node: Node, body: object, said: str
) -> None:
    """Before anything is done."""
    job = await dropped(node, grace_ms=HOUR_MS)
    status, _, message = await operator.refused(f"/{job}/undrop", body=body)

    assert status == 400
    assert said in message


async def test_owners_and_service_admins_see_and_steer(
    guarded: Guarded, node: Node, audit: Recorder
) -> None:
    """Of the metalake and of the catalog; others hear what they would hear if there were none."""
    await guarded.users("cora", "ann", "eve")
    await guarded.own("catalog", CATALOG, "cora")
    await guarded.role(
        "all", rights("metalake", METALAKE, "use_catalog", "use_schema", "modify_table")
    )
    await guarded.assign("ann", "all")
    job = await dropped(node, grace_ms=HOUR_MS)
    operator = Operator(guarded.lake)
    may, may_not = (OWNER, ADMIN, "cora"), ("ann", "eve", "nobody")

    for user in may:
        assert [one["id"] for one in (await operator.read("", user))["jobs"]] == [job], user
        assert (await operator.ask(f"/{job}", user))[0] == 200
        assert (await operator.refused(f"/{job}/retry", user))[0] == 409  # the grace period
    for user in may_not:
        assert (await operator.read("", user))["jobs"] == [], user
        for verb in ("retry", "cancel", "undrop"):
            hidden = await operator.refused(f"/{job}/{verb}", user)
            absent = await operator.refused(f"/17/{verb}", user)
            assert hidden[:2] == (404, "JobNotFound")
            assert hidden[2].replace(job, "17") == absent[2]
    refused = {one.principal for one in audit.decisions if not one.allowed}
    assert refused >= {"ann", "eve", "nobody"}


async def test_who_owned_a_table_sees_its_job_and_gets_it_back(
    guarded: Guarded, node: Node
) -> None:
    """If it may use the schema; the rest is for those who answer for the catalog."""
    await guarded.users("ann")
    await guarded.role("user", USE)
    await node.table()
    await guarded.own("table", f"{CATALOG}.a.t", "ann")
    job = str(await drop(node))
    others = await dropped(node, "u", HOUR_MS)
    operator = Operator(guarded.lake)
    assert (await operator.read("", "ann"))["jobs"] == []
    await guarded.assign("ann", "user")

    assert [one["id"] for one in (await operator.read("", "ann"))["jobs"]] == [job]
    assert (await operator.refused(f"/{job}/cancel", "ann"))[:2] == (403, "Forbidden")
    assert (await operator.refused(f"/{job}/retry", "ann"))[:2] == (403, "Forbidden")
    assert (await operator.refused(f"/{others}/undrop", "ann"))[:2] == (404, "JobNotFound")
    assert (await operator.post(f"/{job}/undrop", "ann"))[0] == 200
    assert await guarded.owner("table", f"{CATALOG}.a.t") == ("user", "ann")


async def test_a_right_that_is_denied_on_the_schema_counts(guarded: Guarded, node: Node) -> None:
    """The way to a dropped table goes through its schema, as long as that is there."""
    await guarded.users("ann")
    await guarded.role("user", USE, rights("schema", f"{CATALOG}.a", deny=["use_schema"]))
    await guarded.assign("ann", "user")
    await node.table()
    await guarded.own("table", f"{CATALOG}.a.t", "ann")
    job = await drop(node)
    operator = Operator(guarded.lake)

    assert (await operator.read("", "ann"))["jobs"] == []
    assert (await operator.refused(f"/{job}/undrop", "ann"))[0] == 404


async def test_only_jobs_of_metalakes_that_the_caller_may_see_are_told(
    guarded: Guarded, node: Node
) -> None:
    """Who names another one is refused, as everywhere."""
    await node.kernel.realms.create("theirs")
    await guarded.users("ann")
    operator = Operator(guarded.lake)

    assert (await operator.ask("?metalake=theirs", "ann"))[0] == 403
    assert (await operator.ask("?metalake=nowhere", "ann"))[0] == 403
    assert (await operator.read("?metalake=theirs", ADMIN))["jobs"] == []
    assert (await operator.read(f"?metalake={METALAKE}", "ann"))["jobs"] == []


async def test_a_service_admin_who_is_no_user_gets_a_table_back(
    guarded: Guarded, node: Node
) -> None:
    """For others: it does not own it afterwards, and the change log names it."""
    await node.table()
    job = await drop(node)
    operator = Operator(guarded.lake)

    assert (await operator.post(f"/{job}/undrop", ADMIN))[0] == 200
    assert (await node.get("namespaces/a/tables/t")).status == 200
    assert await guarded.owner("table", f"{CATALOG}.a.t") is None


def test_its_routes_name_their_rules() -> None:
    """As documents and tests of all routes want it; those that write say so."""
    assert {route.operation: (route.rule, route.writes) for route in ROUTES} == {
        "listJobs": (READ_JOBS, False),
        "showJob": (READ_JOBS, False),
        "retryJob": (MANAGE_JOBS, True),
        "cancelJob": (MANAGE_JOBS, True),
        "undropTable": (UNDROP_TABLE, True),
    }
