"""A deleter that does what a test tells it, in a node that purges with it."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count
from pathlib import Path
from typing import Any

from headgate.catalog.events import Event
from headgate.catalog.purging import LiveJob, PurgeTerms
from headgate.clock import Clock
from headgate.purge.deleter import Progress, Task
from headgate.purge.fence import open_fence
from headgate.purge.jobs import JobRow, JobTerms
from headgate.purge.queue import Queue
from headgate.purge.service import PurgeService
from tests.unit.catalog.lakes import Node
from tests.unit.catalog.purges import TERMS, purge_workers

TABLE = "namespaces/a/tables/t"
DROP = f"{TABLE}?purgeRequested=true"

AT_ONCE = PurgeTerms()
Step = Progress | Exception
"""What happens next in a stage."""


class Scripted:
    """Deletes nothing. Each stage takes the next script; without one it ends well at once.

    While `gate` is closed it waits before each step; then it looks whether it may go on.
    """

    numbers = count()
    """Of the stages of all deleters, in the order in which they begin."""

    def __init__(self, clock: Clock) -> None:
        self.log: list[int] = []
        """The stage of each step, perhaps shared with others."""
        self.scripts: list[list[Step]] = []
        self.tasks: list[Task] = []
        self.arrived = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.one_by_one = False
        """Whether the gate closes behind each step."""
        self.steps = 0
        """That were made."""
        self.at_once = 0
        """Stages that go on now."""
        self.at_once_most = 0
        self._clock = clock

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        self.tasks.append(task)
        stage = next(self.numbers)
        script = self.scripts.pop(0) if self.scripts else [Progress(task.stage)]
        self.at_once += 1
        self.at_once_most = max(self.at_once, self.at_once_most)
        try:
            with open_fence(fence, self._clock) as opened:
                for step in script:
                    self.arrived.set()
                    await self.gate.wait()
                    if self.one_by_one:
                        self.gate.clear()
                    opened.check()
                    self.steps += 1
                    self.log.append(stage)
                    if isinstance(step, Exception):
                        raise step
                    yield step
        finally:
            self.at_once -= 1


class Purging:
    """A node that purges by script, what it tells, and a table that it drops."""

    def __init__(self, node: Node, terms: JobTerms = TERMS, promised: PurgeTerms = AT_ONCE) -> None:
        self.node = node
        self.deleter = Scripted(node.kernel.clock)
        self.workers = purge_workers(
            node.kernel, node.storage, node.planner, node.events, terms, self.deleter
        )
        self.heard: list[Event] = []
        node.events.listeners.append(self.heard.append)
        node.purges = self.workers
        node.lake.purging = PurgeService(self.workers, promised)

    async def drop(self, name: str = "t", **more: Any) -> LiveJob:
        """Make a table and drop it; its job."""
        await self.node.table(name, **more)
        answer = await self.node.delete(f"namespaces/a/tables/{name}?purgeRequested=true")
        assert answer.status == 204, answer
        jobs = await self.live()
        return next(live for live in jobs if live.job.table.name == name)

    async def live(self) -> list[LiveJob]:
        """All jobs that are recorded."""
        return await Queue(self.node.kernel).live_jobs()

    async def row(self, live: LiveJob) -> JobRow | None:
        """The row of a job as it is now."""
        found = (await self.node.kernel.store.read_versioned(live.realm, [live.id])).get(live.id)
        return found.value if found and isinstance(found.value, JobRow) else None

    async def look(self) -> None:
        """Do all that can be done now."""
        self.workers.wake()
        await self.workers.idle()

    def names(self) -> list[str]:
        """What was told, in order."""
        return [event.name for event in self.heard]
