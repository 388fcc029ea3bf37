"""Writers of one table wait for each other, so that no metadata file is written in vain."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary


class Lanes:
    """One lock for each thing that is being changed, first come first served."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def enter(self, keys: Iterable[Hashable]) -> AsyncIterator[bool]:
        """Hold the lanes of all these keys; in one order, so that nobody waits in a circle.

        True if others were in them first: what was read before is old.
        """
        waited = False
        async with AsyncExitStack() as held:
            for key in sorted(set(keys), key=repr):
                lock = self._locks.get(key)
                if lock is None:
                    lock = self._locks[key] = asyncio.Lock()
                waited = waited or lock.locked()
                await held.enter_async_context(lock)
            yield waited
