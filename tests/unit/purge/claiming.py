"""Workers that want the same job: each with a clock and faults of its own, on one database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from headgate.backends.memory import MemoryBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.errors import NoNodeId
from headgate.kernel.backend import Backend
from headgate.kernel.kernel import Kernel
from headgate.limits import LEASE_RENEW_MS
from headgate.model.names import Identifier
from headgate.purge.claims import Claims, Lease
from headgate.purge.jobs import PURGE_TYPES, JobRow, JobTerms
from headgate.testing.faults import Faults, FaultyBackend
from headgate.testing.kernels import SteppedClock, open_kernel_on

TERMS = JobTerms()
JOB = PurgeJob(Identifier(("a",), "t"), "/w/a/t/metadata/1.json", ("/w/a/t",), created_ms=1)


class Worker(NamedTuple):
    """One process."""

    kernel: Kernel
    clock: SteppedClock
    faults: Faults
    claims: Claims

    async def row(self, live: LiveJob) -> JobRow | None:
        """The row of a job, as it is now."""
        found = (await self.kernel.store.read_versioned(live.realm, [live.id])).get(live.id)
        return found.value if found and isinstance(found.value, JobRow) else None

    async def pass_time(self, ms: float) -> None:
        """Let time go by, slowly enough for the process to keep its node id."""
        end = self.clock.seconds() + ms / 1_000
        while (left := end - self.clock.seconds()) > 0:
            self.clock.advance(min(1_000 * left, LEASE_RENEW_MS))
            while not self._has_node_id():
                await asyncio.sleep(0.001)

    def _has_node_id(self) -> bool:
        try:
            return self.kernel.ids.next() > 0
        except NoNodeId:
            return False

    async def claimed(self, live: LiveJob) -> Lease:
        """A job that must be there to be claimed."""
        lease = await self.claims.claim(live)
        assert lease is not None
        return lease


def job(id: int = 7, **fields: object) -> LiveJob:
    """A job with these fields."""
    fields = {"metadata_location": JOB.metadata_location, "reserved": JOB.reserved, **fields}
    return LiveJob("realm", "m", 1, "c", id, PurgeJob(JOB.table, **fields), ("/w",))  # type: ignore[arg-type]


@asynccontextmanager
async def opened_workers(kind: str, folder: Path) -> AsyncIterator[list[Worker]]:
    """Two workers on one database."""
    memory = MemoryBackend()
    makers: dict[str, Callable[[], Backend]] = {
        "memory": lambda: memory,
        "sqlite": lambda: SqliteBackend(folder / "headgate.db"),
    }
    workers: list[Worker] = []
    try:
        for seed in range(2):
            clock, faults = SteppedClock(), Faults()
            backend = FaultyBackend(makers[kind](), faults)
            kernel = open_kernel_on(backend, clock=clock, seed=seed, types=PURGE_TYPES)
            await kernel.open()
            claims = Claims(kernel, TERMS, f"host:{seed}")
            workers.append(Worker(kernel, clock, faults, claims))
        yield workers
    finally:
        for worker in workers:
            worker.faults.active = False
            await worker.kernel.close()
