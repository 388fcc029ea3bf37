"""Threads that write files. What waits together is written by one of them and answered together.

Waking a thread, and waking the event loop again, costs more than writing a small file.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from headgate.limits import FILE_WRITERS, FILES_PER_TURN

Work = Callable[[], None]
_Outcome = tuple["asyncio.Future[None]", BaseException | None]
_Job = tuple[Work, "asyncio.Future[None]"]


class FileWriters:
    """The writing threads of one event loop; they start with the first file."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()  # None: one thread is to end
        self._threads: list[threading.Thread] = []

    async def run(self, work: Work) -> None:
        """Do this on one of the threads. Cancelling the caller does not stop it."""
        if not self._threads:
            self._start()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((work, future))
        await future

    def close(self) -> None:
        """Take no more; what was asked for is done, but nobody waits for it."""
        for _ in self._threads:
            self._queue.put(None)

    def _start(self) -> None:
        # Daemons: a disk that does not answer must not keep a program from ending.
        self._threads = [
            threading.Thread(target=self._main, name=f"file-writer-{number}", daemon=True)
            for number in range(FILE_WRITERS)
        ]
        for thread in self._threads:
            thread.start()

    def _main(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first, *self._waiting()]
            _answer([(future, _done(work)) for work, future in group])

    def _waiting(self) -> list[_Job]:
        """What else is to be done by now."""
        group: list[_Job] = []
        with suppress(Empty):
            while len(group) + 1 < FILES_PER_TURN:
                job = self._queue.get(block=False)
                if job is None:
                    self._queue.put(None)  # for after this turn
                    break
                group.append(job)
        return group


def _done(work: Work) -> BaseException | None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001  whatever it is, it belongs to the caller
        return error
    return None


def _answer(outcomes: list[_Outcome]) -> None:
    loop = outcomes[0][0].get_loop()
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(_settle, outcomes)


def _settle(outcomes: list[_Outcome]) -> None:
    for future, error in outcomes:
        if future.done():  # its caller was cancelled
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
