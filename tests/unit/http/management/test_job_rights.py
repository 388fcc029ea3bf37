"""Who sees purge jobs, who steers them, and who gets a dropped table back."""

import pytest

from headgate.access.auditing import Decision
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_catalogs import drop_catalog
from tests.unit.catalog.dropping import HOUR_MS, drop
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import CATALOG, MAIN, METALAKE, OPTIONS, Node, World
from tests.unit.http.management.operators import Operator, dropped

USE = rights("catalog", CATALOG, "use_catalog", "use_schema")


class Recorder:
    """An audit that a test looks into."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)


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
    status, kind, said = await operator.refused(f"/{job}/cancel", "ann")
    assert (status, kind) == (403, "Forbidden")
    assert f"'manageJobs' on metadata '{CATALOG}.a.t'" in said
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


async def test_jobs_of_a_dropped_catalog_are_seen_by_who_owns_the_metalake(
    guarded: Guarded, node: Node
) -> None:
    """Who owned the catalog or the table owns nothing there any more, and nothing comes back."""
    await guarded.users("cora", "ann")
    await guarded.own("catalog", CATALOG, "cora")
    await node.table()
    await guarded.own("table", f"{CATALOG}.a.t", "ann")
    job = str(await drop(node))
    metalake = await guarded.metalake()
    call = metalake.call._replace(catalog=MAIN)
    assert await drop_catalog(guarded.lake, metalake._replace(call=call), force=True)
    operator = Operator(guarded.lake)

    seen = {
        user: [one["id"] for one in (await operator.read("", user))["jobs"]]
        for user in (OWNER, ADMIN, "cora", "ann")
    }
    assert seen == {OWNER: [job], ADMIN: [job], "cora": [], "ann": []}
    assert (await operator.refused(f"/{job}/undrop", OWNER))[:2] == (404, "CatalogNotFound")
    assert (await operator.post(f"/{job}/cancel", OWNER))[0] == 200


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
