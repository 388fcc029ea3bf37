"""Purge jobs as they are served: lists, one job, steering, undrop, and how it says no."""

import pytest

from headgate.access.rules import MANAGE_JOBS, READ_JOBS, UNDROP_TABLE
from headgate.catalog.purging import begin_job
from headgate.http.management.jobs import ROUTES
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import Failed, LeftFiles
from tests.unit.catalog.dropping import HOUR_MS, drop, loaded
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node
from tests.unit.http.management.operators import Operator, dropped
from tests.unit.purge.rows import write_row


@pytest.fixture
def operator(node: Node) -> Operator:
    """Of a server where everybody may do everything."""
    return Operator(node.lake)


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
        left_outside=LeftFiles(2, ("file:/y",)),
        unreferenced=LeftFiles(1, ("file:/z",)),
    )
    found = await write_row(node, int(job), row)
    shown = await operator.read(f"/{job}")

    assert shown == {
        "id": job,
        "metalake": METALAKE,
        "catalog": CATALOG,
        "table": ["a", "t"],
        "metadata-location": found.live.job.metadata_location,
        "places": list(found.live.job.reserved),
        "state": "DEAD_LETTER",
        "purger": "async",
        "attempts": 5,
        "phase": "",
        "files-deleted": 9,
        "files-missing": 1,
        "files-expected": 11,
        "files-failed": 1,
        "files-kept": 0,
        "files-outside": 2,
        "files-unreferenced": 1,
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
        "outside": ["file:/y"],
        "unreferenced": ["file:/z"],
    }
    [listed] = (await operator.read())["jobs"]
    long = {"ledger", "outside", "unreferenced"}
    assert listed == {name: value for name, value in shown.items() if name not in long}


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


async def test_a_grace_period_is_ended_by_whoever_says_so(operator: Operator, node: Node) -> None:
    """Else the job goes on to wait; after that the workers are told."""
    job = await dropped(node, grace_ms=HOUR_MS)
    for body in (None, {}, {"end-grace": False}):
        assert (await operator.refused(f"/{job}/retry", body=body))[:2] == (409, "Conflict")
    assert (await operator.refused(f"/{job}/retry", body={"end-grace": 1}))[0] == 400
    status, answer = await operator.post(f"/{job}/retry", body={"end-grace": True})

    assert (status, answer["can-undrop"]) == (200, False)
    assert [(one.id, one.job.begun) for one in operator.woken] == [(int(job), True)]


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


def test_its_routes_name_their_rules() -> None:
    """As documents and tests of all routes want it; those that write say so."""
    assert {route.operation: (route.rule, route.writes) for route in ROUTES} == {
        "listJobs": (READ_JOBS, False),
        "showJob": (READ_JOBS, False),
        "retryJob": (MANAGE_JOBS, True),
        "cancelJob": (MANAGE_JOBS, True),
        "undropTable": (UNDROP_TABLE, True),
    }
