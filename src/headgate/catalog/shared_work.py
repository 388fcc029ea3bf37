"""Work that several callers wait for at once: done once, its outcome goes to all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from headgate.error_copies import for_another_caller

T = TypeVar("T")


class SharedWork(Generic[T]):
    """Runs one piece of work per key at a time, in a task of its own.

    A caller that is cancelled takes nothing from the others: the work goes on without it.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    def is_running(self, key: Hashable) -> bool:
        """Whether work under this key is under way, so that `run` would join it."""
        return key in self._running

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The outcome of the work under this key, which is begun if it is not under way."""
        task = self._running.get(key)
        if task is None:
            return await asyncio.shield(self._begin(key, work))
        try:
            return await asyncio.shield(task)
        except Exception as error:  # noqa: BLE001  whatever it is, it is each caller's own
            raise for_another_caller(error) from error.__cause__

    def _begin(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> "asyncio.Task[T]":
        async def run() -> T:
            return await work()

        def end(task: "asyncio.Task[T]") -> None:
            del self._running[key]
            if not task.cancelled():
                task.exception()  # if all callers are gone, it has been seen here

        task = self._running[key] = asyncio.create_task(run())
        task.add_done_callback(end)
        return task
