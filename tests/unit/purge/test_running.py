"""One job in the hands of a worker: its stages, its heartbeat, and each way in which it ends."""

import itertools
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from headgate.catalog.catalogs import alter_catalog
from headgate.catalog.events import PurgeCompleted, PurgeFailed, PurgeStarted
from headgate.catalog.purging import PURGED, PURGES, TASKS, LiveJob, PurgeTerms
from headgate.catalog.undropping import undrop
from headgate.errors import StorageAwaited, StorageUnavailable, WorkerEnded
from headgate.model.locations import normalize
from headgate.purge.deleter import Progress, Task
from headgate.purge.finishing import decode_finished
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.ledger import Failed
from headgate.purge.referrers import Referrers, Referring
from headgate.purge.running import BEAT_SECONDS
from headgate.purge.stages import GROUND_SECONDS
from headgate.purge.steering import Steering
from headgate.purge.steps import LEAVES, ROOTS
from headgate.purge.surveyor import Referrer, Surveyed
from headgate.testing.faults import Fault
from headgate.testing.kernels import SteppedClock, turns
from tests.unit.catalog.lakes import MAIN, METALAKE, Node, World, new_table
from tests.unit.catalog.late_nodes import take_over
from tests.unit.catalog.purges import TERMS
from tests.unit.purge.scripted import DROP, Purging, Scripted

STUCK = Failed("/w/stuck", "it is stuck")
PATIENT = JobTerms(max_attempts=2)


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node that purges by script."""
    return Purging(node)


async def finished(purging: Purging) -> list[str]:
    """The states of all jobs in the history."""
    realm = purging.node.kernel.realm((await purging.node.kernel.realms.get(METALAKE)).id)
    [head] = await realm.heads(TASKS)
    return [decode_finished(value).state async for _, value in head.index(PURGED).scan()]


async def test_leaves_go_before_roots(world: World, purging: Purging) -> None:
    """A child is told what is the table's own, where the catalog may be, and nothing else."""
    made = await purging.node.table()
    await purging.node.delete(DROP)
    await purging.workers.idle()
    [leaves, roots] = purging.deleter.tasks

    assert (leaves.stage, roots.stage) == (LEAVES, ROOTS)
    assert leaves.metadata_location == made["metadata-location"]
    assert leaves.own == (normalize(made["metadata"]["location"]),)
    assert (leaves.roots, leaves.foreign) == ((world.warehouse,), ())
    assert leaves.threads == TERMS.delete_threads


async def test_a_job_that_is_done_leaves_nothing_but_its_history(purging: Purging) -> None:
    """No live entry, no row, no place that is taken; and who listens is told."""
    purging.deleter.scripts = [[Progress("data", 5, 1, 50, 6)], [Progress("last", 2, 0, 5, 2)]]
    live = await purging.drop()
    await purging.workers.idle()

    assert await purging.live() == []
    assert await purging.row(live) is None
    assert await finished(purging) == [State.SUCCEEDED]
    assert purging.names() == ["table dropped", "purge started", "purge completed"]
    done = purging.heard[-1]
    assert isinstance(done, PurgeCompleted)
    assert (done.files, done.bytes, done.job, done.table) == (7, 55, live.id, live.job.table)
    assert (await purging.node.opened()).head.head.marks[PURGES] == 0


async def test_the_heart_beats_while_nothing_moves(world: World, purging: Purging) -> None:
    """Every third of the lease; each beat changes the row, and lets the child go on for longer."""
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    began = await purging.row(live)
    for _ in range(10):
        await pass_time(world, TERMS.lease_ms / 4)
    row = await purging.row(live)
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert began is not None
    assert row is not None
    assert row.updated_ms - began.updated_ms > 2 * TERMS.lease_ms
    assert await finished(purging) == [State.SUCCEEDED]


async def test_progress_is_in_the_row_within_a_second(world: World, purging: Purging) -> None:
    """Operators see how far it is."""
    purging.deleter.scripts = [[Progress("data", 5, 1, 50, 100), Progress("data", 6, 1, 60, 100)]]
    purging.deleter.one_by_one = True
    live = await purging.drop()
    while not purging.deleter.steps:
        await turns(1)
    await turns(30)
    await pass_time(world, BEAT_SECONDS * 1_000)
    row = await purging.row(live)
    purging.deleter.one_by_one = False
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert row is not None
    assert (row.deleted, row.missing, row.bytes, row.expected) == (5, 1, 50, 100)
    assert (row.state, row.phase, row.owner) == (State.RUNNING, "data", "node-0")


async def test_a_lost_lease_stops_the_worker(
    world: World, purging: Purging, caplog: pytest.LogCaptureFixture
) -> None:
    """It was still for too long: another one has the job, finishes it, and is not disturbed."""
    caplog.set_level(logging.INFO)
    late = Purging(await world.node(clock=SteppedClock()))
    late.deleter.gate.clear()
    live = await late.drop()
    await late.deleter.arrived.wait()
    await take_over(world, purging.node)
    assert await finished(purging) == [State.SUCCEEDED]
    clock = late.node.kernel.clock
    assert isinstance(clock, SteppedClock)
    clock.advance(TERMS.lease_ms / 3)
    await late.workers.idle()

    assert late.deleter.steps == 0
    assert f"job {live.id} is not worked on here any more" in caplog.text
    assert late.names() == ["table dropped", "purge started"]
    assert await purging.row(live) is None


