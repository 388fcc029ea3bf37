"""Jobs that are worked on outside of this server: a program claims one, is told what to delete, and
tells how far it is.

To the runner such a program is a child like any other, so its job has the same row, lease, events
and history. It is known only to the process of the server that it spoke to first.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path

from headgate.catalog.purging import LiveJob
from headgate.errors import Conflict, HeadgateError, Unavailable
from headgate.purge.claims import MARGIN, Claims, Lease
from headgate.purge.deleter import Deleting, Progress, Task
from headgate.purge.orders import LOST, Claimed, Order, Report
from headgate.purge.running import WITH_SPARK, Runner
from headgate.workers.pool import error_of

STOP_SECONDS = 3.0
"""That a server which stops waits for programs to hear of it."""
FIRST_SECONDS = 10.0
"""That a claim is not answered because nobody knows yet what may be deleted."""


class Outworker:
    """One program at work on one job: lets it delete."""

    def __init__(self, patience_seconds: float) -> None:
        self.patience_seconds = patience_seconds
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._order: asyncio.Future[Order] = asyncio.get_running_loop().create_future()
        self._number = 0
        self._is_silent = False

    async def first(self) -> Order:
        """What is to be done at first; if that takes too long to find out, report 0 asks again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SECONDS):
                return await asyncio.shield(self._order)
        return Order()

    async def tell(self, report: Report) -> Order:
        """Take a report; what is to be done then, known when all that it told of is recorded."""
        if report.number == self._number + 1 and self._order.done():
            self._number += 1
            self._order = asyncio.get_running_loop().create_future()
            self._reports.put_nowait(report)
        elif report.number != self._number:
            raise Conflict(
                f"Report {report.number} is not the next one",
                why=f"{self._number} came last",
                fix="Send one after the other, and wait for each answer",
            )
        return await asyncio.shield(self._order)

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:  # noqa: ARG002
        """One stage; see `Deleter`. What the program may do ends by its own stopwatch."""
        self._say(Order(task))
        try:
            while True:
                report = await self._heard()
                if report.error is not None:
                    raise error_of(report.error)
                if report.progress is not None:
                    yield report.progress
                if report.has_ended:
                    return
                self._say(Order())
        finally:
            await self._paused()

    def end(self, state: str, why: str) -> None:
        """Nothing more is to be done."""
        self._say(Order(state=state, why=why))

    def _say(self, order: Order) -> None:
        if not self._order.done():
            self._order.set_result(order)

    async def _heard(self) -> Report:
        try:
            async with asyncio.timeout(self.patience_seconds):
                return await self._reports.get()
        except TimeoutError as error:
            self._is_silent = True
            raise Unavailable(
                "The purge was broken off",
                why=f"the program that worked on it was silent for {self.patience_seconds:g} s",
            ) from error

    async def _paused(self) -> None:
        """Wait until the program deletes nothing: it asks what to do, or its time is over."""
        if self._order.done() and not self._is_silent:
            with suppress(Unavailable):
                await self._heard()


class Outwork:
    """The programs that work on jobs by way of this process."""

    def __init__(
        self,
        claims: Claims,
        runner: Callable[[Deleting], Runner],
        lease_seconds: float,
        new_token: Callable[[], str],
    ) -> None:
        self._claims = claims
        self._runner = runner
        self._lease_seconds = lease_seconds
        self._new_token = new_token
        self._workers: dict[tuple[int, str], Outworker] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def claim(self, live: LiveJob) -> Claimed:
        """Give a job to a program; `Conflict` if it is not due, or somebody else has it."""
        if live.job.purger not in WITH_SPARK:
            raise Conflict(
                f"Job {live.id} cannot be claimed",
                why=f"only the purger {live.job.purger!r} touches its files",
                fix="Leave it to servers that have this purger",
            )
        lease = await self._claims.claim(live)
        if lease is None:
            raise Conflict(
                f"Job {live.id} cannot be claimed",
                why="it is not due yet, or somebody else works on it",
                fix=f"`headgate jobs show {live.id}` tells; try again later",
            )
        return await self._begun(lease)

    async def tell(self, id: int, report: Report) -> Order:
        """Take a report of the program that has a job; `Conflict` if it has it no more."""
        worker = self._workers.get((id, report.token))
        if worker is None:
            raise Conflict(
                f"Job {id} is not worked on with this token",
                why="it has ended, or somebody else has it, or another process of the server knows",
                fix="Delete nothing more of it; claim it again if it is open",
            )
        return await worker.tell(report)

    async def close(self) -> None:
        """Give all jobs back."""
        for worker in self._workers.values():
            worker.patience_seconds = STOP_SECONDS
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _begun(self, lease: Lease) -> Claimed:
        worker, token = Outworker(self._lease_seconds), self._new_token()
        self._workers[lease.live.id, token] = worker
        task = asyncio.create_task(self._run(lease, worker, token))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        silence = self._lease_seconds * (1 - 1 / MARGIN)
        return Claimed(token, silence, await worker.first())

    async def _run(self, lease: Lease, worker: Outworker, token: str) -> None:
        try:
            row = await self._runner(worker).run(lease)
            worker.end(row.state, row.error)
        except HeadgateError as error:
            worker.end(LOST, str(error))
        finally:
            worker.end(LOST, "the server stopped")
            del self._workers[lease.live.id, token]
