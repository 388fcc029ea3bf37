"""Two users of one server: the table of one takes for ever to plan, and the other does not wait."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.errors import WorkerEnded
from headgate.planning import planner as planners
from headgate.planning.files import LocalFiles
from headgate.planning.planner import WORKER, Planner
from headgate.server_settings import pool_options
from headgate.settings.loading import load
from headgate.settings.server import PLANNING_PROCESSES
from headgate.workers.pool import WorkerPool
from headgate.workers.turns import NO_TENANT
from tests.planning.tables import MetadataTable, data_file
from tests.unit.catalog.lakes import Node, append, commit, opened_world

FILES = 3
REQUESTS = 4
PATIENCE_SECONDS = 50  # less than the time after which the server gives a plan up


class Trap:
    """A file whose readers wait until the trap is opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: int | None = None
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    async def is_read(self) -> None:
        """Wait for the first reader; it and all later ones stay in the trap."""
        while self._held is None:
            try:
                self._held = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:  # nothing reads it yet
                    raise
                await asyncio.sleep(0.01)

    def close(self) -> None:
        if self._held is not None:
            os.close(self._held)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Processes that plan scans, with the settings that a server has by itself."""
    pool = WorkerPool(WORKER, pool_options(load(environ={})))
    yield pool
    await pool.close()


@pytest.fixture
async def node(tmp_path: Path, pool: WorkerPool) -> AsyncIterator[Node]:
    """A server process with a planner that reads local files, also those that never end."""
    async with opened_world(tmp_path) as world:
        node = await world.node()
        node.lake.planner = Planner(pool, lambda _roots: LocalFiles())
        await node.namespace("a")
        yield node


async def table_with_files(node: Node, name: str) -> Path:
    """A table with a snapshot; its manifest list."""
    metadata = (await node.table(name))["metadata"]
    folder = Path(metadata["location"].removeprefix("file://")) / "metadata"
    written = MetadataTable(folder)
    written.snapshot(1, [written.manifest([data_file(f"{number}") for number in range(FILES)])])
    await node.made(f"namespaces/a/tables/{name}", commit(append(metadata, 1)))
    return folder / "snap-1.avro"


@pytest.fixture
async def trap(node: Node) -> AsyncIterator[Trap]:
    """The manifest list of a hostile table; another table is as it should be."""
    trap = Trap(await table_with_files(node, "hostile"))
    await table_with_files(node, "good")
    yield trap
    trap.close()


async def files_planned(node: Node, user: str) -> int:
    answer = await node.made("namespaces/a/tables/good/plan", {}, user=user)
    return len(answer["file-scan-tasks"])


async def test_plans_of_a_hostile_table_hold_up_no_other_user(
    node: Node, pool: WorkerPool, trap: Trap
) -> None:
    """They hold as many processes as one user may have, and more of them wait; none ever ends."""
    processes = load(environ={})[PLANNING_PROCESSES]
    hostile = [
        asyncio.create_task(node.post("namespaces/a/tables/hostile/plan", {}, user="mallory"))
        for _ in range(processes + REQUESTS)
    ]
    await trap.is_read()
    while pool.processes < processes:
        await asyncio.sleep(0.01)

    async with asyncio.timeout(PATIENCE_SECONDS):
        found = [await files_planned(node, user) for user in ("ann", "bob", "ann")]

    assert found == [FILES] * 3
    assert not any(request.done() for request in hostile)
    for request in hostile:
        request.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    assert await files_planned(node, "mallory") == FILES


async def test_a_plan_task_has_less_time_than_a_plan(
    tmp_path: Path, pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one group of manifests, and is ended with its process."""
    table = MetadataTable(tmp_path)
    manifest = table.manifest([data_file("x")])
    table.snapshot(1, [manifest] * 100)
    planner = Planner(pool, lambda _roots: LocalFiles())
    plan = json.loads(await planner.plan(table.metadata(), b"{}", (), NO_TENANT))
    Trap(Path(manifest.manifest_path))
    monkeypatch.setattr(planners, "PLAN_TASK_SECONDS_MAX", 0.1)

    with pytest.raises(WorkerEnded, match=r"no answer within 0\.1 s"):
        await planner.fetch_tasks(table.metadata(), plan["plan-tasks"][0], (), NO_TENANT)

    assert pool.processes == 0
