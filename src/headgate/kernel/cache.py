"""A cache of decoded immutable objects: sized in bytes, least recently used first out,
single-flight.

What is in it never changes, so nothing ever has to be invalidated.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Any, TypeVar

import msgspec

Key = tuple[str, int]
PartKey = tuple[str, int, str]  # something decoded out of an object
K = TypeVar("K", Key, PartKey)
_Entry = tuple[object, int]  # value and bytes; plain, so that the garbage collector forgets it
Loaded = dict[Key, _Entry]
LoadedParts = dict[PartKey, _Entry]


class CacheStatistics(msgspec.Struct, frozen=True):
    """What a cache holds and what it did since it was made."""

    entries: int
    bytes: int
    capacity_bytes: int
    hits: int
    misses: int
    joined: int  # misses that waited for a load under way instead of starting one
    evictions: int
    rejected: int  # values larger than the whole cache


class Cache:
    """Values by (realm, id). A capacity of 0 keeps nothing."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._entries: OrderedDict[Key | PartKey, _Entry] = OrderedDict()
        self._loads: dict[tuple[Key | PartKey, Hashable], asyncio.Future[dict[Any, object]]] = {}
        self._bytes = 0
        self._hits = self._misses = self._joined = self._evictions = self._rejected = 0

    def find(self, key: Key | PartKey) -> object | None:
        """The value, if it is at hand."""
        entry = self._entries.get(key)
        if entry is None:
            return None  # counted when it is loaded
        self._hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def peek(self, key: Key | PartKey) -> object | None:
        """The value, if it is at hand; nothing is counted or moved, so any thread may ask."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def ask(self, key: Key | PartKey) -> object | None:
        """The same for who does not load it here: if it is not at hand, that is a miss."""
        value = self.find(key)
        self._misses += value is None
        return value

    def put(self, key: Key | PartKey, value: object, bytes: int) -> None:
        """Keep a value that takes about this many bytes. What is there stays: it cannot differ."""
        if key in self._entries:
            return
        if bytes > self._capacity_bytes:
            self._rejected += 1
            return
        self._bytes += bytes
        self._entries[key] = value, bytes
        while self._bytes > self._capacity_bytes:
            _, (_, evicted_bytes) = self._entries.popitem(last=False)
            self._bytes -= evicted_bytes
            self._evictions += 1

    def drop(self, key: Key) -> None:
        """Forget a value, because it was deleted or is hardly wanted again."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry[1]

    async def load(
        self,
        keys: Collection[K],
        loader: Callable[[list[K]], Awaitable[dict[K, _Entry]]],
        flight: Hashable = None,
    ) -> dict[K, object]:
        """The values of these keys; absent ones are not in the answer.

        A key that another caller is loading is waited for, not loaded again. If that caller fails,
        is cancelled or finds nothing (it was too early), the waiting one loads for itself. A load
        of another flight is not waited for: it may take longer than one's own.
        """
        found: dict[K, object] = {}
        wanted: list[K] = []
        for key in dict.fromkeys(keys):
            value = self.find(key)
            if value is None:
                wanted.append(key)
            else:
                found[key] = value
        if not wanted:
            return found
        self._misses += len(wanted)
        joined = {key: load for key in wanted if (load := self._loads.get((key, flight)))}
        self._joined += len(joined)
        own = [key for key in wanted if key not in joined]
        if own:
            found |= await self._load_own(own, loader, flight)
        for key, load in joined.items():
            loaded = await asyncio.shield(load)
            if key in loaded:
                found[key] = loaded[key]
        again = [key for key in joined if key not in found]
        if again:
            found |= await self._load_own(again, loader, flight)
        return found

    def statistics(self) -> CacheStatistics:
        """What the cache holds and what it did."""
        return CacheStatistics(
            entries=len(self._entries),
            bytes=self._bytes,
            capacity_bytes=self._capacity_bytes,
            hits=self._hits,
            misses=self._misses,
            joined=self._joined,
            evictions=self._evictions,
            rejected=self._rejected,
        )

    async def _load_own(
        self,
        keys: list[K],
        loader: Callable[[list[K]], Awaitable[dict[K, _Entry]]],
        flight: Hashable,
    ) -> dict[K, object]:
        done: asyncio.Future[dict[Any, object]] = asyncio.get_running_loop().create_future()
        self._loads.update(((key, flight), done) for key in keys)
        values: dict[K, object] = {}
        try:
            loaded = await loader(keys)
            for key, (value, bytes) in loaded.items():
                self.put(key, value, bytes)
                values[key] = value
        finally:
            for key in keys:
                if self._loads.get((key, flight)) is done:
                    del self._loads[key, flight]
            done.set_result(values)
        return values
