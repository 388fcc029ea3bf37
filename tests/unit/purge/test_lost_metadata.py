"""The metadata file of a dropped table is not there: it was the last one, or somebody took it."""

from pathlib import Path
from random import Random

from headgate.catalog.purging import PURGED, TASKS
from headgate.errors import FileMissing
from headgate.limits import MEMO_COMPRESSED_BYTES_MAX
from headgate.purge.deleter import Progress
from headgate.purge.finishing import decode_finished
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.steps import LEAVES, ROOTS
from headgate.testing.kernels import turns
from tests.unit.catalog.lakes import METALAKE, Node, World
from tests.unit.purge.scripted import DROP, Purging

PATIENT = JobTerms(max_attempts=2)


async def finished(purging: Purging) -> list[str]:
    """The states of all jobs in the history."""
    realm = purging.node.kernel.realm((await purging.node.kernel.realms.get(METALAKE)).id)
    [head] = await realm.heads(TASKS)
    return [decode_finished(value).state async for _, value in head.index(PURGED).scan()]


async def test_a_metadata_file_that_is_gone_was_the_last_one(world: World, node: Node) -> None:
    """A worker died after it: the job is done, and the folders go too."""
    purging = Purging(node)
    purging.deleter.scripts = [[], [FileMissing("it is gone")]]
    place = Path(world.warehouse) / "x"
    made = await node.table(location=place.as_posix())
    Path(made["metadata-location"]).unlink()
    await node.delete(DROP)
    await purging.workers.idle()

    assert await finished(purging) == [State.SUCCEEDED]
    assert not place.exists()


async def test_a_metadata_file_that_somebody_took_away_is_written_once_more(
    world: World, node: Node
) -> None:
    """Else nobody would know which files it led to: the database has its content."""
    purging = Purging(node)
    purging.deleter.scripts = [[FileMissing("it is gone")]]
    made = await node.table()
    file = Path(made["metadata-location"])
    content = file.read_bytes()
    file.unlink()
    await node.delete(DROP)
    await purging.workers.idle()

    assert file.read_bytes() == content
    assert [task.stage for task in purging.deleter.tasks] == [LEAVES, LEAVES, ROOTS]
    assert await finished(purging) == [State.SUCCEEDED]


async def test_a_metadata_file_that_nobody_has_any_more_is_no_success(
    world: World, node: Node
) -> None:
    """It is too large for the database, and gone before a file was deleted: an operator decides."""
    purging = Purging(node, PATIENT)
    purging.deleter.scripts = [[FileMissing("it is gone")], [FileMissing("it is gone")]]
    digits = Random(7).randbytes(MEMO_COMPRESSED_BYTES_MAX * 2).hex()
    live = await purging.drop(properties={"large": digits})
    await purging.workers.idle()
    world.rig.clock.advance(PATIENT.backoff_max_ms)
    await turns(30)
    await purging.look()
    row = await purging.row(live)

    assert row is not None
    assert row.state == State.DEAD_LETTER
    assert live.job.metadata_location in row.error
    assert await finished(purging) == []


async def test_that_the_leaves_are_gone_is_written_before_a_root_goes(node: Node) -> None:
    """Whoever comes next must not look for what a missing metadata file led to."""
    purging = Purging(node)
    purging.deleter.scripts = [[], [Progress("manifests")]]
    purging.deleter.gate.clear()
    live = await purging.drop()
    await purging.deleter.arrived.wait()
    row = await purging.row(live)
    purging.deleter.gate.set()
    await purging.workers.idle()

    assert row is not None
    assert (len(purging.deleter.tasks), row.stages_done) == (2, LEAVES)
