"""What a server sees for itself when somebody else says that files are deleted."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from headgate.errors import FileMissing
from headgate.purge import deleting
from headgate.purge.claims import Claims
from headgate.purge.deleter import STILL_THERE, Deleting, Progress, Task
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.ledger import Failed
from headgate.purge.orders import Report
from headgate.purge.outwork import Outwork
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.stages import Children, Stages
from headgate.purge.steps import LEAVES, ROOTS
from headgate.purge.witness import Witnessed
from tests.unit.catalog.lakes import Node
from tests.unit.catalog.purges import TERMS
from tests.unit.catalog.walking import Unrelated
from tests.unit.purge.dropped import DroppedTable, files_below, run
from tests.unit.purge.scripted import Purging

FENCE = Path("fence")


class Here:
    """Does what it is told on a thread of this process."""

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        for progress in (await asyncio.to_thread(run, task)).progress:
            yield progress


class Liar:
    """Tells of what it never did."""

    def __init__(self, *, is_missing: bool = False) -> None:
        self._is_missing = is_missing

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        yield Progress("data", deleted=9, expected=9)
        if self._is_missing:
            raise FileMissing(f"{task.metadata_location} is gone")


async def told(deleter: Deleting, task: Task) -> list[Progress]:
    """All that is told of a stage."""
    return [one async for one in Witnessed(deleter, Here()).run(task, FENCE)]


def failed(progress: list[Progress]) -> list[Failed]:
    return [line for one in progress for line in one.failed]


@pytest.fixture
def table(tmp_path: Path) -> DroppedTable:
    """A table of all kinds of files, with one beside them that never was its own."""
    made = DroppedTable(tmp_path).with_everything()
    made.file("stray.parquet")
    return made


async def test_a_stage_that_was_done_is_believed(table: DroppedTable) -> None:
    """Files that never were the table's may be there."""
    leaves = await told(Here(), table.task(LEAVES))
    roots = await told(Here(), table.task(ROOTS))

    assert failed(leaves) == failed(roots) == []
    assert leaves[-1].deleted == leaves[-2].deleted > 0
    assert files_below(table.folder) == {"data/stray.parquet"}


@pytest.mark.parametrize("is_missing", [False, True])
async def test_leaves_that_nobody_deleted_have_failed(
    table: DroppedTable, is_missing: bool
) -> None:
    """Those that the table refers to, whatever was said; nothing is deleted by looking."""
    before = files_below(table.folder)
    progress = await told(Liar(is_missing=is_missing), table.task(LEAVES))

    assert {Path(one.path).name for one in failed(progress)} == {
        f"{name}.parquet" for name in "abcde"
    }
    assert {one.why for one in failed(progress)} == {STILL_THERE}
    assert progress[-1].deleted == 9
    assert files_below(table.folder) == before


async def test_only_so_many_files_are_looked_at(
    table: DroppedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a place with millions a few tell enough."""
    monkeypatch.setattr(deleting, "SEEN_MAX", 3)

    assert len(failed(await told(Liar(), table.task(LEAVES)))) <= 3


@pytest.mark.parametrize("is_missing", [False, True])
async def test_a_metadata_file_that_nobody_deleted_has_failed(
    table: DroppedTable, is_missing: bool
) -> None:
    """It was to go last."""
    await told(Here(), table.task(LEAVES))

    progress = await told(Liar(is_missing=is_missing), table.task(ROOTS))

    assert failed(progress) == [Failed(str(table.root), STILL_THERE)]


async def test_a_metadata_file_that_is_not_to_be_deleted_may_be_there(table: DroppedTable) -> None:
    """It lies elsewhere."""
    task = table.task(ROOTS, own=(str(table.data),))

    assert failed(await told(Liar(), task)) == []


async def test_a_metadata_file_that_is_gone_is_missing_for_all(table: DroppedTable) -> None:
    """Whoever says so is believed then."""
    table.root.unlink()

    with pytest.raises(FileMissing):
        await told(Liar(is_missing=True), table.task(ROOTS))
    with pytest.raises(FileMissing):
        await told(Liar(), table.task(LEAVES))


async def test_a_program_that_only_says_so_does_not_end_a_job(node: Node) -> None:
    """The attempt has failed, and the job is tried again."""
    purging = Purging(node, JobTerms(worker_threads=0))
    children = Children(purging.deleter, Unrelated())
    stages = Stages(node.kernel, Queue(node.kernel), node.storage, children, TERMS)

    def runner(deleter: Deleting) -> Runner:
        seen = stages.with_deleter(Witnessed(deleter, Here()))
        return Runner(seen, node.events, lambda: 0.5)

    claims = Claims(node.kernel, TERMS, "host:1")
    outwork = Outwork(claims, runner, TERMS.lease_ms / 1_000, lambda: "token")
    live = await purging.drop()
    await outwork.claim(live)
    for number in (1, 2):
        order = await outwork.tell(live.id, Report("token", number, has_ended=True))
    row = await purging.row(live)
    await outwork.close()

    assert order.state == State.PENDING
    assert order.why.startswith("1 file cannot be deleted")
    assert row is not None
    assert (row.state, row.attempts) == (State.PENDING, 1)
    assert row.ledger == (Failed(live.job.metadata_location, STILL_THERE),)
