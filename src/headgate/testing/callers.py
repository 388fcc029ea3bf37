"""Callers as they should be: what did not happen they try again, where they cannot know they read.

A `Counter` counts a number of its own up under a pointer that it shares with others. Whatever
happens on the way, each count is committed exactly once, and the pointer's log shows it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import TypeVar

from headgate.errors import OutcomeUnknown, RealmExists, RealmNotFound, Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.realms import Realm
from headgate.kernel.records import PointerKey

T = TypeVar("T")

COUNTERS = "counters"
TRIES_MAX = 500
PAUSE_SECONDS = 0.002


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The answer to a call that may be repeated: a read, or a write that then changes nothing."""
    for _ in range(TRIES_MAX):
        try:
            return await call()
        except (Unavailable, OutcomeUnknown):
            await asyncio.sleep(PAUSE_SECONDS)
    return await call()


async def commit(
    kernel: Kernel, key: PointerKey, attempt: Callable[[Draft], T], *, operation: bytes = b""
) -> T:
    """Commit an attempt that is the same when repeated, or whose operation id makes it so."""
    handle = kernel.realm(key.realm)
    return await patiently(lambda: handle.commit(key.name, attempt, operation=operation))


async def together(*calls: Coroutine[object, object, T]) -> list[T]:
    """The answers to calls that run side by side; the first failure ends them all."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


async def head_of(kernel: Kernel, key: PointerKey) -> HeadView:
    """The current head of a pointer."""
    [head] = await patiently(lambda: kernel.realm(key.realm).heads(key.name))
    return head


async def entries_of(kernel: Kernel, key: PointerKey, index: str) -> dict[bytes, bytes]:
    """All entries of an index, in the order in which they are read."""
    head = await head_of(kernel, key)

    async def scan() -> dict[bytes, bytes]:
        return {name: value async for name, value in head.index(index).scan()}

    return await patiently(scan)


async def create_realm(kernel: Kernel, name: str, *pointers: str) -> Realm:
    """A new ACTIVE realm with these pointers, also if the first try ends half-way."""

    async def create() -> Realm:
        try:
            await kernel.realms.get(name)
        except RealmNotFound:
            with suppress(RealmExists):  # another process was faster
                await kernel.realms.reserve(name)
        return await kernel.realms.activate(name)

    realm = await patiently(create)
    await patiently(lambda: kernel.realm(realm.id).create_pointers(pointers))
    return realm


class Counter:
    """One caller. `acknowledged` is what it has been told, and what must be stored at least."""

    def __init__(self, kernel: Kernel, key: PointerKey, name: str, acknowledged: int = 0) -> None:
        self.acknowledged = acknowledged
        self.name = name
        self._kernel = kernel
        self._key = key
        self._in_doubt = False  # the count behind the acknowledged one may be stored already

    async def count(self) -> None:
        """Count up by one, exactly once, however often it takes."""
        await patiently(self.try_to_count)

    async def try_to_count(self) -> None:
        """Count up by one. After an unknown outcome, and only then, it may be done already."""
        wanted = self.acknowledged + 1

        def attempt(draft: Draft) -> None:
            counters = draft.index(COUNTERS)
            stored = int(counters.get(self.name.encode()) or 0)
            if self._in_doubt and stored == wanted:
                return
            assert stored == wanted - 1, f"{self.name} counts {wanted} and {stored} is stored"
            counters.put(self.name.encode(), str(wanted).encode())
            draft.note({"caller": self.name, "count": wanted})

        try:
            await self._kernel.realm(self._key.realm).commit(self._key.name, attempt)
        except Unavailable:
            raise
        except BaseException:  # cancelled ones are in doubt, too
            self._in_doubt = True
            raise
        self.acknowledged, self._in_doubt = wanted, False


async def check_counts(kernel: Kernel, key: PointerKey, counts: Mapping[str, int]) -> None:
    """These callers have counted exactly so far: so say the index and the log, walked both ways."""
    stored = await entries_of(kernel, key, COUNTERS)
    assert {name.decode(): int(value) for name, value in stored.items()} == counts
    logged = logged_counts(await log_both_ways(kernel, key))
    assert logged == {name: list(range(1, count + 1)) for name, count in counts.items()}


async def log_both_ways(kernel: Kernel, key: PointerKey) -> list[Commit]:
    """The whole log, oldest first, which is the same backwards, has no gap, and is a chain."""

    async def forwards() -> list[Commit]:
        return [commit async for commit in kernel.log.oldest_first(key)]

    async def backwards() -> list[Commit]:
        return [commit async for commit in kernel.log.newest_first(key)]

    up, down = await patiently(forwards), await patiently(backwards)
    assert [commit.id for commit in down] == [commit.id for commit in up][::-1]
    assert [commit.seq for commit in up] == list(range(1, len(up) + 1))
    assert all(older.time_ms <= newer.time_ms + 1000 for older, newer in pairwise(up))
    chain = await patiently(lambda: kernel.chains.verify(key, {}, lambda _: None))
    assert (chain.commits, chain.unlinked, chain.breaks) == (len(up), 0, [])
    return up


def logged_counts(commits: list[Commit]) -> dict[str, list[int]]:
    """What each caller counted, in the order of these commits."""
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for commit in commits:
        for group in commit.groups:
            if isinstance(group.note, dict) and "count" in group.note:
                counts[group.note["caller"]].append(group.note["count"])
    return dict(counts)
