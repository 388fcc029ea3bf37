"""What one commit, one look-up and one listing cost in an index of many entries."""

import gc
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks.names import NAMES, NAMESPACES, POINTER, fill, make_keys, new_key, value
from benchmarks.scale import Scale
from benchmarks.stores import make_backend, new_realm, open_kernel, say
from benchmarks.storm import percentile, put
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import Index
from headgate.kernel.kernel import Kernel
from headgate.kernel.pages import Page
from headgate.testing.counting import CountingBackend

# A round is shorter than a time slice: what other processes do shows in few of them.
LOOKUPS_PER_ROUND = 100
ROUNDS_IN_A_ROW = 10


class Subject(msgspec.Struct):
    """One index under measurement, and what was found."""

    label: str
    keys: list[bytes]
    kernel: Kernel
    backend: CountingBackend
    realm: RealmHandle
    random: Random
    commit_ms: list[float] = []
    bytes_written: list[int] = []
    lookup_us: list[float] = []
    fresh_lookup_us: list[float] = []
    children_ms: list[float] = []


async def measure_index(scale: Scale, folder: Path, _postgresql: list[str]) -> dict[str, Any]:
    """All sizes are open at once and take turns, so that whatever drifts drifts for all."""
    async with AsyncExitStack() as stack:
        subjects = []
        for label, count in scale.sizes.items():
            say(f"index: building {count:,} entries")
            subjects.append(await _build(stack, folder / f"index-{label}.db", label, count))
        gc.collect()
        say(f"index: {scale.commits} commits to each")
        order = Random(0)
        for _ in range(scale.commits):
            for subject in order.sample(subjects, len(subjects)):  # nobody always follows another
                await _commit(subject)
        say("index: look-ups and listings")
        for _ in range(scale.repeats):
            for subject in subjects:
                for _ in range(ROUNDS_IN_A_ROW):
                    await _look_up(subject)
                for _ in range(ROUNDS_IN_A_ROW):
                    await _list_children(subject)
        say(f"index: {scale.extra_commits} more commits to the largest one")
        for _ in range(scale.extra_commits):
            await _commit(subjects[-1], timed=False)
        return _figures(subjects) | await _memory(subjects[-1])


async def _build(stack: AsyncExitStack, path: Path, label: str, count: int) -> Subject:
    backend = CountingBackend(make_backend(str(path)))
    kernel = await stack.enter_async_context(open_kernel(backend))
    realm = await new_realm(kernel)
    keys = make_keys(count)
    await fill(realm, keys, seed=count)
    return Subject(label, keys, kernel, backend, realm, Random(count))


async def _commit(subject: Subject, *, timed: bool = True) -> None:
    """One commit of one entry: by turns an update anywhere, and a new name anywhere."""
    random = subject.random
    new = len(subject.bytes_written) % 2
    key = new_key(len(subject.keys), random) if new else random.choice(subject.keys)
    attempt = put(key, value(random.getrandbits(150)))
    before = subject.backend.bytes_written
    began = time.perf_counter()
    await subject.realm.commit(POINTER, attempt)
    if timed:
        subject.commit_ms.append((time.perf_counter() - began) * 1e3)
    subject.bytes_written.append(subject.backend.bytes_written - before)


async def _look_up(subject: Subject) -> None:
    """Random keys of an index that is all in the cache, new ones each time."""
    keys = subject.random.choices(subject.keys, k=2 * LOOKUPS_PER_ROUND)
    index = await _index(subject)
    misses = subject.kernel.cache.statistics().misses
    began = time.perf_counter()
    for key in keys[:LOOKUPS_PER_ROUND]:
        await index.get(key)
    middle = time.perf_counter()
    for key in keys[LOOKUPS_PER_ROUND:]:
        await (await _index(subject)).get(key)
    ended = time.perf_counter()
    assert subject.kernel.cache.statistics().misses == misses, "the index was not in the cache"
    subject.lookup_us.append((middle - began) / LOOKUPS_PER_ROUND * 1e6)
    subject.fresh_lookup_us.append((ended - middle) / LOOKUPS_PER_ROUND * 1e6)


async def _list_children(subject: Subject) -> None:
    """The namespaces, each of which has all its tables behind it."""
    index = await _index(subject)
    began = time.perf_counter()
    found = [child async for child in index.children(b"")]
    subject.children_ms.append((time.perf_counter() - began) * 1e3)
    assert len(found) == NAMESPACES


async def _index(subject: Subject) -> Index:
    [head] = await subject.realm.heads(POINTER)
    return head.index(NAMES)


def _figures(subjects: Sequence[Subject]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    median = statistics.median
    for subject in subjects:
        label = subject.label
        figures |= {
            f"commit_ms_{label}": median(subject.commit_ms),
            f"commit_p99_ms_{label}": percentile(sorted(subject.commit_ms), 0.99),
            f"bytes_written_per_commit_{label}": statistics.mean(subject.bytes_written),
            f"bytes_written_worst_{label}": max(subject.bytes_written),
            f"lookup_us_{label}": median(subject.lookup_us),
            f"lookup_best_us_{label}": min(subject.lookup_us),
            f"fresh_lookup_us_{label}": median(subject.fresh_lookup_us),
            f"children_ms_{label}": median(subject.children_ms),
        }
    # Turn by turn: where the disk now and then takes ten times as long, medians jump.
    turns = zip(subjects[-1].commit_ms, subjects[0].commit_ms, strict=True)
    figures["commit_ratio"] = median(large / small for large, small in turns)
    figures["children_ratio"] = figures["children_ms_1e6"] / figures["children_ms_1e3"]
    return figures


async def _memory(subject: Subject) -> dict[str, Any]:
    """How many bytes an entry takes decoded, and what the cache thinks it takes."""
    index = await _index(subject)
    entries = taken = 0
    pages: list[Page | int] = [index.tree.root]
    while pages:
        page = await _page(subject, pages.pop())
        pages += page.children
        entries += len(page.values)
        held = (page, page.keys, page.values, page.children, *page.keys, *page.values)
        taken += sum(map(sys.getsizeof, held)) + sum(map(sys.getsizeof, page.children))
    cache = subject.kernel.cache.statistics()
    return {
        "memory_bytes_per_entry_1e6": taken / entries,
        "cache_bytes_1e6": cache.bytes,
        "cache_capacity_bytes": cache.capacity_bytes,
        "cache_evictions_1e6": cache.evictions,
    }


async def _page(subject: Subject, page: Page | int) -> Page:
    return page if isinstance(page, Page) else await subject.realm.get(page, Page)
