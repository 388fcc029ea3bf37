"""Validation by polling: warm requests read nothing, and only what was taken away is seen late."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.grants import unassign_roles
from headgate.catalog.polling import Polling
from headgate.catalog.principals import USER
from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.http.kernel_measures import polling_samples
from headgate.http.measures import family_of
from headgate.testing.faults import Fault, TornBackend
from headgate.testing.kernels import open_kernel_on, turns
from tests.unit.catalog.guarded import OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import CATALOG, MAIN, METALAKE, Node, World, new_table
from tests.unit.catalog.served import GUARD, INTERVAL_SECONDS, TABLE, TABLES, Served, served

NOTHING: dict[str, int] = {}
ONE_READ = {"read_pointers": 1}
READER = rights("catalog", CATALOG, "use_catalog", "use_schema", "select_table")
INTERVAL_MS = INTERVAL_SECONDS * 1000


@pytest.fixture
async def other(world: World, node: Node) -> Guarded:
    """Another node, which reads for each request: ann may read, and bob is a user."""
    await node.table()
    other = Guarded((await world.node(guard=GUARD)).lake)
    await give_owner(other)
    await other.users("ann", "bob")
    await other.role("reader", READER)
    await other.assign("ann", "reader")
    return other


@pytest.fixture
async def late(world: World, other: Guarded) -> AsyncIterator[Served]:
    """A node that has polled, and knows what ann reads."""
    async with served(world) as late:
        await late.get(TABLE, "ann")
        await late.polling.poll()
        yield late


async def test_before_the_first_poll_each_request_reads(world: World, other: Guarded) -> None:
    """What was never polled may be of any age."""
    async with served(world) as cold:
        await cold.get(TABLE, "ann")
        assert await cold.reads(TABLE, "ann") == ONE_READ
        assert await cold.reads(TABLES, "ann") == ONE_READ

        await cold.polling.poll()
        assert await cold.reads(TABLE, "ann") == NOTHING


async def test_a_warm_request_reads_nothing(late: Served) -> None:
    """Neither an answer that stands, nor one that is worked out, nor the opening of a metalake."""
    assert await late.reads(TABLE, "ann") == NOTHING
    assert await late.reads(TABLES, "ann") == NOTHING
    assert await late.reads(f"{TABLES}?pageSize=1", "ann") == NOTHING
    call = Call(CatalogName(METALAKE, ""), Caller("ann"), is_fresh=False)
    await late.node.lake.open_metalake(call)
    late.world.rig.backend.reset()
    await late.node.lake.open_metalake(call)
    assert dict(late.world.rig.backend.calls) == NOTHING


async def test_one_poll_reads_all_pointers_in_use_at_once(late: Served) -> None:
    """However many catalogs there are; and one pointer if there are none."""
    call = Call(CatalogName(METALAKE, ""), Caller("ann"), is_fresh=False)
    await late.node.lake.open_metalake(call)
    late.world.rig.backend.reset()
    await late.polling.poll()

    assert dict(late.world.rig.backend.calls) == ONE_READ
    assert late.world.rig.backend.rows["read_pointers"] == 8
    async with served(late.world) as idle:
        late.world.rig.backend.reset()
        await idle.polling.poll()
    assert late.world.rig.backend.rows["read_pointers"] == 1


async def test_what_another_node_takes_away_is_refused_after_the_next_poll(
    late: Served, other: Guarded
) -> None:
    """Not before, and surely then; also where an answer stood."""
    await other.unassign("ann", "reader")
    assert await late.get(TABLE, "ann") == 200
    assert await late.get(TABLES, "ann") == 200

    await late.polling.poll()
    assert await late.get(TABLE, "ann") == 403
    assert await late.get(TABLES, "ann") == 403


async def test_what_another_node_gives_is_there_at_once(late: Served, other: Guarded) -> None:
    """Nobody is refused before the database was asked; then all know it."""
    assert await late.get(TABLE, "bob") == 403
    await other.assign("bob", "reader")
    assert await late.get(TABLE, "bob") == 200
    assert await late.reads(TABLES, "bob") == NOTHING


async def test_what_another_node_creates_is_found_at_once(late: Served, other: Guarded) -> None:
    """That something is not there is confirmed too."""
    new = f"{TABLES}/new"
    assert await late.get(new, OWNER) == 404
    await late.world.nodes[0].table("new")

    assert await late.get(new, OWNER) == 200


async def test_a_refusal_costs_one_read(late: Served) -> None:
    """The one that confirms it."""
    await late.get(TABLE, "bob")
    late.world.rig.backend.reset()

    assert await late.get(TABLE, "bob") == 403
    assert dict(late.world.rig.backend.calls) == ONE_READ


async def test_the_audit_hears_of_a_refusal_once_and_only_if_it_is_one(
    late: Served, other: Guarded
) -> None:
    """What was about to be refused by old rights was not."""
    await late.get(TABLE, "bob")
    assert [one.allowed for one in late.heard.decisions if one.principal == "bob"] == [False]

    late.heard.decisions.clear()
    await other.assign("bob", "reader")
    await late.get(TABLE, "bob")
    assert {one.allowed for one in late.heard.decisions} == {True}


async def test_whoever_writes_is_judged_by_what_is_so_now(late: Served, other: Guarded) -> None:
    """Rights that were taken away a moment ago still let somebody read, and never write."""
    await other.grant("reader", rights("catalog", CATALOG, "create_table"))
    body = json.dumps(new_table("u")).encode()
    assert (await late.ask("POST", TABLES, "ann", body)).status == 200
    assert await late.get(TABLE, "ann") == 200
    await other.unassign("ann", "reader")
    body = json.dumps(new_table("v")).encode()
    assert await late.get(TABLE, "ann") == 200

    assert (await late.ask("POST", TABLES, "ann", body)).status == 403


async def test_a_write_that_was_refused_tells_all(late: Served, other: Guarded) -> None:
    """What one request has learned, the next does not forget."""
    await other.unassign("ann", "reader")
    assert (await late.ask("DELETE", TABLE, "ann")).status == 403

    assert await late.get(TABLE, "ann") == 403


async def test_its_own_commits_are_seen_at_once(late: Served) -> None:
    """By whoever made them, and by whoever asks next."""
    body = json.dumps(new_table("u")).encode()
    assert (await late.ask("POST", TABLES, OWNER, body)).status == 200
    listed = json.loads((await late.ask("GET", TABLES, "ann")).body)
    assert [one["name"] for one in listed["identifiers"]] == ["t", "u"]
    assert await late.reads(TABLES, "ann") == NOTHING


async def test_what_other_tasks_of_the_process_commit_is_seen_at_once(late: Served) -> None:
    """A revocation too, whichever way it came."""
    assert await late.get(TABLE, "ann") == 200
    await unassign_roles(await late.rights.metalake(), USER, "ann", ["reader"])

    assert await late.get(TABLE, "ann") == 403


async def test_a_commit_that_may_have_landed_is_looked_at(late: Served) -> None:
    """Nobody knows what became of it, so what was polled before it serves no more."""
    opened = await late.rights.catalog(OWNER)
    for _ in range(200):
        late.world.rig.faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown):
        await opened.realm.commit(opened.pointer, lambda draft: draft.seal())

    assert await late.get(TABLE, OWNER) == 404


async def test_while_polls_fail_requests_read_for_themselves(late: Served, other: Guarded) -> None:
    """From two intervals after the last good one, until one is good again."""
    clock = late.world.rig.clock
    clock.advance(2 * INTERVAL_MS - 1)
    assert await late.reads(TABLE, "ann") == NOTHING
    clock.advance(1)
    assert await late.reads(TABLE, "ann") == ONE_READ
    await other.unassign("ann", "reader")
    assert await late.get(TABLE, "ann") == 403
    await other.assign("ann", "reader")

    await late.polling.poll()
    assert await late.get(TABLE, "ann") == 200
    assert await late.reads(TABLE, "ann") == NOTHING


async def test_a_poll_that_fails_changes_nothing(late: Served) -> None:
    """What is known is as old as before."""
    late.world.rig.faults.schedule("read_pointers", Fault.UNAVAILABLE)
    late.world.rig.clock.advance(INTERVAL_MS)
    with pytest.raises(BackendUnavailable):
        await late.polling.poll()

    assert late.polling.age_seconds == INTERVAL_SECONDS
    assert await late.reads(TABLE, "ann") == NOTHING
    late.world.rig.clock.advance(INTERVAL_MS)
    assert await late.reads(TABLE, "ann") == ONE_READ


async def test_polls_go_on_for_ever(late: Served, caplog: pytest.LogCaptureFixture) -> None:
    """One in each interval; that they fail, and that they work again, is said once."""
    caplog.set_level(logging.INFO, "headgate.catalog.polling")
    polled = late.polling.statistics
    for fault in (Fault.DELAY, Fault.UNAVAILABLE, Fault.UNAVAILABLE, Fault.DELAY, Fault.DELAY):
        late.world.rig.faults.schedule("read_pointers", fault)
    async with polling(late):
        for count in range(2, 7):
            await until(lambda: polled.polls + polled.failures >= count)  # noqa: B023  at once
            late.world.rig.clock.advance(INTERVAL_MS - 1)
            await turns(20)
            assert polled.polls + polled.failures == count
            late.world.rig.clock.advance(1)

    assert (polled.polls, polled.failures) == (4, 2)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "polling fails, so requests read for themselves",
        "polling works again",
    ]


async def test_an_unexpected_error_ends_no_polling(
    late: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with where it came from."""
    late.world.rig.faults.crash_at("before_read_pointers", _stumble)
    async with polling(late):
        await until(lambda: late.polling.statistics.failures == 1)
        late.world.rig.clock.advance(INTERVAL_MS)
        await until(lambda: late.polling.statistics.polls == 2)

    assert [record.exc_info is not None for record in caplog.records] == [True, False]


