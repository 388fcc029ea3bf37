"""The planner of the catalog: scans are planned in workers."""

import pickle
from collections.abc import Callable

from headgate.catalog.ports import Roots
from headgate.planning.files import Files
from headgate.planning.tokens import unpack_plan
from headgate.workers.pool import WorkerPool, module

WORKER = module("headgate.planning.worker")


class Planner:
    """Answers are bodies of the REST specification, without credentials."""

    def __init__(self, pool: WorkerPool, files_below: Callable[[Roots], Files]) -> None:
        self._pool = pool
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

    def _files(self, roots: Roots) -> bytes:
        return pickle.dumps(self._files_below(roots))
