"""Jobs whose workers fell silent: they go on elsewhere, unless they are what ends workers."""

from headgate.catalog.events import PurgeCompleted, PurgeFailed
from headgate.purge.claims import Claims
from headgate.purge.deleter import Progress
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.running import BEAT_SECONDS
from headgate.purge.steering import Steering
from headgate.testing.kernels import SteppedClock, turns
from tests.unit.catalog.lakes import Node, World
from tests.unit.catalog.late_nodes import take_over
from tests.unit.catalog.purges import TERMS
from tests.unit.purge.rows import change_row
from tests.unit.purge.scripted import Purging

PATIENT = JobTerms(max_attempts=3)


class Doomed:
    """A job in the store, and workers that claim it and are never heard of again."""

    def __init__(self, world: World, node: Node, job: int) -> None:
        self._world = world
        self._node = node
        self.job = job

    async def claimed_by(self, owner: str) -> None:
        """Another one takes the job when it may."""
        claims = Claims(self._node.kernel, PATIENT, owner)
        live = (await Inspector(self._node.kernel).find(self.job)).live
        if await claims.claim(live) is None:
            await self._world.rig.pass_time(PATIENT.lease_ms)
            assert await claims.claim(live) is not None

    async def told(self, deleted: int) -> None:
        """Whoever has it sends a last heartbeat."""
        await change_row(self._node, self.job, deleted=deleted)


async def doomed(world: World, purging: Purging) -> Doomed:
    """A job that none of the workers here has begun with."""
    await purging.workers.close()
    live = await purging.drop()
    return Doomed(world, purging.node, live.id)


async def look_twice(world: World, purging: Purging) -> None:
    """Take what may be taken when its worker was silent for the whole lease."""
    await purging.look()
    await world.rig.pass_time(PATIENT.lease_ms)
    await purging.look()


async def test_a_job_that_ends_its_workers_waits_for_an_operator(world: World, node: Node) -> None:
    """The third of three is not followed by a fourth; the reason says where to look."""
    job = await doomed(world, Purging(node))
    for number in range(3):
        await job.claimed_by(f"host:{number}")
    purging = Purging(await world.node(), PATIENT)
    await look_twice(world, purging)
    found = await Inspector(node.kernel).find(job.job)

    assert purging.deleter.tasks == []
    assert found.state == State.DEAD_LETTER
    assert found.view.error.startswith("3 workers in a row fell silent and deleted nothing more")
    assert "the last was host:2. Look there" in found.view.error
    assert f"`headgate jobs retry {job.job}`" in found.view.error
    [failed] = [event for event in purging.heard if isinstance(event, PurgeFailed)]
    assert failed.reason == found.view.error


async def test_an_operator_may_let_it_be_tried_again(world: World, node: Node) -> None:
    """The machine has more memory now: workers before that do not count."""
    job = await doomed(world, Purging(node))
    for number in range(3):
        await job.claimed_by(f"host:{number}")
    purging = Purging(await world.node(), PATIENT)
    await look_twice(world, purging)
    await Steering(node.kernel, Inspector(node.kernel)).retry(job.job)
    await job.claimed_by("host:4")
    await look_twice(world, purging)

    assert (await Inspector(node.kernel).find(job.job)).state == State.SUCCEEDED


async def test_servers_may_die_as_often_as_they_like_while_the_job_gets_on(
    world: World, node: Node
) -> None:
    """Each of them tells of one more file."""
    job = await doomed(world, Purging(node))
    for number in range(10):
        await job.claimed_by(f"host:{number}")
        await job.told(deleted=number + 1)
    purging = Purging(await world.node(), PATIENT)
    await look_twice(world, purging)

    assert (await Inspector(node.kernel).find(job.job)).state == State.SUCCEEDED


async def test_what_a_dead_worker_deleted_is_part_of_the_sums(world: World, node: Node) -> None:
    """As far as it told: the two files of its last moment are missing to the one that goes on."""
    late = Purging(await world.node(clock=SteppedClock()))
    late.deleter.scripts = [[Progress("data", 5, 0, 50, 10), Progress("data", 7, 0, 70, 10)]]
    late.deleter.one_by_one = True
    live = await late.drop()
    while not late.deleter.steps:
        await turns(1)
    await turns(30)
    clock = late.node.kernel.clock
    assert isinstance(clock, SteppedClock)
    clock.advance(BEAT_SECONDS * 1_000)
    await turns(30)
    purging = Purging(node)
    purging.deleter.scripts = [[Progress("data", 3, 7, 30, 10)], [Progress("last", 2, 0, 5, 2)]]
    await take_over(world, node)
    clock.advance(TERMS.lease_ms)
    await late.workers.idle()

    done = purging.heard[-1]
    assert isinstance(done, PurgeCompleted)
    assert (done.files, done.bytes) == (10, 85)
    kept = (await Inspector(node.kernel).find(live.id)).view
    assert (kept.files_deleted, kept.files_missing, kept.files_expected) == (10, 2, 12)
