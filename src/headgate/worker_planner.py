"""The planner of the catalog: its jobs go to worker processes that open the catalog's stores."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from headgate.catalog.ports import Reached, Roots
from headgate.planning.planner import Planner
from headgate.planning.pool import WorkerPool
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles


class WorkerPlanner:
    """Plans scans and walks over the files of tables."""

    def __init__(self, pool: WorkerPool, walks: WorkerPool, storage: StorageOptions) -> None:
        self._planner = Planner(pool)
        self._walker = Planner(walks)
        self._storage = storage

    async def plan(self, metadata: bytes, request: bytes, roots: Roots) -> bytes:
        return await self._planner.plan(metadata, request, WorkerFiles(self._storage, roots))

    async def fetch_plan(self, metadata: bytes, plan_id: str, roots: Roots) -> bytes:
        return await self._planner.fetch_plan(metadata, plan_id, WorkerFiles(self._storage, roots))

    def check_plan(self, plan_id: str) -> None:
        self._planner.check_plan(plan_id)

    async def fetch_tasks(self, metadata: bytes, plan_task: str, roots: Roots) -> bytes:
        files = WorkerFiles(self._storage, roots)
        return await self._planner.fetch_tasks(metadata, plan_task, files)

    async def reachable(
        self, metadata: bytes, metadata_location: str, roots: Roots
    ) -> AsyncGenerator[Reached]:
        files = WorkerFiles(self._storage, roots)
        async with aclosing(self._walker.reachable(metadata, metadata_location, files)) as walk:
            async for batch in walk:
                yield Reached(batch.kind.value, list(batch.paths))
