"""The thread that owns the one writing connection; jobs that wait together share a transaction.

One `fsync` then serves many pointers. A job gets its answer after the COMMIT. A job that raises a
`HeadgateError` must have written nothing; after any other error the whole transaction is rolled
back, and each of its jobs runs once more alone, so that none suffers for another.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import apsw

from headgate.backends.sqlite import failures
from headgate.backends.sqlite.connections import roll_back
from headgate.backends.sqlite.own_files import OwnFiles
from headgate.errors import HeadgateError

JOBS_PER_TRANSACTION_MAX = 64

T = TypeVar("T")


class Writer:
    """Runs jobs one after another on a thread of its own."""

    def __init__(self, connect: Callable[[], apsw.Connection], files: OwnFiles, where: str) -> None:
        self._connect = connect
        self._files = files  # checked in each transaction before anything is written
        self._where = where
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()  # None: stop after what came before
        self._stopping = False
        # A daemon: a program that dies without closing is not held up; SQLite survives that.
        self._thread = threading.Thread(target=self._main, name="sqlite-writer", daemon=True)

    async def start(self) -> None:
        """Connect, on the thread that will use the connection."""
        self._thread.start()
        await self.run(lambda _: None)

    async def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """Do this inside a transaction. Cancelling the caller does not stop it."""
        job = _Job(work, asyncio.get_running_loop().create_future())
        self._queue.put(job)
        answer: T = await job.future
        return answer

    def stop(self) -> None:
        """Finish what was asked for, disconnect, and only then return."""
        self._queue.put(None)
        self._thread.join()

    def _main(self) -> None:
        try:
            connection = self._connect()
        except Exception as error:  # noqa: BLE001 -- whatever it is, it belongs to the caller
            for job in self._next_group():
                job.error = error
                _answer([job])
            return
        try:
            while group := self._next_group():
                self._perform(connection, group)
                _answer(group)
        finally:
            self._files.disconnect(connection)

    def _next_group(self) -> "list[_Job]":
        """All jobs that wait, at least one; none when the thread is to end."""
        group: list[_Job] = []
        while not self._stopping and len(group) < JOBS_PER_TRANSACTION_MAX:
            try:
                job = self._queue.get(block=not group)
            except Empty:
                break
            if job is None:
                self._stopping = True
            else:
                group.append(job)
        return group

    def _perform(self, connection: apsw.Connection, group: "list[_Job]") -> None:
        try:
            connection.execute("begin immediate")
            self._files.check()
            for job in group:
                job.perform(connection)
        except Exception as error:  # noqa: BLE001 -- it must reach the caller, not end the thread
            roll_back(connection)
            if len(group) == 1 or isinstance(error, apsw.BusyError | HeadgateError):
                self._fail(group, error)
            else:
                for job in group:
                    self._perform(connection, [job])
            return
        try:
            connection.execute("commit")
        except apsw.Error as error:
            roll_back(connection)
            for job in group:
                job.error = failures.at_commit(error, self._where)

    def _fail(self, group: "list[_Job]", error: Exception) -> None:
        what = f"{self._where} could not be written"
        for job in group:
            if isinstance(error, apsw.Error):
                job.error = failures.certain(error, what)
            else:
                job.error = error


class _Job:
    """Something to do, and who waits for it."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(
        self, work: Callable[[apsw.Connection], Any], future: "asyncio.Future[Any]"
    ) -> None:
        self.work = work
        self.future = future
        self.result: Any = None
        self.error: Exception | None = None

    def perform(self, connection: apsw.Connection) -> None:
        self.error = None
        try:
            self.result = self.work(connection)
        except HeadgateError as error:
            self.error = error

    def settle(self) -> None:
        if self.future.done():  # its caller was cancelled
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def _answer(group: list[_Job]) -> None:
    """Wake all callers; one wake-up per event loop, and normally there is one loop."""
    by_loop = defaultdict(list)
    for job in group:
        by_loop[job.future.get_loop()].append(job)
    for loop, jobs in by_loop.items():
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
