"""The whole machinery of purges in one process: jobs, claims, workers and the code of a deleting
child, with time and storage in the hands of a test."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from headgate.catalog.events import Event, EventBus
from headgate.clock import Clock
from headgate.pipelines.fixtures.table import Made, make_table
from headgate.purge import gaps, surveying, sweeping, worker
from headgate.purge.claims import Claims
from headgate.purge.deleter import Deleter
from headgate.purge.inspecting import Found, Inspector
from headgate.purge.jobs import JobRow, JobTerms
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.stages import Children, Stages
from headgate.purge.steering import Steering
from headgate.purge.surveyor import Surveyor
from headgate.purge.workers import Workers
from headgate.testing.faults import Faults
from headgate.testing.kernels import Rig, SteppedClock
from headgate.workers.pool import WorkerPool
from headgate.workers.turns import NO_TENANT, Tenant
from tests.purge.faulty_files import LOCAL, Trouble
from tests.purge.listing import files_below, local_path
from tests.unit.catalog.lakes import Node, World

MIDDLE = 0.5  # of what is left to chance
FILES = 60
AHEAD_MS = 10_000
END = object()
_childs_clock: ContextVar[Clock] = ContextVar("the clock of a child")


class InlinePool:
    """Runs the code of deleting children here, each on threads of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.broken_off = asyncio.Event()
        """Somebody stopped listening to a child."""

    async def stream(
        self, job: str, *arguments: bytes, tenant: Tenant = NO_TENANT
    ) -> AsyncGenerator[bytes]:
        _childs_clock.set(self._clock)
        steps = worker.JOBS[job.encode()](*arguments)
        step: asyncio.Future[object] | None = None
        has_ended = False
        try:
            while True:
                step = asyncio.ensure_future(asyncio.to_thread(next, steps, END))
                answer = await asyncio.shield(step)
                if answer is END:
                    has_ended = True
                    break
                assert isinstance(answer, bytes)
                yield answer
        finally:
            if not has_ended:
                self.broken_off.set()
            if step is not None:  # a thread cannot be killed
                await asyncio.gather(step, return_exceptions=True)
            await asyncio.to_thread(steps.close)  # type: ignore[attr-defined]


class Machine:
    """One process that works on purges."""

    def __init__(self, node: Node, terms: JobTerms, trouble: Trouble, name: str) -> None:
        self.node = node
        self.terms = terms
        self.trouble = trouble
        self.told: list[Event] = []
        self.inspector = Inspector(node.kernel)
        self.steering = Steering(node.kernel, self.inspector)
        events = EventBus(name)
        events.listeners.append(self.told.append)
        self.pool = InlinePool(node.kernel.clock)
        pool, files_below = cast("WorkerPool", self.pool), trouble.files_below
        children = Children(Deleter(pool, files_below), Surveyor(pool, files_below))
        stages = Stages(node.kernel, Queue(node.kernel), node.storage, children, terms)
        runner = Runner(stages, events, lambda: MIDDLE)
        self.claims = Claims(node.kernel, terms, name)
        self.workers = Workers(runner, self.claims, lambda: MIDDLE)

    async def make(self, name: str = "t", files: int = FILES, location: str | None = None) -> Made:
        """A table with files of all kinds."""
        making = partial(make_table, Bridge(self.node), ("a", name), files, location=location)
        return await asyncio.to_thread(making)

    async def drop(self, name: str = "t") -> int:
        """Drop a table with purge, and the id of its job; nobody begins with it."""
        before = {found.live.id for found in await self.inspector.all_live()}
        answer = await self.node.delete(f"namespaces/a/tables/{name}?purgeRequested=true")
        assert answer.status == 204, answer
        [job] = {found.live.id for found in await self.inspector.all_live()} - before
        return job

    async def work(self) -> None:
        """Do what can be done now."""
        self.workers.wake()
        await self.workers.idle()

    async def find(self, job: int) -> Found:
        return await self.inspector.find(job)

    async def row(self, job: int) -> JobRow:
        """Of a job that was tried."""
        row = (await self.find(job)).row
        assert row is not None
        return row

    async def close(self) -> None:
        await self.workers.close()


class Bridge:
    """Asks a node from another thread, as if over HTTP."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._loop = asyncio.get_running_loop()

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        asking = self._node.send(method, path.removeprefix("/"), body)
        answer = asyncio.run_coroutine_threadsafe(asking, self._loop).result()
        assert answer.status in {200, 204}, answer
        return json.dumps(answer.json).encode()


class Site:
    """One store and one storage, with any number of machines."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.trouble = Trouble()
        self.machines: list[Machine] = []
        # Fixtures have real times, and a server may not be behind its clients.
        world.rig.clock = SteppedClock(time.time_ns() // 1_000_000 + AHEAD_MS)
        monkeypatch.setattr(sweeping, "PAUSES_SECONDS", (0.0,) * len(sweeping.PAUSES_SECONDS))
        monkeypatch.setattr(worker, "SystemClock", _childs_clock.get)
        monkeypatch.setattr(worker, "SIGN_OF_LIFE_SECONDS", 0.01)
        for known in (surveying._known, surveying._referred, gaps._known):
            known.clear()  # children are threads here, and know each other's manifests

    async def machine(
        self,
        terms: JobTerms | None = None,
        clock: Clock | None = None,
        trouble: Trouble | None = None,
    ) -> Machine:
        """Another process, perhaps with a clock and trouble of its own; it works when told to."""
        node = await self.world.node(clock=clock)
        await node.purges.close()  # it would begin by itself
        name = f"machine-{len(self.machines)}"
        machine = Machine(node, terms or JobTerms(), trouble or self.trouble, name)
        self.machines.append(machine)
        return machine


@asynccontextmanager
async def opened_site(
    folder: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults | None = None
) -> AsyncIterator[Site]:
    """A site without machines; its database may have faults."""
    async with Rig(faults) as rig:
        site = Site(World(rig, folder, LOCAL), monkeypatch)
        try:
            yield site
        finally:
            for machine in site.machines:
                await machine.close()
                await machine.node.close()


def files_of(made: Made) -> set[Path]:
    """What lies where a table is, or was."""
    return files_below(local_path(made.location))
