"""The cache: bytes are bounded, each value is loaded once, and its numbers are exact."""

import asyncio
from collections.abc import Iterable

import pytest

from headgate.errors import BackendUnavailable
from headgate.kernel.cache import Cache, CacheStatistics, Key, Loaded


def keys(*ids: int) -> list[Key]:
    return [("r", id) for id in ids]


class Loader:
    """Loads what a database has, when it is let go, and remembers what it was asked for."""

    def __init__(self, ids: Iterable[int] = range(100), bytes: int = 10) -> None:
        self.ids = set(ids)
        self.bytes = bytes
        self.asked: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, wanted: list[Key]) -> Loaded:
        self.asked.append([id for _, id in wanted])
        there = [(realm, id) for realm, id in wanted if id in self.ids]
        await self.gate.wait()
        return {key: (f"v{key[1]}", self.bytes) for key in there}


async def failing(wanted: list[Key]) -> Loaded:
    await asyncio.sleep(0)
    raise BackendUnavailable("no answer")


async def started(
    *coroutines: "asyncio._CoroutineLike[dict[Key, object]]",
) -> list[asyncio.Task[dict[Key, object]]]:
    tasks = [asyncio.create_task(one) for one in coroutines]
    await asyncio.sleep(0)
    return tasks


def test_what_was_put_is_found() -> None:
    """A value is at hand until it is dropped, and what was never put is not."""
    cache = Cache(100)
    cache.put(("r", 1), "one", 10)
    cache.put(("r", 1, "part"), "root", 10)

    assert cache.find(("r", 1)) == "one"
    assert cache.find(("r", 1, "part")) == "root"
    assert cache.find(("s", 1)) is None
    cache.drop(("r", 1))
    cache.drop(("r", 2))
    assert cache.find(("r", 1)) is None
    assert cache.statistics().bytes == 10


def test_the_least_recently_used_go_first() -> None:
    """The bytes are bounded; what was looked at lately stays."""
    cache = Cache(30)
    for id in (1, 2, 3):
        cache.put(("r", id), id, 10)
    cache.find(("r", 1))
    cache.put(("r", 4), 4, 15)

    assert [id for id in (1, 2, 3, 4) if cache.find(("r", id))] == [1, 4]
    assert cache.statistics().bytes == 25
    assert cache.statistics().evictions == 2


def test_a_value_that_is_put_again_stays_as_it_is() -> None:
    """What is there cannot differ: it is neither replaced nor charged again."""
    cache = Cache(30)
    first, same = ["value"], ["value"]
    cache.put(("r", 1), first, 20)
    cache.put(("r", 1), same, 10)
    cache.put(("r", 1), same, 31)

    assert cache.find(("r", 1)) is first
    assert cache.statistics().bytes == 20
    assert cache.statistics().rejected == 0


def test_a_value_larger_than_the_cache_is_rejected() -> None:
    """It displaces nothing; one that just fits displaces all others."""
    cache = Cache(30)
    cache.put(("r", 1), "one", 10)
    cache.put(("r", 2), "two", 31)

    assert cache.find(("r", 1)) == "one"
    assert cache.find(("r", 2)) is None
    assert cache.statistics().rejected == 1
    cache.put(("r", 3), "three", 30)
    assert cache.statistics().entries == 1


async def test_statistics_are_exact() -> None:
    """Every number is what a reader would count by hand."""
    cache, loader = Cache(25), Loader()
    await cache.load(keys(1, 2), loader)  # 2 misses
    await cache.load(keys(1, 2), loader)  # 2 hits
    cache.find(("r", 3))  # nothing: it counts when it is loaded
    await cache.load(keys(2, 3, 3), loader)  # 1 hit, 1 miss, 1 eviction
    cache.find(("r", 3))  # 1 hit
    cache.ask(("r", 3))  # 1 hit
    cache.ask(("r", 5))  # 1 miss
    cache.put(("r", 4), "too large", 26)

    assert cache.statistics() == CacheStatistics(
        entries=2,
        bytes=20,
        capacity_bytes=25,
        hits=5,
        misses=4,
        joined=0,
        evictions=1,
        rejected=1,
    )


async def test_only_what_is_missing_is_loaded() -> None:
    """Values at hand are not asked for, a key that is wanted twice is loaded once."""
    cache, loader = Cache(100), Loader()
    cache.put(("r", 1), "put", 10)
    found = await cache.load(keys(1, 2, 2, 3), loader)

    assert found == {("r", 1): "put", ("r", 2): "v2", ("r", 3): "v3"}
    assert loader.asked == [[2, 3]]


async def test_absent_values_are_not_in_the_answer() -> None:
    """Nor are they remembered: what is stored later is found."""
    cache, loader = Cache(100), Loader(ids=[1])
    first = await cache.load(keys(1, 2), loader)
    loader.ids.add(2)

    assert first == {("r", 1): "v1"}
    assert await cache.load(keys(2), loader) == {("r", 2): "v2"}


