"""The planner of the catalog: scans are planned in workers."""

import pickle
from collections.abc import Callable

from headgate.catalog.ports import Roots
from headgate.limits import PLAN_TASK_SECONDS_MAX
from headgate.planning.files import Files
from headgate.planning.tokens import unpack_plan
from headgate.workers.pool import WorkerPool, module
from headgate.workers.turns import Tenant

WORKER = module("headgate.planning.worker")


class Planner:
    """Answers are bodies of the REST specification, without credentials."""

    def __init__(self, pool: WorkerPool, files_below: Callable[[Roots], Files]) -> None:
        self._pool = pool
        self._files_below = files_below

    async def plan(self, metadata: bytes, request: bytes, roots: Roots, tenant: Tenant) -> bytes:
        """PlanTableScanResult for PlanTableScanRequest."""
        files = self._files(roots)
        return await self._pool.run("plan", files, metadata, request, tenant=tenant)

    async def fetch_plan(
        self, metadata: bytes, plan_id: str, roots: Roots, tenant: Tenant
    ) -> bytes:
        """FetchPlanningResult. Raises PlanNotFound if the id is none of ours, or the plan over."""
        unpack_plan(plan_id)
        files, wanted = self._files(roots), plan_id.encode()
        return await self._pool.run("fetch-plan", files, metadata, wanted, tenant=tenant)

    def check_plan(self, plan_id: str) -> None:
        """Raises PlanNotFound if the id is none of ours. To cancel a plan, nothing else is due."""
        unpack_plan(plan_id)

    async def fetch_tasks(
        self, metadata: bytes, plan_task: str, roots: Roots, tenant: Tenant
    ) -> bytes:
        """FetchScanTasksResult. Raises PlanTaskNotFound if the task is none of ours, or over."""
        return await self._pool.run(
            "fetch-tasks",
            self._files(roots),
            metadata,
            plan_task.encode(),
            tenant=tenant,
            deadline_seconds=PLAN_TASK_SECONDS_MAX,
        )

    def _files(self, roots: Roots) -> bytes:
        return pickle.dumps(self._files_below(roots))
