"""The cache of rights: what it keeps, and how it is told to forget."""

from headgate.catalog.access_cache import AccessCache, BoundedAccessCache
from headgate.testing.manual_clock import ManualClock

ANN, BOB, ROLE = ("1", "access", "ann"), ("1", "access", "bob"), ("1", "role", 7)
ELSEWHERE = ("2", "access", "ann")


def filled(**options: int) -> AccessCache:
    cache = BoundedAccessCache(ManualClock(), **options)
    for key in (ANN, BOB, ROLE, ELSEWHERE):
        cache.put(key, f"of {key[-1]}")
    return cache


def test_what_was_put_is_found_until_it_is_replaced() -> None:
    """A key has one value."""
    cache = filled()
    cache.put(ANN, "new")

    assert (cache.get(ANN), cache.get(BOB), cache.get(("1", "access", "eve"))) == (
        "new",
        "of bob",
        None,
    )
    assert cache.size() == 4


def test_one_entry_can_be_dropped() -> None:
    """The others stay, and dropping what is not there is no matter."""
    cache = filled()
    cache.invalidate(ANN)
    cache.invalidate(ANN)

    assert list(cache.keys()) == [BOB, ROLE, ELSEWHERE]
    assert cache.statistics().invalidated == 1


def test_all_below_a_prefix_can_be_dropped() -> None:
    """Whole parts of keys are compared."""
    cache = filled()
    cache.invalidate_prefix(("1", "access"))
    assert list(cache.keys()) == [ROLE, ELSEWHERE]

    cache.invalidate_prefix(("1",))
    assert list(cache.keys()) == [ELSEWHERE]

    cache.invalidate_prefix(())
    assert cache.size() == 0


def test_what_a_predicate_chooses_can_be_dropped() -> None:
    """It sees keys and values."""
    cache = filled()
    cache.invalidate_where(lambda key, value: key[0] == "1" and value == "of ann")

    assert list(cache.keys()) == [BOB, ROLE, ELSEWHERE]


def test_whoever_was_not_asked_for_longest_makes_room() -> None:
    """Asking is what counts, not putting."""
    cache = filled(entries_max=4)
    cache.get(ANN)
    cache.put(("3", "access", "eve"), "of eve")

    assert (cache.get(ANN), cache.get(BOB)) == ("of ann", None)
    assert (cache.size(), cache.statistics().evictions) == (4, 1)


def test_nothing_grows_old_unless_a_lifetime_is_set() -> None:
    """The guard drops what changed; a lifetime is but a safety net."""
    clock = ManualClock()
    for_ever = BoundedAccessCache(clock)
    for_a_while = BoundedAccessCache(clock, ttl_seconds=10)
    for cache in (for_ever, for_a_while):
        cache.put(ANN, "of ann")
    clock.advance(9_999)
    assert (for_ever.get(ANN), for_a_while.get(ANN)) == ("of ann", "of ann")

    clock.advance(1)
    assert (for_ever.get(ANN), for_a_while.get(ANN)) == ("of ann", None)
    assert (for_ever.size(), for_a_while.size()) == (1, 0)


def test_it_counts_what_it_did() -> None:
    """For operators."""
    cache = filled(entries_max=5)
    cache.get(ANN)
    cache.get(("none",))
    cache.invalidate_prefix(("2",))
    counted = cache.statistics()

    assert (counted.entries, counted.entries_max) == (3, 5)
    assert (counted.hits, counted.misses) == (1, 1)
    assert (counted.evictions, counted.invalidated) == (0, 1)
