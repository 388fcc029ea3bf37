"""The planner of the catalog: scan planning and the walk over a table's files, in workers."""

import pickle
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from headgate.catalog.ports import Reached, Roots
from headgate.planning.batches import Batch
from headgate.planning.files import Files
from headgate.planning.tokens import unpack_plan
from headgate.workers.pool import WorkerPool, module

WORKER = module("headgate.planning.worker")


class Planner:
    """Answers are bodies of the REST specification, without credentials."""

    def __init__(
        self, pool: WorkerPool, walks: WorkerPool, files_below: Callable[[Roots], Files]
    ) -> None:
        self._pool = pool
        self._walks = walks
        self._files_below = files_below

    async def plan(self, metadata: bytes, request: bytes, roots: Roots) -> bytes:
        """PlanTableScanResult for PlanTableScanRequest."""
        return await self._pool.run("plan", self._files(roots), metadata, request)

    async def fetch_plan(self, metadata: bytes, plan_id: str, roots: Roots) -> bytes:
        """FetchPlanningResult. Raises PlanNotFound if the id is none of ours, or the plan over."""
        unpack_plan(plan_id)
        return await self._pool.run("fetch-plan", self._files(roots), metadata, plan_id.encode())

    def check_plan(self, plan_id: str) -> None:
        """Raises PlanNotFound if the id is none of ours. To cancel a plan, nothing else is due."""
        unpack_plan(plan_id)

    async def fetch_tasks(self, metadata: bytes, plan_task: str, roots: Roots) -> bytes:
        """FetchScanTasksResult. Raises PlanTaskNotFound if the task is none of ours, or over."""
        files = self._files(roots)
        return await self._pool.run("fetch-tasks", files, metadata, plan_task.encode())

    async def reachable(
        self, metadata: bytes, metadata_location: str, roots: Roots
    ) -> AsyncGenerator[Reached]:
        """All files of a table, leaf first, as they are found. Close it if you stop early."""
        files, location = self._files(roots), metadata_location.encode()
        async with aclosing(self._walks.stream("reachable", files, metadata, location)) as batches:
            async for found in batches:
                batch = msgspec.msgpack.decode(found, type=Batch)
                yield Reached(batch.kind.value, batch.paths)

    def _files(self, roots: Roots) -> bytes:
        return pickle.dumps(self._files_below(roots))
