"""The workers of a process: how many jobs at a time, in which order, and who wakes them."""

import asyncio
import logging

import pytest

from headgate.catalog.purging import LiveJob, PurgeTerms, Recorded
from headgate.errors import StorageUnavailable
from headgate.purge import workers
from headgate.purge.claims import Claims
from headgate.purge.deleter import Progress
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.testing.kernels import turns
from headgate.workers.turns import Tenant
from tests.unit.catalog.lakes import Node, World
from tests.unit.purge.scripted import DROP, Purging, Step

FEW = JobTerms(worker_threads=2, batch_size=3)
TENANTS = [
    *(Tenant("n", "ann") for _ in range(3)),
    *(Tenant("s", "ann") for _ in range(2)),
    *(Tenant("n", name) for name in ("bob", "carol")),
    Tenant("s", "eve"),
]
"""Of jobs of several principals and metalakes, in the order of their drops."""


async def test_so_many_jobs_run_at_a_time_and_no_more(node: Node) -> None:
    """The others wait, and all are done."""
    purging = Purging(node, FEW)
    purging.deleter.gate.clear()
    for number in range(8):
        await purging.drop(f"t{number}")
    await turns(50)
    assert purging.workers.running == 2
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert purging.deleter.at_once_most == 2
    assert await purging.live() == []
    assert purging.workers.running == 0


async def test_large_purges_of_one_principal_hold_up_no_other(world: World, node: Node) -> None:
    """Of jobs that never end, one principal has as many as there are threads; the next job of
    another one is done beside them, also if it was dropped last."""
    purging = Purging(node, FEW)
    await purging.workers.close()
    for name, principal in (*((f"t{number}", "ann") for number in range(8)), ("last", "bob")):
        await node.table(name)
        await node.delete(f"namespaces/a/tables/{name}?purgeRequested=true", user=principal)
    other = Purging(await world.node(), FEW)
    other.deleter.gate.clear()
    other.workers.wake()
    while len(other.deleter.tasks) < 3:
        await asyncio.sleep(0)
    running = other.workers.running
    begun = {live.job.created_by for live in await other.live() if await other.row(live)}
    other.deleter.gate.set()
    await other.workers.idle()

    assert running == 3
    assert begun == {"ann", "bob"}
    assert await other.live() == []


