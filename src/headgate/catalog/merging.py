"""The logs of many pointers read as one."""

import heapq
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from headgate.errors import PointerNotFound
from headgate.kernel.log import Commit


async def merged(streams: Sequence[AsyncIterator[Commit]], order: int) -> AsyncIterator[Commit]:
    """All commits of these streams, each in its own order; between streams by `order` * id."""
    waiting: list[tuple[int, int, Commit]] = []

    async def refill(place: int) -> None:
        with suppress(PointerNotFound, StopAsyncIteration):  # purged meanwhile, or done
            commit = await anext(streams[place])
            heapq.heappush(waiting, (order * commit.id, place, commit))

    for place in range(len(streams)):
        await refill(place)
    while waiting:
        _, place, commit = heapq.heappop(waiting)
        yield commit
        await refill(place)
