"""Many callers who commit as fast as they are answered, for some seconds."""

import asyncio
import itertools
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from benchmarks.names import NAMES, POINTER, value
from headgate.errors import HeadgateError
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle

_NUMBERS = itertools.count()


class Storm(msgspec.Struct):
    """What callers saw: how long each commit took, and what failed."""

    seconds: float
    waits: list[float]
    failures: dict[str, int]

    @property
    def per_second(self) -> float:
        return len(self.waits) / self.seconds

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def worst_wait(self) -> float:
        return max(self.waits, default=0.0)


async def storm(
    realm: RealmHandle,
    keys: Sequence[bytes],
    *,
    callers: int,
    seconds: float,
    pointer: Callable[[int], str] = lambda _: POINTER,
) -> Storm:
    """Each caller updates one random entry of its pointer's index at a time.

    No two storms, of any process, write the same values: writing what is there is no commit.
    """
    number = next(_NUMBERS)
    waits: list[float] = []
    failures: Counter[str] = Counter()
    clock = time.perf_counter
    began = clock()

    async def call(caller: int) -> None:
        random = Random(f"{os.getpid()} {number} {caller}")
        while (start := clock()) < began + seconds:
            attempt = put(random.choice(keys), value(random.getrandbits(150)))
            try:
                await realm.commit(pointer(caller), attempt)
            except HeadgateError as error:
                failures[f"{type(error).__name__}: {error}"] += 1
            else:
                waits.append(clock() - start)

    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return Storm(clock() - began, waits, dict(failures))


def put(key: bytes, new: bytes) -> Callable[[Draft], None]:
    """The smallest commit of a catalog: one entry of its index changes."""

    def attempt(draft: Draft) -> None:
        draft.index(NAMES).put(key, new)

    return attempt


def summary(prefix: str, storms: Sequence[Storm]) -> dict[str, Any]:
    """The figures of some storms of one kind; the rate is the median one."""
    waits = sorted(wait for one in storms for wait in one.waits)
    figures: dict[str, Any] = {
        f"{prefix}_commits_per_second": statistics.median(one.per_second for one in storms),
        f"{prefix}_failed": sum(one.failed for one in storms),
        f"{prefix}_commit_p50_ms": percentile(waits, 0.50) * 1e3,
        f"{prefix}_commit_p99_ms": percentile(waits, 0.99) * 1e3,
    }
    failures = sorted({failure for one in storms for failure in one.failures})
    if failures:
        figures[f"{prefix}_failures"] = failures
    return figures


def percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
