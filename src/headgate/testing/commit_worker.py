"""A process that counts under a pointer it shares with others, for tests of several processes.

    python -m headgate.testing.commit_worker STORE REALM POINTER NAME CALLERS COUNTS

It says "ready", waits for a line, lets each caller count so often, and ends with a report as JSON.
Nothing is tried again: the first failure ends it.
"""

import asyncio
import sys
import time

import msgspec

from headgate.kernel.records import PointerKey
from headgate.testing.callers import Counter
from headgate.testing.nodes import make_node


class Report(msgspec.Struct, frozen=True):
    """What a worker did."""

    counts: dict[str, int]
    swaps: int
    lost: int
    timed_out: int
    worst_wait_seconds: float
    seconds: float


async def work(store: str, key: PointerKey, name: str, callers: int, counts: int) -> Report:
    """Count, from the moment a line comes."""
    async with make_node(store) as kernel:
        counters = [Counter(kernel, key, f"{name}/{caller}") for caller in range(callers)]
        _say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        began = time.monotonic()
        waits = await asyncio.gather(*(_count(counter, counts) for counter in counters))
        statistics = kernel.committer.statistics
        return Report(
            {counter.name: counter.acknowledged for counter in counters},
            statistics.swaps,
            statistics.lost,
            statistics.timed_out,
            max(waits),
            time.monotonic() - began,
        )


async def _count(counter: Counter, counts: int) -> float:
    """Count so often; the longest wait in seconds."""
    longest = 0.0
    for _ in range(counts):
        began = time.monotonic()
        await counter.try_to_count()
        longest = max(longest, time.monotonic() - began)
    return longest


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    place, realm, pointer, own_name, caller_count, count_each = sys.argv[1:]
    report = asyncio.run(
        work(place, PointerKey(realm, pointer), own_name, int(caller_count), int(count_each))
    )
    _say(msgspec.json.encode(report).decode())
