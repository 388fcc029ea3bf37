"""Deleting in a child process, as its parent sees it."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from threading import Event

import msgspec
import pytest

from headgate.clock import NEVER, SystemClock, deadline_from
from headgate.errors import FileMissing, LeaseLost, Unavailable
from headgate.purge import worker
from headgate.purge.deleter import WORKER, Deleter, Progress, Task
from headgate.purge.deleting import Tell
from headgate.purge.fence import Fence, new_fence
from headgate.purge.steps import LEAVES, ROOTS
from headgate.purge.worker import NobodyListensError, told
from headgate.storage.deletions import Check
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from headgate.workers.frames import PART, PARTS
from headgate.workers.pool import PoolOptions, WorkerPool
from tests.unit.purge.dropped import DroppedTable, files_below

FILES_BELOW = partial(WorkerFiles, StorageOptions(local_sync=False))

HALF_WAY = """
import sys, time
from headgate.purge import worker
from headgate.storage.local_deletion import LocalDeletion
real = LocalDeletion.delete
def half(self, folder, names, check):
    real(self, folder, names[: len(names) // 2], check)
    open(sys.argv[1], "w").close()
    while True:
        time.sleep(0.01)
        check()
LocalDeletion.delete = half
worker.SIGN_OF_LIFE_SECONDS = 0.05
worker.live(worker.JOBS)
"""
"""A child that stops in the middle of its first batch and says so, until it is told to end."""


@pytest.fixture
def fence() -> Iterator[Fence]:
    clock = SystemClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(600))
        yield fence


Pools = Callable[..., WorkerPool]


@pytest.fixture
async def pools() -> AsyncIterator[Pools]:
    """Pools of children that run a text, or the real thing."""
    made: list[WorkerPool] = []

    def make(text: str = "", *arguments: str) -> WorkerPool:
        command = (sys.executable, "-c", text, *arguments) if text else WORKER
        made.append(WorkerPool(command, PoolOptions(workers=1)))
        return made[-1]

    yield make
    for pool in made:
        await pool.close()


async def purge(pool: WorkerPool, table: DroppedTable, fence: Fence) -> list[Progress]:
    deleter = Deleter(pool, FILES_BELOW)
    told = []
    for stage in (LEAVES, ROOTS):
        async for progress in deleter.run(table.task(stage), fence.path):
            told.append(progress)
            assert progress.failed == []
    return told


async def test_a_child_deletes_a_table(tmp_path: Path, pools: Pools, fence: Fence) -> None:
    """Sums of a stage go on over its steps, and nothing is left."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(tmp_path)

    told = await purge(pools(), table, fence)

    leaves, roots = [one for one in told if one.phase == "data"][-1], told[-1]
    assert list(dict.fromkeys(one.phase for one in told)) == [
        *("data", "verifying", "manifests", "manifest-lists", "older", "last"),
    ]
    assert leaves.deleted + roots.deleted == roots.expected + 5 == len(there)
    assert files_below(tmp_path) == set()
    with pytest.raises(FileMissing):
        await purge(pools(), table, fence)


async def test_a_step_waits_for_its_parent(tmp_path: Path, pools: Pools, fence: Fence) -> None:
    """What is outside is deleted by the parent, before what leads to it is deleted by the child."""
    table = DroppedTable(tmp_path).with_everything()
    manifests = {str(path) for path in table.metadata.glob("manifest-*.avro")}
    own = tuple(str(path) for path in table.metadata.iterdir() if str(path) not in manifests)
    task = table.task(ROOTS, own=own, whole_catalog=True)
    outside: set[str] = set()

    async with aclosing(Deleter(pools(), FILES_BELOW).run(task, fence.path)) as steps:
        async for progress in steps:
            outside.update(progress.outside)
            if progress.phase == "manifests":
                assert (table.metadata / "snap-1.avro").exists()

    assert outside == manifests
    assert {str(path) for path in table.metadata.iterdir()} == manifests


async def test_a_stage_ends_with_the_step_that_fails(
    tmp_path: Path, pools: Pools, fence: Fence
) -> None:
    """What leads to a file that is still there is not deleted."""
    table = DroppedTable(tmp_path).with_everything()
    stuck = table.metadata / "manifest-1.avro"
    stuck.unlink()
    (stuck / "inside").mkdir(parents=True)

    run = Deleter(pools(), FILES_BELOW).run(table.task(ROOTS), fence.path)
    told = [progress async for progress in run]

    assert [line.path for one in told for line in one.failed] == [str(stuck)]
    assert {one.phase for one in told} == {"manifests"}
    assert (table.metadata / "snap-1.avro").exists()


async def test_what_a_killed_child_left_is_deleted_by_the_next(
    tmp_path: Path, pools: Pools, fence: Fence
) -> None:
    """SIGKILL in the middle of a batch: its parent hears of it, and a second run ends it all."""
    table = DroppedTable(tmp_path / "w").with_many(500)
    pool = pools(HALF_WAY, str(tmp_path / "half-way"))
    run = Deleter(pool, FILES_BELOW).run(table.task(LEAVES), fence.path)

    def kill() -> None:
        [child] = pool._workers
        os.kill(child._process.pid, signal.SIGKILL)

    with pytest.raises(Unavailable, match="the worker process that handled it ended"):
        await half_way(run, tmp_path / "half-way", kill)
    left = files_below(table.data)
    told = await purge(pools(), table, fence)

    assert len(left) == 250
    leaves = [one for one in told if one.phase == "data"][-1]
    assert (leaves.deleted, leaves.missing, leaves.expected) == (250, 250, 500)
    assert files_below(tmp_path / "w") == set()


async def half_way(run: AsyncGenerator[Progress], marker: Path, then: Callable[[], None]) -> None:
    """Do something when a child is in the middle of a batch; hear what becomes of it."""
    async for _ in run:  # signs of life
        if marker.exists():
            then()


async def test_a_child_stops_when_its_time_is_over(
    tmp_path: Path, pools: Pools, fence: Fence
) -> None:
    """In the middle of its work, and before it begins if it comes too late."""
    table = DroppedTable(tmp_path / "w").with_many(500)
    pool = pools(HALF_WAY, str(tmp_path / "half-way"))
    run = Deleter(pool, FILES_BELOW).run(table.task(LEAVES), fence.path)

    with pytest.raises(LeaseLost, match="not renewed in time"):
        await half_way(run, tmp_path / "half-way", lambda: fence.extend(NEVER))
    with pytest.raises(LeaseLost):
        await purge(pools(), table, fence)

    assert len(files_below(table.data)) == 250


def test_a_child_whose_parent_is_gone_ends_by_itself(tmp_path: Path, fence: Fence) -> None:
    """Nobody reads what it tells, so it does not go on."""
    table = DroppedTable(tmp_path / "w").with_many(500)
    marker = tmp_path / "half-way"
    with subprocess.Popen(
        [sys.executable, "-c", HALF_WAY, str(marker)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(_request(table.task(LEAVES), fence.path))
        child.stdin.flush()
        while not marker.exists():
            child.stdout.read(1)  # signs of life
        child.stdin.close()
        child.stdout.close()
        assert child.wait(60) == 0

    assert len(files_below(table.data)) == 250


def _request(task: Task, fence: Path) -> bytes:
    files = pickle.dumps(FILES_BELOW(task.roots))
    parts = [b"delete", files, files, msgspec.msgpack.encode(task), b"data", bytes(fence)]
    return PARTS.pack(len(parts)) + b"".join(PART.pack(len(part)) + part for part in parts)


def test_work_that_takes_long_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums again, without what was new in them."""
    monkeypatch.setattr(worker, "SIGN_OF_LIFE_SECONDS", 0.01)
    go_on = Event()

    def work(tell: Tell, check: Check) -> None:
        tell(Progress("one", deleted=1, outside=["a"]))
        go_on.wait()
        tell(Progress("two", deleted=2))

    heard = []
    for progress in told(Progress(""), work):
        heard.append(progress)
        if len(heard) == 3:
            go_on.set()

    assert heard[0].outside == ["a"]
    assert set(map(str, heard[1:-1])) == {str(Progress("one", deleted=1))}
    assert heard[-1] == Progress("two", deleted=2)


def test_what_goes_wrong_is_raised_to_the_listener() -> None:
    """After what was told before it."""

    def work(tell: Tell, check: Check) -> None:
        tell(Progress("one"))
        raise LeaseLost("over")

    heard = told(Progress(""), work)

    assert next(heard) == Progress("one")
    with pytest.raises(LeaseLost):
        next(heard)


def test_work_ends_when_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it waits for somebody to hear what it has to tell."""
    monkeypatch.setattr(worker, "SIGN_OF_LIFE_SECONDS", 0.01)
    ended: list[float] = []

    def work(tell: Tell, check: Check) -> None:
        try:
            while True:
                tell(Progress("again"))
        except NobodyListensError:
            ended.append(time.monotonic())
            raise

    heard = told(Progress(""), work)
    next(heard)
    heard.close()  # type: ignore[attr-defined]

    assert len(ended) == 1
