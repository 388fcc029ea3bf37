"""A pool of worker processes for work that would hold up the event loop.

No process exists before the first job, and none stays after an idle time. One job runs in a worker
at a time. A job that is cancelled or too slow is ended by killing its worker; nothing else can stop
a computation for sure. Another worker takes its place when the next job comes.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from headgate import errors
from headgate.errors import Closed, HeadgateError, WorkerEnded
from headgate.workers.frames import END, FAILED, ITEM, Failure
from headgate.workers.process import Worker, start
from headgate.workers.slots import Slots, shared, unshared
from headgate.workers.turns import NO_TENANT, Shares, Tenant

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class PoolOptions:
    """How many processes, how many callers may wait for them, and for how long."""

    workers: int = 2
    """That one principal may use at once."""
    is_shared: bool = False
    """Whether jobs are done for tenants. Then two more processes start when they are needed, for
    other principals and other metalakes, and `waiting_max` is that of `shared`."""
    waiting_max: int = 64
    idle_seconds: float = 60.0
    deadline_seconds: float = 60.0
    """From a request, or from the answer before, to the next answer."""
    grace_seconds: float = 0.0
    """That a worker is given to end what it started itself, before it is killed. Then also nobody
    but us ends it: what a terminal tells all processes is not for it."""


def module(name: str) -> tuple[str, ...]:
    """The command that runs this module as a worker."""
    return sys.executable, "-P", "-m", name


class WorkerPool:
    """Runs named jobs in worker processes."""

    def __init__(self, command: Sequence[str], options: PoolOptions | None = None) -> None:
        self._command = command
        self._options = options or PoolOptions()
        self._slots = Slots(_shares(self._options), "a worker process")
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._starts: set[asyncio.Task[Worker]] = set()
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def processes(self) -> int:
        """How many workers exist now."""
        return len(self._workers)

    async def run(
        self,
        job: str,
        *arguments: bytes,
        tenant: Tenant = NO_TENANT,
        deadline_seconds: float | None = None,
    ) -> bytes:
        """The one answer of a job."""
        answers = self.stream(job, *arguments, tenant=tenant, deadline_seconds=deadline_seconds)
        [answer] = await _all(answers)
        return answer

    async def run_all(self, job: str, *arguments: bytes, tenant: Tenant = NO_TENANT) -> list[bytes]:
        """All answers of a job."""
        return await _all(self.stream(job, *arguments, tenant=tenant))

    async def stream(
        self,
        job: str,
        *arguments: bytes,
        tenant: Tenant = NO_TENANT,
        deadline_seconds: float | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The answers of a job as they come. Close it (`aclosing`) if you stop early.

        A deadline here takes the place of that of the options.
        """
        seconds = deadline_seconds or self._options.deadline_seconds
        async with self._slots.taken(tenant), self._lent() as worker:
            await self._in_time(worker.send([job.encode(), *arguments]), seconds)
            while True:
                kind, payload = await self._in_time(worker.receive(), seconds)
                if kind != ITEM:
                    break
                yield payload
            worker.is_free = True
        if kind == FAILED:
            raise error_of(msgspec.msgpack.decode(payload, type=Failure))
        assert kind == END

    async def close(self) -> None:
        """End all workers. Jobs that still run fail."""
        self._closed = True
        await asyncio.gather(*self._starts, return_exceptions=True)  # these fail by themselves
        for worker in list(self._workers):
            self._end(worker)
        await asyncio.gather(*self._endings)

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Worker]:
        """A worker for one job. It is kept only if the job came to its end."""
        self._check_open()
        worker = self._take() or await self._start()
        try:
            yield worker
        finally:
            if worker.is_free and not self._closed:
                self._park(worker)
            else:
                self._end(worker)

    def _take(self) -> Worker | None:
        """An idle worker that is still alive: the last one used, so that others become old."""
        while self._idle:
            worker = self._idle.pop()
            if worker.retirement:
                worker.retirement.cancel()
            if worker.is_alive:
                worker.is_free = False
                return worker
            self._end(worker)
        return None

    async def _start(self) -> Worker:
        """A new worker. Its start is never cut: nobody could end half a worker."""
        starting = asyncio.ensure_future(self._started())
        self._starts.add(starting)
        starting.add_done_callback(self._starts.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._end_unwanted)
            raise

    async def _started(self) -> Worker:
        worker = await start(self._command, is_apart=self._options.grace_seconds > 0)
        self._workers.add(worker)
        if self._closed:
            self._end(worker)
        self._check_open()
        return worker

    def _end_unwanted(self, starting: asyncio.Task[Worker]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._end(starting.result())

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("Cannot start a job", why="the server is shutting down")

    def _park(self, worker: Worker) -> None:
        self._idle.append(worker)
        loop = asyncio.get_running_loop()
        worker.retirement = loop.call_later(self._options.idle_seconds, self._end, worker)

    def _end(self, worker: Worker) -> None:
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if worker.retirement:
            worker.retirement.cancel()
        if not self._options.grace_seconds:
            worker.kill()  # at once, and not when the loop has time for it
        ending = asyncio.ensure_future(self._ended(worker))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _ended(self, worker: Worker) -> None:
        if self._options.grace_seconds:
            worker.terminate()
            await worker.ended(self._options.grace_seconds)
            worker.kill()
        await worker.ended()

    async def _in_time(self, step: Awaitable[T], seconds: float) -> T:
        """A step of a job: done before the deadline, by a worker that lives."""
        try:
            async with asyncio.timeout(seconds):
                return await step
        except TimeoutError as error:
            raise WorkerEnded(
                "The request was given up",
                why=f"no answer within {seconds:g} s",
                fix="Try again, or ask for less",
            ) from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            if self._closed:
                raise Closed(
                    "The request was not answered", why="the server is shutting down"
                ) from error
            logger.warning("a worker process ended in the middle of a job")
            raise WorkerEnded(
                "The request was not answered",
                why="the worker process that handled it ended",
                fix="Try again; if it happens again, see whether the machine is short of memory",
            ) from error


async def _all(answers: AsyncGenerator[bytes, None]) -> list[bytes]:
    async with aclosing(answers):
        return [answer async for answer in answers]


def _shares(options: PoolOptions) -> Shares:
    if options.is_shared:
        return shared(options.workers)
    return unshared(options.workers, options.waiting_max)


def error_of(failure: Failure) -> HeadgateError:
    """The error that a worker told of."""
    found = getattr(errors, failure.error, None)
    if isinstance(found, type) and issubclass(found, HeadgateError):
        return found(failure.what, why=failure.why, fix=failure.fix)
    logger.error("a job failed in a worker process:\n%s", failure.what)
    return HeadgateError("The request failed", why="a worker process met an unexpected error")
