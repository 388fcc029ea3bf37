"""Scan planning and the walk over a table's files, as the server sees them."""

import pickle
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from headgate.planning.batches import Batch
from headgate.planning.files import Files
from headgate.planning.pool import WorkerPool
from headgate.planning.tokens import unpack_plan


class Planner:
    """Answers are bodies of the REST specification, without credentials."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    async def plan(self, metadata: bytes, request: bytes, files: Files) -> bytes:
        """PlanTableScanResult for PlanTableScanRequest."""
        return await self._pool.run("plan", pickle.dumps(files), metadata, request)

    async def fetch_plan(self, metadata: bytes, plan_id: str, files: Files) -> bytes:
        """FetchPlanningResult. Raises PlanNotFound if the id is none of ours, or the plan over."""
        unpack_plan(plan_id)
        return await self._pool.run("fetch-plan", pickle.dumps(files), metadata, plan_id.encode())

    def check_plan(self, plan_id: str) -> None:
        """Raises PlanNotFound if the id is none of ours. To cancel a plan, nothing else is due."""
        unpack_plan(plan_id)

    async def fetch_tasks(self, metadata: bytes, plan_task: str, files: Files) -> bytes:
        """FetchScanTasksResult. Raises PlanTaskNotFound if the task is none of ours, or over."""
        return await self._pool.run(
            "fetch-tasks", pickle.dumps(files), metadata, plan_task.encode()
        )

    async def reachable(
        self, metadata: bytes, metadata_location: str, files: Files
    ) -> AsyncGenerator[Batch, None]:
        """All files of a table, leaf first, as they are found. Close it if you stop early."""
        stream = self._pool.stream(
            "reachable", pickle.dumps(files), metadata, metadata_location.encode()
        )
        async with aclosing(stream) as batches:
            async for batch in batches:
                yield msgspec.msgpack.decode(batch, type=Batch)
