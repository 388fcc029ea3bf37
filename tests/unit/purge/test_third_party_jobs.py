"""Jobs of third parties' purgers: on the request path, tried again, and left to who has them."""

import asyncio
from collections.abc import Sequence

import msgspec

from headgate.catalog.events import Event, PurgeCompleted, PurgeFailed, PurgeStarted, TableDropped
from headgate.catalog.purging import PurgeTerms
from headgate.purge.claims import Claims
from headgate.purge.inspecting import Found, Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.purgers import IcebergPurger, PurgerContext, ThirdParty
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.service import PurgeService
from headgate.purge.stages import Children, Stages
from headgate.purge.steering import Steering
from headgate.purge.workers import Workers
from tests.unit.catalog.lakes import Node, World
from tests.unit.catalog.walking import Unrelated, WalkingDeleter
from tests.unit.purge.partners import Cancelling, Failing, Plain, Stuck

TERMS = JobTerms()
DROP = "namespaces/a/tables/t?purgeRequested=true"


class Recovered(Plain):
    """The purger that failed, repaired."""

    name = Failing.name


async def use(node: Node, purger: IcebergPurger, terms: JobTerms = TERMS) -> list[Event]:
    """Let a node have this purger from now on; the events that it will tell of."""
    heard: list[Event] = []
    node.events.listeners.append(heard.append)
    context = PurgerContext(
        backend=node.kernel.backend,
        events=node.events,
        loop=asyncio.get_running_loop(),
    )
    third_party = ThirdParty(purger, context, node.storage)
    await third_party.initialize({})
    deleter = WalkingDeleter(node.planner, node.storage, node.kernel.clock)
    children = Children(deleter, Unrelated())
    stages = Stages(node.kernel, Queue(node.kernel), node.storage, children, terms)
    runner = Runner(stages, node.events, lambda: 0.5, {purger.name: third_party})
    claims = Claims(node.kernel, terms, node.events.server)
    node.purges = Workers(runner, claims, lambda: 0.5)
    node.lake.purging = PurgeService(node.purges, PurgeTerms(purger.name))
    return heard


async def look(node: Node) -> None:
    """Let a node do all jobs that it can do now."""
    node.purges.wake()
    await node.purges.idle()


async def job_of(node: Node, heard: Sequence[Event]) -> Found:
    return await Inspector(node.kernel).find(heard[0].job)


async def test_a_drop_is_answered_when_the_purger_is_done(world: World, node: Node) -> None:
    """Its files are its own business; the job has ended and all was told of."""
    purger = Plain()
    heard = await use(node, purger)
    await node.table()
    files = world.files()
    assert (await node.delete(DROP, user="ann")).status == 204

    [told] = purger.requests
    assert (told.principal, told.job) == ("ann", heard[0].job)
    assert world.files() == files
    assert [type(event) for event in heard] == [TableDropped, PurgeStarted, PurgeCompleted]
    assert {event.principal for event in heard} == {"ann"}
    assert (await job_of(node, heard)).has_ended


async def test_the_place_of_a_table_is_free_when_its_purger_is_done(node: Node) -> None:
    """Whoever keeps the files has to see to that."""
    await use(node, Plain())
    made = await node.table()
    location = made["metadata"]["location"]
    await node.delete(DROP)

    assert (await node.table("u", location=location))["metadata"]["location"] == location


async def test_a_drop_stands_though_its_purger_fails(world: World, node: Node) -> None:
    """The answer has the number of the job, whose row says why."""
    heard = await use(node, Failing())
    await node.table()
    files = world.files()
    status, _, message = (await node.delete(DROP)).error

    job = await job_of(node, heard)
    assert status == 500
    assert f"job {heard[0].job}" in message
    assert await node.head("namespaces/a/tables/t") == 404
    assert world.files() == files
    assert job.row is not None
    assert (job.state, job.row.attempts) == (State.PENDING, 1)
    assert "purger 'failing' failed: RuntimeError: no way" in job.row.error


async def test_a_purger_that_cancels_itself_has_not_succeeded(node: Node) -> None:
    """Its job is tried again like any other."""
    heard = await use(node, Cancelling())
    await node.table()
    status, _, _ = (await node.delete(DROP)).error

    job = await job_of(node, heard)
    assert status == 500
    assert (job.state, job.has_ended) == (State.PENDING, False)


async def test_a_job_is_left_to_servers_that_have_its_purger(world: World, node: Node) -> None:
    """One that deletes files by itself does not touch those of a third party's job."""
    heard = await use(node, Failing())
    await node.table()
    files = world.files()
    await node.delete(DROP)
    before = await job_of(node, heard)
    world.rig.clock.advance(TERMS.backoff_max_ms)
    other, repaired = await world.node(), await world.node()
    await look(other)

    assert await job_of(node, heard) == before
    assert world.files() == files

    purger = Recovered()
    await use(repaired, purger)
    await look(repaired)
    assert [told.job for told in purger.requests] == [heard[0].job]
    assert (await job_of(node, heard)).has_ended
    assert world.files() == files


async def test_a_job_that_is_tried_again_elsewhere_waits_for_who_has_its_purger(
    world: World, node: Node
) -> None:
    """An operator's request may come to any server."""
    heard = await use(node, Failing())
    await node.table()
    await node.delete(DROP)
    other = await world.node()
    inspector = Inspector(other.kernel)
    tried = await Steering(other.kernel, inspector).retry(heard[0].job)
    other.purges.wake(tried.live)
    await other.purges.idle()

    assert await inspector.find(heard[0].job) == tried


async def test_a_job_that_fails_too_often_waits_for_an_operator(world: World, node: Node) -> None:
    """Listeners hear of that once, with the last reason."""
    heard = await use(node, Failing(), msgspec.structs.replace(TERMS, max_attempts=2))
    await node.table()
    await node.delete(DROP)
    for _ in range(3):
        world.rig.clock.advance(TERMS.backoff_max_ms)
        await look(node)

    assert [type(event) for event in heard] == [
        TableDropped,
        PurgeStarted,
        PurgeStarted,
        PurgeFailed,
    ]
    failed = heard[-1]
    assert isinstance(failed, PurgeFailed)
    assert (failed.attempts, "no way" in failed.reason) == (2, True)
    assert (await job_of(node, heard)).state == State.DEAD_LETTER


async def test_a_client_that_goes_away_stops_no_purger(node: Node) -> None:
    """What it began with comes to its end."""
    purger = Stuck()
    heard = await use(node, purger)
    await node.table()
    request = asyncio.create_task(node.delete(DROP))
    await asyncio.to_thread(purger.began.wait)
    request.cancel()
    await asyncio.wait([request])
    purger.go_on.set()
    await node.purges.idle()

    assert request.cancelled()
    assert len(purger.requests) == 1
    assert (await job_of(node, heard)).has_ended
