"""Exact sets of very many ids, in eight bytes each."""

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Iterable

BUCKETS = 4_093
"""A prime: ids of one millisecond and node differ in their lowest bits only. Each bucket is small
enough to be sorted while others wait."""


class IdSet:
    """Is filled, then sorted, then asked."""

    def __init__(self) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._is_sorted = True

    def add(self, ids: Iterable[int]) -> None:
        """Take these in; some may be there."""
        buckets, self._is_sorted = self._buckets, False
        for id in ids:
            bucket = buckets.get(id % BUCKETS)
            if bucket is None:
                bucket = buckets[id % BUCKETS] = array("q")
            bucket.append(id)

    async def sort(self) -> None:
        """Make it ready to be asked."""
        for number, bucket in self._buckets.items():
            self._buckets[number] = array("q", sorted(set(bucket)))
            await asyncio.sleep(0)
        self._is_sorted = True

    def __contains__(self, id: object) -> bool:
        assert isinstance(id, int)
        assert self._is_sorted, "sort it first"
        bucket = self._buckets.get(id % BUCKETS)
        if bucket is None:
            return False
        at = bisect_left(bucket, id)
        return at < len(bucket) and bucket[at] == id

    def __len__(self) -> int:
        assert self._is_sorted, "sort it first"
        return sum(map(len, self._buckets.values()))
