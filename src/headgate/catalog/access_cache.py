"""The port of the cache that compiled rights are kept in, and its one implementation.

What is kept is right because the guard compares versions, never because of its age. A lifetime can
be set all the same, as a safety net.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Protocol

import msgspec

from headgate.clock import Clock
from headgate.limits import ACCESS_KNOWN_MAX

Key = tuple[Hashable, ...]
"""From the general to the particular: a prefix stands for all that is below."""


class AccessCacheStatistics(msgspec.Struct, frozen=True):
    """What the cache holds and what it did since it was made."""

    entries: int
    entries_max: int
    hits: int
    misses: int
    evictions: int
    """Put out to make room, or because their time was up."""
    invalidated: int
    """Dropped because what they followed from had changed."""


class AccessCache(Protocol):
    """Values by their keys; whoever puts one sees to it that it is dropped in time."""

    def get(self, key: Key) -> object | None:
        """The value, None if it is not at hand."""
        ...

    def put(self, key: Key, value: object) -> None:
        """Keep a value, in the place of what was there."""
        ...

    def invalidate(self, key: Key) -> None:
        """Drop one."""
        ...

    def invalidate_where(self, is_stale: Callable[[Key, object], bool]) -> None:
        """Drop all of which this is true."""
        ...

    def invalidate_prefix(self, prefix: Key) -> None:
        """Drop all whose keys begin like this."""
        ...

    def keys(self) -> Iterator[Key]:
        """All keys, the one that was not asked for longest first."""
        ...

    def size(self) -> int:
        """How many there are."""
        ...

    def statistics(self) -> AccessCacheStatistics:
        """What the cache holds and what it did."""
        ...


class BoundedAccessCache:
    """Keeps so many entries; those that were not asked for longest go first."""

    def __init__(
        self, clock: Clock, entries_max: int = ACCESS_KNOWN_MAX, ttl_seconds: float = 0
    ) -> None:
        self._clock = clock
        self._entries_max = entries_max
        self._ttl_seconds = ttl_seconds
        self._entries: OrderedDict[Key, tuple[object, float]] = OrderedDict()
        self._hits = self._misses = self._evictions = self._invalidated = 0

    def get(self, key: Key) -> object | None:
        entry = self._entries.get(key)
        if entry is None:
            self._misses += 1
            return None
        value, until = entry
        if until and self._clock.seconds() >= until:
            del self._entries[key]
            self._evictions += 1
            self._misses += 1
            return None
        self._hits += 1
        self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: object) -> None:
        until = self._clock.seconds() + self._ttl_seconds if self._ttl_seconds else 0
        self._entries[key] = value, until
        self._entries.move_to_end(key)
        if len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)
            self._evictions += 1

    def invalidate(self, key: Key) -> None:
        if self._entries.pop(key, None) is not None:
            self._invalidated += 1

    def invalidate_where(self, is_stale: Callable[[Key, object], bool]) -> None:
        stale = [key for key, (value, _) in self._entries.items() if is_stale(key, value)]
        for key in stale:
            self.invalidate(key)

    def invalidate_prefix(self, prefix: Key) -> None:
        length = len(prefix)
        self.invalidate_where(lambda key, _: key[:length] == prefix)

    def keys(self) -> Iterator[Key]:
        return iter(tuple(self._entries))

    def size(self) -> int:
        return len(self._entries)

    def statistics(self) -> AccessCacheStatistics:
        return AccessCacheStatistics(
            entries=len(self._entries),
            entries_max=self._entries_max,
            hits=self._hits,
            misses=self._misses,
            evictions=self._evictions,
            invalidated=self._invalidated,
        )
