"""Batches of files, and what deletes them."""

import threading
from collections.abc import Callable

import pytest

from headgate.clock import SystemClock
from headgate.errors import LeaseLost
from headgate.purge import sweeping
from headgate.purge.sweeping import Batch, Sweep
from headgate.storage.deletions import Check, Deleted, Folders, may_go_on

Deleting = Callable[[Folders], Deleted]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "PAUSES_SECONDS", (0, 0, 0))


class Store:
    """Deletes as a test says, and remembers what it was asked."""

    def __init__(self, *answers: Deleting) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, list[str]]] = []
        self.threads: set[int] = set()

    def delete(self, folders: Folders, check: Check) -> Deleted:
        check()
        self.asked.append({folder: list(names) for folder, names in folders.items()})
        self.threads.add(threading.get_ident())
        return self.answers.pop(0)(folders) if self.answers else all_of(folders)


def all_of(folders: Folders) -> Deleted:
    return Deleted(sum(map(len, folders.values())), [], [])


def none_of(folders: Folders) -> Deleted:
    failed = [(f"{folder}/{name}", "no") for folder, names in folders.items() for name in names]
    return Deleted(0, [], failed)


def batch(*names: str, size: int = 1) -> Batch:
    made = Batch()
    for name in names:
        folder, _, file = name.rpartition("/")
        made.add(folder, file, size)
    return made


def sweep(
    store: Store, *batches: Batch, threads: int = 4, check: Check = may_go_on
) -> list[Deleted]:
    done: list[Deleted] = []
    with Sweep(store, threads, SystemClock(), check, lambda _, one: done.append(one)) as sweeping:
        for one in batches:
            sweeping.take(one)
    return done


def test_what_fails_is_tried_again_three_times() -> None:
    """And then told; what went well is not asked for again."""
    store = Store(lambda _: Deleted(1, ["a/2"], [("a/3", "no"), ("b/1", "no")]), *[none_of] * 3)

    [done] = sweep(store, batch("a/1", "a/2", "a/3", "b/1"))

    assert done == Deleted(1, ["a/2"], [("a/3", "no"), ("b/1", "no")])
    assert store.asked == [{"a": ["1", "2", "3"], "b": ["1"]}, *[{"a": ["3"], "b": ["1"]}] * 3]


def test_what_works_at_last_has_not_failed() -> None:
    """A store may have had a bad moment, or deleted what it said it did not."""
    later: Deleting = lambda _: Deleted(1, ["a/1"], [])  # noqa: E731
    store = Store(none_of, none_of, later)

    [done] = sweep(store, batch("a/1", "a/2"))

    assert done == Deleted(1, ["a/1"], [])


def test_bytes_are_those_of_what_was_deleted() -> None:
    """Neither of what was missing nor of what is still there."""
    one = batch("a/1", "a/2", "b/1", "b/2", size=10)

    assert one.deleted_bytes(Deleted(4, [], [])) == 40
    assert one.deleted_bytes(Deleted(1, ["a/2", "b/1"], [("b/2", "no")])) == 10


def test_quick_batches_are_deleted_where_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """To pass Python's lock on for each file takes longer than to delete it."""
    monkeypatch.setattr(sweeping, "QUICK_SECONDS", 1_000)
    store = Store()

    done = sweep(store, *(batch(f"a/{number}") for number in range(20)))

    assert len(done) == 20
    assert store.threads == {threading.get_ident()}


def test_slow_batches_are_deleted_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at a time as there are threads: each waits here until all have come."""
    monkeypatch.setattr(sweeping, "QUICK_SECONDS", -1)
    together = threading.Barrier(4, timeout=60)

    def meet(folders: Folders) -> Deleted:
        together.wait()
        return all_of(folders)

    store = Store(all_of, *[meet] * 8)

    done = sweep(store, *(batch(f"a/{number}") for number in range(9)), threads=4)

    assert len(done) == 9
    assert len(store.threads) > 1


def test_an_end_stops_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is not begun, and whoever brings batches hears of it."""
    monkeypatch.setattr(sweeping, "QUICK_SECONDS", -1)
    store = Store()

    def check() -> None:
        if len(store.asked) >= 5:
            raise LeaseLost("over")

    with pytest.raises(LeaseLost):
        sweep(store, *(batch(f"a/{number}") for number in range(50)), check=check)

    assert 5 <= len(store.asked) < 50