async def test_purges_of_one_principal_in_two_metalakes_hold_no_more_slots(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its jobs of all metalakes count together, and a metalake leaves a slot to others."""
    purging = Purging(node, FEW)
    await purging.workers.close()
    jobs = [await purging.drop(f"t{number}") for number in range(8)]
    other = Purging(await world.node(), FEW)
    begun: list[Tenant] = []
    gate = asyncio.Event()
    tenants = dict(zip((live.id for live in jobs), TENANTS, strict=True))

    async def run(live: LiveJob) -> None:
        begun.append(tenants[live.id])
        await gate.wait()

    monkeypatch.setattr(workers, "_tenant", lambda live: tenants[live.id])
    monkeypatch.setattr(other.workers, "_run", run)
    other.workers._backlog.extend(jobs)
    other.workers._fill()
    await turns(20)
    first = sorted(begun)
    gate.set()
    await other.workers.idle()

    assert first == sorted(
        [Tenant("n", "ann"), Tenant("n", "ann"), Tenant("n", "bob"), Tenant("s", "eve")]
    )
    assert sorted(begun) == sorted(TENANTS)


async def test_drops_that_wait_for_their_purge_take_turns(world: World, node: Node) -> None:
    """Many of one principal leave a slot to another one, and those that were given up go on."""
    purging = Purging(node, FEW, promised=PurgeTerms("synchronous"))
    purging.deleter.gate.clear()
    names = [f"t{number}" for number in range(5)]
    for name in (*names, "last"):
        await node.table(name)
    drops = [
        asyncio.create_task(
            node.delete(f"namespaces/a/tables/{name}?purgeRequested=true", user="ann")
        )
        for name in names
    ]
    await turns(50)
    running = purging.workers.running
    last = asyncio.create_task(
        node.delete("namespaces/a/tables/last?purgeRequested=true", user="bob")
    )
    await turns(50)
    drops[-1].cancel()
    await turns(5)
    with_last = purging.workers.running
    purging.deleter.gate.set()
    answers = await asyncio.gather(*drops, last, return_exceptions=True)
    await purging.workers.idle()

    assert (running, with_last) == (2, 3)
    assert [getattr(one, "status", 0) for one in answers] == [204] * 4 + [0, 204]
    assert await purging.live() == []
    assert purging.workers._awaited == {}


async def test_a_job_that_is_taken_while_others_are_looked_for_is_not_done_again(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backlog is what it is when the look has ended."""
    purging = Purging(node, FEW)
    node.lake.purging = Recorded()
    waiting = await purging.drop("t0")
    purging.workers._backlog.append(waiting)
    begun: list[int] = []

    async def found() -> list[LiveJob]:
        purging.workers._is_look_due = False
        purging.workers._fill()  # as a slot does that has become free
        await turns(5)
        return []

    async def run(live: LiveJob) -> None:
        begun.append(live.id)

    monkeypatch.setattr(purging.workers, "_found", found)
    monkeypatch.setattr(purging.workers, "_run", run)
    purging.workers.wake()
    await purging.workers.idle()

    assert begun == [waiting.id]


async def test_a_server_without_workers_leaves_its_jobs_to_others(world: World, node: Node) -> None:
    """It does not even look for them; another process does them all."""
    idle = Purging(node, JobTerms(worker_threads=0))
    live = await idle.drop()
    await idle.look()
    assert idle.deleter.tasks == []
    assert await idle.row(live) is None
    other = Purging(await world.node(), FEW)
    await other.look()

    assert await other.live() == []


async def test_more_jobs_than_one_look_brings_are_done_without_another_poll(
    world: World, node: Node
) -> None:
    """When the first ones are done, workers look again."""
    dead = Purging(node)
    await dead.workers.close()
    for number in range(10):
        await dead.drop(f"t{number}")
    purging = Purging(await world.node(), FEW)
    await purging.look()

    assert await purging.live() == []


async def test_jobs_that_fail_do_not_hold_up_others(world: World, node: Node) -> None:
    """Each is tried once, whatever happens to the first ones."""
    purging = Purging(node, FEW)
    purging.deleter.scripts = [[StorageUnavailable("it is away")], [ValueError("a mistake")]]
    for number in range(6):
        await purging.drop(f"t{number}")
        await purging.workers.idle()

    assert len(await purging.live()) == 2
    world.rig.clock.advance(2 * FEW.backoff_base_ms)
    await purging.look()
    assert await purging.live() == []


async def test_a_drop_in_the_moment_in_which_a_look_ends_is_heard(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wakes the workers is never overheard."""
    purging = Purging(node)
    looks = 0
    found = purging.workers._found

    async def found_later() -> list[LiveJob]:
        nonlocal looks
        looks += 1
        jobs = await found()
        if looks == 1:
            asyncio.get_running_loop().call_soon(purging.workers.wake)
        return jobs

    monkeypatch.setattr(purging.workers, "_found", found_later)
    purging.workers.wake()
    await turns(10)
    await purging.workers.idle()

    assert looks == 2


async def test_many_drops_at_once_are_all_begun_with(node: Node) -> None:
    """More than are handed over one by one: then one look brings them all."""
    purging = Purging(node, FEW)
    names = [f"t{number}" for number in range(3 * FEW.batch_size)]
    for name in names:
        await node.table(name)
    drops = (node.delete(f"namespaces/a/tables/{name}?purgeRequested=true") for name in names)
    answers = await asyncio.gather(*drops)
    await purging.workers.idle()

    assert {answer.status for answer in answers} == {204}
    assert await purging.live() == []


async def test_a_job_is_begun_with_once_however_often_it_is_told_of(node: Node) -> None:
    """By its drop, by looks, and by whoever wants it at once."""
    purging = Purging(node)
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    for _ in range(3):
        purging.workers.wake(live)
        purging.workers.wake()
    assert await purging.workers.run_now(live) is None
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert len(purging.deleter.tasks) == 2
    assert await purging.live() == []


async def test_work_goes_on_when_nobody_waits_for_it_any_more(node: Node) -> None:
    """A client that gives up does not stop the purge that it asked for."""
    purging = Purging(node, promised=PurgeTerms("synchronous"))
    purging.deleter.gate.clear()
    await node.table()
    dropping = asyncio.create_task(node.delete(DROP))
    await purging.deleter.arrived.wait()
    dropping.cancel()
    await asyncio.gather(dropping, return_exceptions=True)
    assert len(await purging.live()) == 1
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert dropping.cancelled()
    assert await purging.live() == []


async def test_a_database_that_fails_at_a_claim_leaves_the_job(
    node: Node, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says so, and the next look finds it."""
    purging = Purging(node)
    caplog.set_level(logging.WARNING)

    async def fail(_self: Claims, _live: LiveJob) -> None:
        raise StorageUnavailable("the database is away")

    with monkeypatch.context() as broken:
        broken.setattr(Claims, "claim", fail)
        live = await purging.drop()
        await purging.workers.idle()
    assert f"job {live.id} was left: the database is away" in caplog.text

    await purging.look()
    assert await purging.live() == []


async def test_other_work_is_done_before_each_look(
    world: World, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """It brings a job; though it fails after that, the look is made."""
    dead, purging = Purging(node), Purging(await world.node())
    await dead.workers.close()
    done: list[LiveJob] = []

    async def work() -> None:
        done.append(await dead.drop(f"t{len(done)}"))
        raise StorageUnavailable("not today")

    purging.workers._rounds = [work]
    purging.workers.start()
    while len(done) < 3:
        world.rig.clock.advance(FEW.poll_ms)
        await turns(5)
        await purging.workers.idle()

    assert "work in the background failed: not today" in caplog.text
    assert purging.deleter.tasks


async def test_a_job_of_a_purger_that_is_not_here_is_left_alone_and_says_so(
    world: World, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Once; and it is still due wherever that purger is."""
    purging, recorded = Purging(node), Recorded()
    recorded.terms = PurgeTerms("theirs")
    node.lake.purging = recorded
    live = await purging.drop()
    other = Purging(await world.node())
    for _ in range(3):
        await other.look()
    row = await other.row(live)

    assert row is not None
    assert (row.state, row.attempts) == (State.PENDING, 0)
    assert row.error == "purger 'theirs' is not configured on node-1"
    assert caplog.text.count("is left alone") == 1
    assert other.deleter.tasks == []
    assert await Claims(node.kernel, FEW, "x").due([live]) == [live]


async def test_closed_workers_begin_with_nothing(node: Node) -> None:
    """What is dropped from then on is left to others."""
    purging = Purging(node)
    await purging.workers.close()
    await purging.drop()
    await purging.look()

    assert purging.deleter.tasks == []
    assert len(await purging.live()) == 1


async def test_what_was_deleted_is_counted(node: Node) -> None:
    """For the numbers of this process: once, also where an attempt fails."""
    purging = Purging(node)
    steps: list[Step] = [Progress("data", 5, 1, 50, 9), Progress("data", 8, 1, 80, 9)]
    purging.deleter.scripts = [steps, [Progress("last", 2, 0, 4, 2)]]
    await purging.drop()
    await purging.workers.idle()
    counters = purging.workers._runner.stages.counters

    assert (counters.files, counters.bytes) == (10, 84)