@pytest.mark.parametrize("capacity", [0, 5, 1_000])
async def test_callers_at_the_same_time_share_one_load(capacity: int) -> None:
    """A thousand callers are one load, also of what the cache does not keep."""
    cache, loader = Cache(capacity), Loader()
    loader.gate.clear()
    tasks = await started(*(cache.load(keys(1), loader) for _ in range(1_000)))
    loader.gate.set()

    assert await asyncio.gather(*tasks) == [{("r", 1): "v1"}] * 1_000
    assert loader.asked == [[1]]
    assert cache.statistics().joined == 999
    assert cache.statistics().misses == 1_000


async def test_loads_overlap_key_by_key() -> None:
    """Callers load what nobody else loads and wait for the rest; crossing ones do not lock up."""
    cache, loader = Cache(1_000), Loader()
    loader.gate.clear()
    tasks = await started(
        cache.load(keys(1, 2), loader),
        cache.load(keys(2, 3), loader),
        cache.load(keys(3, 1), loader),
    )
    loader.gate.set()

    assert [sorted(id for _, id in found) for found in await asyncio.gather(*tasks)] == [
        [1, 2],
        [2, 3],
        [1, 3],
    ]
    assert loader.asked == [[1, 2], [3]]


async def test_a_load_that_fails_fails_only_its_caller() -> None:
    """Those who waited for it load for themselves."""
    cache, loader = Cache(1_000), Loader()
    tasks = await started(cache.load(keys(1), failing), cache.load(keys(1), loader))
    first, second = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(first, BackendUnavailable)
    assert second == {("r", 1): "v1"}
    assert cache.statistics().joined == 1


async def test_a_caller_that_is_cancelled_does_not_hurt_those_who_wait() -> None:
    """They load for themselves."""
    cache, loader, stuck = Cache(1_000), Loader(), Loader()
    stuck.gate.clear()
    first, second = await started(cache.load(keys(1), stuck), cache.load(keys(1), loader))
    first.cancel()

    assert await second == {("r", 1): "v1"}
    assert first.cancelled()
    assert await cache.load(keys(1), failing) == {("r", 1): "v1"}


async def test_a_waiting_caller_that_is_cancelled_does_not_stop_the_load() -> None:
    """The one who loads gets its answer, and so do all others who wait."""
    cache, loader = Cache(1_000), Loader()
    loader.gate.clear()
    tasks = await started(*(cache.load(keys(1), loader) for _ in range(3)))
    tasks[1].cancel()
    await asyncio.sleep(0)
    loader.gate.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)

    assert found[::2] == [{("r", 1): "v1"}] * 2
    assert isinstance(found[1], asyncio.CancelledError)
    assert loader.asked == [[1]]


async def test_a_load_that_looked_too_early_is_not_believed() -> None:
    """A value may be stored while another caller's load is under way: it must be found."""
    cache, early, loader = Cache(1_000), Loader(ids=[]), Loader(ids=[1])
    early.gate.clear()
    first, second = await started(cache.load(keys(1), early), cache.load(keys(1), loader))
    early.gate.set()

    assert await first == {}
    assert await second == {("r", 1): "v1"}


async def test_loads_of_those_who_waited_do_not_undo_each_other() -> None:
    """After a failure several load the same key side by side; later callers join the last."""
    cache, slow, late = Cache(1_000), Loader(), Loader()
    slow.gate.clear()
    late.gate.clear()
    tasks = await started(
        cache.load(keys(1), failing), cache.load(keys(1), late), cache.load(keys(1), slow)
    )
    while not slow.asked:
        await asyncio.sleep(0)
    late.gate.set()
    failed, _ = await asyncio.gather(*tasks[:2], return_exceptions=True)
    cache.drop(("r", 1))
    joiner = await started(cache.load(keys(1), failing))
    slow.gate.set()

    assert isinstance(failed, BackendUnavailable)
    assert await joiner[0] == {("r", 1): "v1"}
    assert await tasks[2] == {("r", 1): "v1"}
    assert not cache._loads


async def test_a_load_of_another_flight_is_not_waited_for() -> None:
    """It may be stuck; its callers still share it, and what is loaded is there for all."""
    cache, stuck, free = Cache(1000), Loader(), Loader()
    stuck.gate.clear()
    waiting = await started(
        cache.load(keys(1), stuck, "slow"),
        cache.load(keys(1), stuck, "slow"),
    )

    assert await cache.load(keys(1), free, "quick") == {("r", 1): "v1"}
    assert await cache.load(keys(1), free, "third") == {("r", 1): "v1"}
    assert (stuck.asked, free.asked) == ([[1]], [[1]])
    stuck.gate.set()
    assert [await load for load in waiting] == [{("r", 1): "v1"}] * 2