@asynccontextmanager
async def polling(late: Served) -> AsyncIterator[None]:
    """As long as a server runs."""
    task = asyncio.create_task(late.polling.poll_for_ever())
    try:
        yield
    finally:
        task.cancel()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0)


def _stumble() -> None:
    raise RuntimeError("a stone")


async def test_polling_works_where_a_batch_is_no_snapshot(late: Served, other: Guarded) -> None:
    """A vector that is what it was is true as a whole, however its values were read."""
    kernel = open_kernel_on(TornBackend(late.world.rig.backend), seed=99, types=CATALOG_TYPES)
    async with kernel:
        keys = (await other.catalog("ann")).heads.keys
        torn = Polling(kernel, INTERVAL_SECONDS)
        first = await torn.read_together(keys, None)
        await torn.poll()
        assert await torn.read_together(keys, None) == first
        assert torn.statistics.fallbacks == 1

        await other.unassign("ann", "reader")
        await torn.poll()
        assert await torn.read_together(keys, None) == (await other.catalog("ann")).heads.vector
        assert torn.statistics.fallbacks == 2


async def test_operators_see_how_polling_goes(late: Served) -> None:
    """How often, how old, and what requests had to read."""
    before = polling_samples(late.polling)
    late.world.rig.clock.advance(3_000)
    await late.node.lake.open(Call(MAIN, Caller("ann"), is_fresh=False))
    now = polling_samples(late.polling)

    assert now["headgate_poll_age_seconds"] == 3.0
    assert now["headgate_polls_total"] == before["headgate_polls_total"] == 1
    assert now["headgate_poll_fallbacks_total"] == before["headgate_poll_fallbacks_total"] > 0
    assert now["headgate_poll_failures_total"] == 0
    assert all(family_of(name) for name in now)
