"""The logs of many pointers read as one: commits of all of them, in the order of their ids."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from headgate.catalog.merging import merged
from headgate.ids import time_ms
from headgate.kernel.log import Commit, CommitLog
from headgate.kernel.records import PointerKey
from headgate.limits import CLOCK_BEHIND_MS_MAX


async def newest(
    log: CommitLog,
    keys: Sequence[PointerKey],
    limit: int,
    wanted: Callable[[Commit], bool] = lambda _: True,
) -> list[Commit]:
    """The newest commits of these pointers together that are wanted, oldest first."""
    found: list[Commit] = []
    async for commit in merged([log.newest_first(key) for key in keys], -1):
        if not wanted(commit):
            continue
        found.append(commit)
        if len(found) == limit:
            break
    return found[::-1]


async def since(log: CommitLog, keys: Sequence[PointerKey], id: int) -> list[Commit]:
    """What came after this commit: exactly so on its own pointer, by time on the others."""
    streams = [_since(log, key, id) for key in keys]
    return [commit async for commit in merged(streams, 1)]


async def unseen(
    log: CommitLog, keys: Sequence[PointerKey], seen: Mapping[PointerKey, int]
) -> list[Commit]:
    """What came after the commit that was seen last on each pointer, oldest first."""
    streams = [log.oldest_first(key, seen.get(key)) for key in keys]
    return [commit async for commit in merged(streams, 1)]


async def _since(log: CommitLog, key: PointerKey, id: int) -> AsyncIterator[Commit]:
    for commit in await _later(log, key, id):
        yield commit


async def _later(log: CommitLog, key: PointerKey, id: int) -> list[Commit]:
    """What came after this commit on one pointer, oldest first; `LogCut` if some of it is gone.

    Nodes' clocks differ, so on its own pointer a commit may have a smaller id than the one before.
    By how much is bounded, so the walk back goes on for that long to find the commit itself.
    """
    found: list[Commit] = []
    async for commit in log.newest_first(key):
        if commit.id == id:
            return found[::-1]
        if commit.time_ms < time_ms(id) - CLOCK_BEHIND_MS_MAX:
            break
        found.append(commit)
    else:
        if found and found[-1].seq > 1:  # older history was cut, and it may reach behind `id`
            return [commit async for commit in log.oldest_first(key, id)]
    return [commit for commit in reversed(found) if commit.id > id]
