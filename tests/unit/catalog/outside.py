"""The world outside of a catalog, for tests: storage that counts, a planner that plans nothing."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Sequence

from headgate.catalog.metadata_worker import JOBS
from headgate.catalog.ports import (
    Files,
    Signed,
    SignRequest,
    Storage,
    StorageCredential,
)
from headgate.errors import HeadgateError, PlanNotFound, PlanTaskNotFound
from headgate.planning.requests import parse
from headgate.workers.turns import NO_TENANT, Tenant
from tests.unit.catalog.walking import Reached

PLAN_ID, PLAN_TASK = "plan-1", "task-1"


class CountingFiles:
    """Counts what is asked of files, and lets a test fail a write."""

    def __init__(self, inner: Files, counts: Counter[str], failing: list[HeadgateError]) -> None:
        self._inner = inner
        self._counts = counts
        self._failing = failing

    async def read(self, location: str) -> bytes:
        self._counts["read"] += 1
        return await self._inner.read(location)

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        self._counts["write"] += 1
        if self._failing and self._counts["write"] > 1:
            raise self._failing.pop()
        await self._inner.write(location, data)

    async def missing(self, location: str) -> bool:
        self._counts["missing"] += 1
        return await self._inner.missing(location)

    def missing_now(self, location: str) -> bool | None:
        if self._counts["far"]:
            return None
        return self._inner.missing_now(location)

    async def prepare(self, location: str) -> None:
        await self._inner.prepare(location)

    async def delete(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        self._counts["delete"] += len(locations)
        if self._counts["undeletable"]:
            return [(location, "it is stuck") for location in locations]
        return await self._inner.delete(locations)

    async def is_empty(self, location: str) -> bool:
        return await self._inner.is_empty(location)

    async def remove_folders(self, location: str) -> None:
        await self._inner.remove_folders(location)


class CountingStorage:
    """The real storage; reads and writes of files are counted.

    Set `counts["far"]` to let files look like those of an object store, `counts["undeletable"]` to
    let no file be deleted, `counts["credential-seconds"]` to let credentials have a life, and put
    an error into `failing` for the second write that comes.
    """

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.counts: Counter[str] = Counter()
        self.failing: list[HeadgateError] = []

    def files(self, roots: tuple[str, ...]) -> Files:
        return CountingFiles(self._inner.files(roots), self.counts, self.failing)

    def client_config(self, location: str) -> dict[str, str]:
        return self._inner.client_config(location)

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        return await self._inner.credentials(location, write=write)

    def credential_seconds(self, location: str) -> int:
        return self.counts["credential-seconds"] or self._inner.credential_seconds(location)

    def credential_generation(self, location: str) -> str:
        return self._inner.credential_generation(location)

    def sign(self, request: SignRequest, locations: Sequence[str], *, write: bool) -> Signed:
        return self._inner.sign(request, locations, write=write)


class InlineWorkers:
    """Does the jobs of worker processes here, counts them, and lets a test fail one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.largest: dict[str, int] = {}
        self.tenants: set[Tenant] = set()
        self.failing: list[HeadgateError] = []

    async def run_all(self, job: str, *arguments: bytes, tenant: Tenant = NO_TENANT) -> list[bytes]:
        self.tenants.add(tenant)
        if self.failing:
            raise self.failing.pop()
        self.counts[job] += 1
        self.largest[job] = max(self.largest.get(job, 0), sum(map(len, arguments)))
        return list(JOBS[job.encode()](*arguments))


class FakePlanner:
    """Knows one plan with one task, and that a table is its metadata files and what a test adds.

    While `gate` is closed, nobody learns which files a table has; `arrived` says that one asked.
    """

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached: list[Reached] = []
        self.asked: list[bytes] = []
        self.tenants: list[Tenant] = []
        self.failing: list[Exception] = []

    async def plan(
        self, metadata: bytes, request: bytes, roots: tuple[str, ...], tenant: Tenant
    ) -> bytes:
        parse(request)
        self.asked.append(metadata)
        self.tenants.append(tenant)
        return b'{"status":"completed","plan-id":"plan-1","plan-tasks":["task-1"]}'

    async def fetch_plan(
        self, metadata: bytes, plan_id: str, roots: tuple[str, ...], tenant: Tenant
    ) -> bytes:
        self.check_plan(plan_id)
        self.tenants.append(tenant)
        return b'{"status":"completed","plan-tasks":["task-1"]}'

    def check_plan(self, plan_id: str) -> None:
        if plan_id != PLAN_ID:
            raise PlanNotFound(f"Plan does not exist: {plan_id}")

    async def fetch_tasks(
        self, metadata: bytes, plan_task: str, roots: tuple[str, ...], tenant: Tenant
    ) -> bytes:
        if plan_task != PLAN_TASK:
            raise PlanTaskNotFound(f"Plan task does not exist: {plan_task}")
        self.tenants.append(tenant)
        return b'{"file-scan-tasks":[],"delete-files":[]}'

    async def reachable(self, metadata: bytes, metadata_location: str) -> AsyncGenerator[Reached]:
        self.arrived.set()
        await self.gate.wait()
        if self.failing:
            raise self.failing.pop()
        for reached in self.reached:
            yield reached
        log = json.loads(metadata).get("metadata-log", [])
        yield Reached("old-metadata", [entry["metadata-file"] for entry in log])
        yield Reached("metadata", [metadata_location])