async def test_a_heartbeat_that_fails_for_too_long_stops_the_worker(
    world: World, purging: Purging, caplog: pytest.LogCaptureFixture
) -> None:
    """The database is away: others may have the job before it is back."""
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    for _ in range(10):
        world.rig.faults.schedule("update", Fault.UNAVAILABLE)
    for _ in range(6):
        await pass_time(world, TERMS.lease_ms / 6)
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert purging.deleter.steps == 0
    assert f"the heartbeat of job {live.id} failed" in caplog.text
    row = await purging.row(live)
    assert row is not None
    assert row.state == State.RUNNING


async def test_what_fails_is_tried_again_and_says_which_files(
    world: World, purging: Purging, caplog: pytest.LogCaptureFixture
) -> None:
    """The row has the reason and the ledger, until an attempt goes well."""
    purging.deleter.scripts = [[Progress("data", 5, failed=[STUCK])]]
    live = await purging.drop()
    await purging.workers.idle()
    row = await purging.row(live)
    assert row is not None
    assert (row.state, row.attempts, row.failed, row.ledger) == (State.PENDING, 1, 1, (STUCK,))
    assert row.error.startswith("1 file cannot be deleted: the first is /w/stuck: it is stuck")
    assert f"table a.t is not purged yet (job {live.id}, attempt 1)" in caplog.text

    world.rig.clock.advance(2 * TERMS.backoff_base_ms)
    await purging.look()
    assert await finished(purging) == [State.SUCCEEDED]


async def test_leaves_that_are_gone_are_not_looked_for_again(
    world: World, purging: Purging
) -> None:
    """The second attempt begins with the roots."""
    purging.deleter.scripts = [[], [StorageUnavailable("the store is away")]]
    await purging.drop()
    await purging.workers.idle()
    world.rig.clock.advance(2 * TERMS.backoff_base_ms)
    await purging.look()

    assert [task.stage for task in purging.deleter.tasks] == [LEAVES, ROOTS, ROOTS]


@pytest.mark.parametrize("error", [StorageUnavailable("?"), WorkerEnded("!"), ValueError("a bug")])
async def test_what_fails_too_often_waits_for_an_operator(
    world: World, node: Node, error: Exception
) -> None:
    """Nobody touches it any more, its ledger stays, and who listens is told."""
    purging = Purging(node, PATIENT)
    purging.deleter.scripts = [[Progress("data", failed=[STUCK]), error], [error]]
    live = await purging.drop()
    await purging.workers.idle()
    for _ in range(3):
        await world.rig.pass_time(TERMS.backoff_max_ms)
        await purging.look()

    row = await purging.row(live)
    assert row is not None
    assert (row.state, row.attempts, row.ledger) == (State.DEAD_LETTER, 2, (STUCK,))
    assert str(error) in row.error
    failed = [event for event in purging.heard if isinstance(event, PurgeFailed)]
    assert [(one.attempts, one.reason, one.job) for one in failed] == [(2, row.error, live.id)]
    assert len(purging.deleter.tasks) == 2


async def test_a_stage_begins_anew_when_a_place_becomes_anothers(
    world: World, purging: Purging
) -> None:
    """Another catalog comes to a place that the dropped table's catalog has given away."""
    purging.deleter.scripts = [[Progress("data", 1), Progress("data", 2)]]
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    purging.deleter.arrived.clear()
    await change_roots(purging.node, f"{world.warehouse}/new")
    world.rig.clock.advance(GROUND_SECONDS * 1_000)
    purging.deleter.gate.set()
    await purging.workers.idle()

    [before, again, _] = purging.deleter.tasks
    assert (before.roots, before.stage) == ((world.warehouse,), LEAVES)
    assert (again.roots, again.stage) == ((world.warehouse, f"{world.warehouse}/new"), LEAVES)
    assert live.roots == before.roots


