"""One purge job of a server, done by this program: what its driver tells is reported, and what the
server says then is done."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from headgate.clock import deadline_from
from headgate.errors import Conflict, HeadgateError, LeaseLost, OutcomeUnknown, Unavailable
from headgate.pipelines.bounds import SPARK_REPORT_SECONDS
from headgate.purge.deleter import Progress
from headgate.purge.ledger import NONE_LEFT
from headgate.purge.orders import Claimed, Order, Report
from headgate.purge.steps import ROOTS
from headgate.storage.options import StorageOptions
from headgate.workers.serving import failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate.clock import Clock
    from headgate.pipelines.server import Server
    from headgate.purge.deleter import Deleting, Task
    from headgate.purge.fence import Fence
    from headgate.workers.frames import Failure

PATH = "/management/v1/jobs"
RETRY_SECONDS = 0.5
GO_ON = Order()


class ClaimedJob(Claimed, frozen=True, kw_only=True, rename="kebab"):
    """A job that this program has, with the keys to its files."""

    storage: StorageOptions


def claim(server: Server, id: str) -> ClaimedJob:
    """Take a job; `Conflict` if it is not due, or somebody else has it."""
    return msgspec.convert(server.post(f"{PATH}/{id}/claim"), ClaimedJob)


class Work:
    """One claimed job."""

    def __init__(self, server: Server, id: str, claimed: ClaimedJob, fence: Fence) -> None:
        self._server = server
        self._path = f"{PATH}/{id}/report"
        self._claimed = claimed
        self._fence = fence
        self._clock: Clock = fence.clock
        self._number = 0
        self._told_at = 0.0
        self._untold: Progress | None = None
        self._left = NONE_LEFT, NONE_LEFT

    async def run(self, deleter: Deleting, show: Callable[[Progress], None]) -> Order:
        """Bring it to its end, and say how it ended; `LeaseLost` if it is ours no more."""
        order = self._claimed.order
        while order == GO_ON:  # it is not known yet what may be deleted
            order = await self._answered(Report(self._claimed.token, 0))
        while not order.state:
            assert order.task is not None, "each stage ends with another, or with a state"
            order = await self._stage(order.task, deleter, show)
        return order

    async def _stage(
        self, task: Task, deleter: Deleting, show: Callable[[Progress], None]
    ) -> Order:
        """One stage, and what is to be done then."""
        self._untold = None
        self._left = NONE_LEFT, NONE_LEFT
        try:
            async with aclosing(deleter.run(task, self._fence.path)) as steps:
                async for progress in steps:
                    show(progress)
                    order = await self._told(progress, task.stage)
                    if order != GO_ON:
                        return order
        except LeaseLost:
            raise
        except HeadgateError as error:
            return await self._send(error=failure(error))
        return await self._send(progress=self._untold, has_ended=True)

    async def _told(self, progress: Progress, stage: str) -> Order:
        """Report progress: at once if it asks for something, or if nobody can find it out again
        when the last file is gone; else now and then."""
        self._untold = progress
        left = progress.left_outside, progress.unreferenced
        is_urgent = progress.failed or progress.outside or progress.is_stale
        is_urgent = is_urgent or (stage == ROOTS and left != self._left)
        if not is_urgent and self._clock.seconds() - self._told_at < SPARK_REPORT_SECONDS:
            return GO_ON
        order = await self._send(progress=progress)
        self._told_at, self._untold, self._left = self._clock.seconds(), None, left
        return order

    async def _send(
        self,
        progress: Progress | None = None,
        *,
        has_ended: bool = False,
        error: Failure | None = None,
    ) -> Order:
        """The next report, and its answer."""
        self._number += 1
        return await self._answered(
            Report(self._claimed.token, self._number, progress, has_ended, error)
        )

    async def _answered(self, report: Report) -> Order:
        """The answer to a report; sent until it is answered, or our time is over."""
        while True:
            sent = deadline_from(self._clock)
            try:
                answer = await asyncio.to_thread(self._server.post, self._path, report)
            except Conflict as lost:
                raise LeaseLost(lost.what, why=lost.why) from lost
            except (Unavailable, OutcomeUnknown):
                self._fence.check()
                await self._clock.sleep(RETRY_SECONDS)
            else:
                self._fence.extend(sent.after(self._claimed.silence_seconds))
                return msgspec.convert(answer, Order)
