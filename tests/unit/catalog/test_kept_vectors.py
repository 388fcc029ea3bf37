"""Vectors that are kept: they never contradict each other, and never go back."""

import random

import pytest

from headgate.catalog import kept_vectors
from headgate.catalog.kept_vectors import KeptVectors, Keys
from headgate.kernel.pointers import Vector
from headgate.kernel.records import PointerKey
from headgate.limits import POLLS_UNUSED_MAX

A, B, C = (PointerKey("1", name) for name in "abc")


def test_what_was_read_is_found_by_the_same_keys() -> None:
    """Others were not read together."""
    kept = KeptVectors()
    kept.keep((A, B), [1, None], kept.turn)

    assert kept.find((A, B)) == [1, None]
    assert kept.find((B, A)) is kept.find((A,)) is None
    assert kept.pointers == [A, B]


def test_a_pointer_that_moved_takes_all_its_vectors_along() -> None:
    """So no caller sees the old value after another has seen the new one."""
    kept = KeptVectors()
    kept.keep((A, B), [1, 1], kept.turn)
    kept.keep((B, C), [1, 1], kept.turn)
    kept.keep((A, C), [1, 1], kept.turn)
    kept.keep((A, B), [1, 2], kept.turn)

    assert kept.find((A, B)) == [1, 2]
    assert kept.find((B, C)) is None
    assert kept.find((A, C)) == [1, 1]


def test_what_was_read_before_a_commit_is_not_kept_after_it() -> None:
    """Whoever was told of the commit would not see it."""
    kept = KeptVectors()
    began = kept.turn
    kept.forget(A)
    kept.keep((A, B), [1, 1], began)
    assert (kept.find((A, B)), kept.pointers) == (None, [])

    kept.keep((A, B), [2, 1], kept.turn)
    assert kept.find((A, B)) == [2, 1]


def test_of_two_reads_at_a_time_that_contradict_each_other_none_is_kept() -> None:
    """Nobody knows which is the newer one; both have been answered."""
    kept = KeptVectors()
    began = kept.turn
    kept.keep((A, B), [1, 1], began)
    kept.keep((A, C), [2, 1], began)

    assert len(kept) == 0


def test_reads_at_a_time_that_agree_are_kept() -> None:
    """Those that share a round trip begin together."""
    kept = KeptVectors()
    began = kept.turn
    kept.keep((A, B), [1, 1], began)
    kept.keep((A, C), [1, 1], began)

    assert len(kept) == 2


def test_a_poll_drops_what_moved() -> None:
    """And nothing else."""
    kept = KeptVectors()
    kept.keep((A, B), [1, 1], kept.turn)
    kept.keep((C,), [1], kept.turn)
    kept.settle({A: 1, B: None, C: 1}, kept.turn)

    assert (kept.find((A, B)), kept.find((C,))) == (None, [1])


def test_a_poll_leaves_alone_what_was_read_since_it_began() -> None:
    """That is at least as new."""
    kept = KeptVectors()
    kept.keep((A, B), [1, 1], kept.turn)
    began = kept.turn
    kept.keep((A, B), [2, 1], kept.turn)
    kept.settle({A: 1, B: 1}, began)

    assert kept.find((A, B)) == [2, 1]


def test_what_nobody_asks_for_is_polled_no_more() -> None:
    """A catalog that is in use stays."""
    kept = KeptVectors()
    kept.keep((A, B), [1, 1], kept.turn)
    kept.keep((B, C), [1, 1], kept.turn)
    for _ in range(POLLS_UNUSED_MAX + 1):
        kept.find((A, B))
        kept.settle({}, kept.turn)

    assert kept.pointers == [A, B]
    assert kept.find((B, C)) is None


def test_a_limited_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest one makes room, for others and not for itself."""
    monkeypatch.setattr(kept_vectors, "POLLED_VECTORS_MAX", 2)
    kept = KeptVectors()
    for key in (A, B, B, C):
        kept.keep((key,), [1], kept.turn)

    assert (len(kept), kept.find((A,)), kept.pointers) == (2, None, [B, C])


def test_a_limited_number_of_moves_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before those that are forgotten might contradict them."""
    monkeypatch.setattr(kept_vectors, "POINTERS_MOVED_KNOWN_MAX", 2)
    kept = KeptVectors()
    began = kept.turn
    for key in (A, B, C):
        kept.forget(key)
    kept.keep((A,), [1], began)
    assert kept.find((A,)) is None

    kept.keep((A,), [1], kept.turn)
    assert kept.find((A,)) == [1]


class World:
    """Pointers whose values only grow, read and moved by many at a time."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kept = KeptVectors()
        self.now = dict.fromkeys((A, B, C), 1)
        self.past = [dict(self.now)]
        self.seen = dict(self.now)  # the newest that any answer rested on, or was told of
        self.reading: list[tuple[Keys, int, Vector | None]] = []
        self.polling: tuple[int, list[PointerKey], dict[PointerKey, int] | None] | None = None
        self.found = 0

    def move(self) -> None:
        """Another node commits, or this one, which is then told."""
        key = self.chance.choice((A, B, C))
        self.now[key] += 1
        self.past.append(dict(self.now))
        if self.chance.random() < 0.3:
            self.kept.forget(key)
            self.seen[key] = self.now[key]

    def read(self) -> None:
        """One read begins, sees the pointers, or ends."""
        if not self.reading or (len(self.reading) < 3 and self.chance.random() < 0.3):
            keys = self.chance.choice([(A, B), (B, C), (A, C), (A, B, C)])
            self.reading.append((keys, self.kept.turn, None))
            return
        at = self.chance.randrange(len(self.reading))
        keys, began, vector = self.reading[at]
        if vector is None:
            self.reading[at] = keys, began, [self.now[key] for key in keys]
            return
        del self.reading[at]
        self.kept.keep(keys, vector, began)
        self.answer(keys, vector)

    def poll(self) -> None:
        """One poll begins, sees the pointers, or ends."""
        if self.polling is None:
            self.polling = self.kept.turn, self.kept.pointers, None
            return
        began, keys, values = self.polling
        if values is None:
            self.polling = began, keys, {key: self.now[key] for key in keys}
            return
        self.polling = None
        self.kept.settle(values, began)

    def look(self) -> None:
        keys = self.chance.choice([(A, B), (B, C), (A, C), (A, B, C)])
        vector = self.kept.find(keys)
        if vector is None:
            return
        self.found += 1
        assert any([past[key] for key in keys] == vector for past in self.past), vector
        assert all(
            value >= self.seen[key] for key, value in zip(keys, vector, strict=True) if value
        )
        self.answer(keys, vector)

    def answer(self, keys: Keys, vector: Vector) -> None:
        for key, value in zip(keys, vector, strict=True):
            self.seen[key] = max(self.seen[key], value or 0)


@pytest.mark.parametrize("seed", range(20))
def test_no_kept_vector_is_older_than_an_answer(seed: int) -> None:
    """Each was true at one instant, and nothing that anybody has seen is taken back."""
    world = World(seed)
    steps = [world.move, world.poll, *[world.read] * 6, *[world.look] * 4]
    for _ in range(2_000):
        world.chance.choice(steps)()
    assert world.found > 50