async def test_tables_that_change_all_the_time_do_not_hold_up_a_purge_for_ever(
    world: World, purging: Purging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time that it begins anew it goes on for longer."""
    digests = itertools.count()

    async def referring(_: Referrers, live: LiveJob, **_how: bool) -> Referring:
        return Referring((Referrer(Surveyed("/b", ("/b",)), str(next(digests)).encode()),))

    async def slowly(_: Scripted, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        for number in range(6 if task.stage == LEAVES else 0):
            world.rig.clock.advance(GROUND_SECONDS * 1_000)
            begun.append(number)
            yield Progress("data", number)

    begun: list[int] = []
    monkeypatch.setattr(Referrers, "to_places", referring)
    monkeypatch.setattr(Scripted, "run", slowly)
    await purging.drop()
    await purging.workers.idle()

    assert begun == [0, 0, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5]
    assert await finished(purging) == [State.SUCCEEDED]


async def test_a_grace_period_ends_with_a_commit_before_anything_is_deleted(
    world: World, node: Node
) -> None:
    """From then on the table cannot come back."""
    purging = Purging(node, promised=PurgeTerms(grace_ms=1_000))
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.look()
    assert purging.deleter.tasks == []
    world.rig.clock.advance(1_000)
    purging.workers.wake()
    await purging.deleter.arrived.wait()
    [begun] = await purging.live()
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert (live.job.begun, begun.job.begun) == (False, True)
    assert await finished(purging) == [State.SUCCEEDED]


async def test_a_table_that_comes_back_at_the_last_moment_keeps_its_files(
    world: World, node: Node
) -> None:
    """It is undropped between the claim and the commit that ends its grace period."""
    purging = Purging(node, promised=PurgeTerms(grace_ms=1_000))
    live = await purging.drop()
    world.rig.clock.advance(1_000)

    async def come_back() -> None:
        await undrop(await node.opened(), live.id, live.job.table)

    world.rig.faults.crash_at("after_insert", come_back)
    await purging.look()

    assert purging.deleter.tasks == []
    assert await purging.row(live) is None
    assert (await node.load())["metadata-location"] == live.job.metadata_location
    assert await finished(purging) == []


async def test_a_cancelled_job_is_stopped_and_forgotten_by_its_worker(
    world: World, purging: Purging
) -> None:
    """Its place is free when nothing is deleted there any more, and not before. What it did until
    it noticed is not forgotten."""
    purging.deleter.scripts = [[Progress(LEAVES, deleted=3, expected=9), Progress(LEAVES)]]
    purging.deleter.one_by_one = True
    place = f"{world.warehouse}/x"
    live = await purging.drop(location=place)
    await turns(20)
    kernel = purging.node.kernel
    await Steering(kernel, Inspector(kernel)).cancel(live.id, "ann")
    assert await purging.live() == [live]
    await pass_time(world, TERMS.lease_ms / 3)
    await purging.workers.idle()

    assert purging.deleter.steps == 1
    assert await purging.live() == []
    assert await finished(purging) == [State.CANCELLED]
    kept = (await Inspector(kernel).find(live.id)).view
    assert (kept.files_deleted, kept.error) == (3, "cancelled by ann")
    assert (await purging.node.post("namespaces/a/tables", new_table(location=place))).status == 200


async def test_a_worker_that_stops_gives_its_job_back(world: World, purging: Purging) -> None:
    """Another one goes on at once, and no attempt is lost."""
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    await purging.workers.close()
    row = await purging.row(live)
    assert row is not None
    assert (row.state, row.attempts, row.next_attempt_ms) == (State.PENDING, 0, 0)

    other = Purging(await world.node())
    await other.look()
    assert await finished(other) == [State.SUCCEEDED]


async def test_an_attempt_that_waits_for_storage_is_published_once(
    world: World, purging: Purging
) -> None:
    """However often it goes on; an attempt after a failure is another one."""
    waiting = StorageAwaited("a storage is away")
    purging.deleter.scripts = [[waiting], [waiting], [StorageUnavailable("it is away")]]
    await purging.drop()
    await purging.workers.idle()
    started = [purging.names().count(PurgeStarted.name)]
    for _ in range(3):
        world.rig.clock.advance(2 * purging.workers._terms.backoff_base_ms + 60_000)
        await purging.look()
        started.append(purging.names().count(PurgeStarted.name))

    assert started == [1, 1, 1, 2]


async def test_a_job_that_ended_meanwhile_leaves_no_row(purging: Purging) -> None:
    """It was on a list that was a little old: the claim makes a row, and takes it away again."""
    live = await purging.drop()
    await purging.workers.idle()
    await purging.workers.run_now(live)

    assert len(purging.deleter.tasks) == 2
    assert await purging.row(live) is None
    assert await finished(purging) == [State.SUCCEEDED]


async def test_a_row_that_says_that_all_is_gone_is_finished_by_anybody(
    world: World, purging: Purging
) -> None:
    """A worker stopped between the last file and the end of its job; nobody deletes once more."""
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    for _ in range(500):
        world.rig.faults.schedule("commit", Fault.UNAVAILABLE)
    purging.deleter.gate.set()
    await purging.workers.idle()
    row = await purging.row(live)
    assert row is not None
    assert row.state == State.SUCCEEDED
    world.rig.faults._scheduled.clear()

    other = Purging(await world.node())
    await other.look()
    assert other.deleter.tasks == []
    assert other.names() == ["purge completed"]
    assert await other.live() == []
    assert await other.row(live) is None


async def pass_time(world: World, ms: float) -> None:
    """Let time go by, and everybody do what is due."""
    world.rig.clock.advance(ms)
    await turns(30)


async def change_roots(node: Node, more: str) -> None:
    """Let the catalog have another place."""
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more,)}, ":")
