"""Slots for work that only so many may do at once; the others wait, but not too many of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headgate.errors import Overloaded


class Slots:
    """So many at once, in the order in which they came."""

    def __init__(self, count: int, waiting_max: int, what: str) -> None:
        self._count = count
        self._waiting_max = waiting_max
        self._what = what
        self._free = asyncio.Semaphore(count)
        self._waiting = 0

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """One of them; `Overloaded` if too many wait already."""
        if self._free.locked() and self._waiting >= self._waiting_max:
            raise Overloaded(
                f"Too many requests are waiting for {self._what}",
                why=f"{self._waiting} wait, and {self._count} are served at once",
                fix="Try again later",
            )
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()
