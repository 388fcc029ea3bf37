"""Indexes against plain dictionaries: any changes, undone or stored at any time, any cache size."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headgate.kernel.draft import Draft, Savepoint
from headgate.kernel.head import decode_replaced, decode_root
from headgate.kernel.index import PageShelf, after_prefix
from headgate.kernel.objects import expect, join
from headgate.kernel.pages import EMPTY_LEAF, Page, size
from headgate.kernel.tree import Difference, Missing, Tree
from headgate.limits import (
    CACHE_BYTES,
    INDEX_VALUE_BYTES_MAX,
    PAGE_BYTES_MAX,
    ROOTS_BYTES_MAX,
)
from tests.unit.kernel.conftest import NAMES, REALM, OnePointer

T = TypeVar("T")
Model = dict[bytes, bytes]

OTHER = "other"  # a second index: both roots share the room in the head
LONG = b"/long/common/prefix" * 20
NUMBERS = 600

tricky = st.lists(st.sampled_from([b"\0", b"\x01", b"a", b"b", b"\xff"]), max_size=5).map(b"".join)
numbered = st.integers(0, NUMBERS).map(lambda number: LONG + b"\0%04d" % number)
keys = tricky | numbered
lengths = st.integers(0, 20) | st.integers(0, 3_000) | st.sampled_from([INDEX_VALUE_BYTES_MAX])
marks = st.sampled_from([b"", b"\0", b"x", b"\xff"])
indexes = st.sampled_from([NAMES, NAMES, NAMES, OTHER])
cache_sizes = st.sampled_from([0, 3_000, 30_000, CACHE_BYTES])


class IndexMachine(RuleBasedStateMachine):
    """A draft on the newest head, what it should hold, and what every stored head should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.pointer = OnePointer()
        self.models: dict[str, Model] = {NAMES: {}, OTHER: {}}
        self.savepoints: list[tuple[Savepoint, dict[str, Model]]] = []
        self.heads: dict[int, dict[str, Model]] = {}
        self.pages: dict[int, Page] = {}
        self.draft: Draft
        self.shelf: PageShelf

    @initialize(count=st.sampled_from([0, 30, NUMBERS, NUMBERS]), cache_bytes=cache_sizes)
    def begin(self, count: int, cache_bytes: int) -> None:
        self.draft, self.shelf = self.runner.run(self.pointer.draft())
        self.put_many(NAMES, 0, count, 2, 5)
        self.commit(cache_bytes)

    # Changes

    @rule(index=indexes, key=keys, length=lengths, mark=marks)
    def put(self, index: str, key: bytes, length: int, mark: bytes) -> None:
        value = mark.ljust(length, b".")
        self.attempt(index, lambda tree: tree.put(key, value))
        self.models[index][key] = value

    @rule(index=indexes, key=keys)
    def remove(self, index: str, key: bytes) -> None:
        self.attempt(index, lambda tree: tree.remove(key))
        self.models[index].pop(key, None)

    @rule(
        index=indexes,
        start=st.integers(0, NUMBERS),
        count=st.integers(1, NUMBERS),
        step=st.sampled_from([1, 1, 7]),
        length=st.sampled_from([0, 5, 5, 300]),
    )
    def put_many(self, index: str, start: int, count: int, step: int, length: int) -> None:
        for number in range(start, min(start + count, NUMBERS), step):
            self.put(index, LONG + b"\0%04d" % number, length, b"m")

    @rule(index=indexes, start=keys, count=st.integers(1, NUMBERS), step=st.sampled_from([1, 1, 2]))
    def remove_many(self, index: str, start: bytes, count: int, step: int) -> None:
        present = sorted(key for key in self.models[index] if key >= start)
        for key in present[:count:step]:
            self.remove(index, key)

    # What an attempt can see

    @rule(index=indexes, key=keys)
    def get(self, index: str, key: bytes) -> None:
        assert self.attempt(index, lambda tree: tree.get(key)) == self.models[index].get(key)

    @rule(index=indexes, low=keys, high=st.none() | keys)
    def scan(self, index: str, low: bytes, high: bytes | None) -> None:
        found = self.attempt(index, lambda tree: list(tree.scan(low, high)))
        assert found == between(self.models[index], low, high)

    @rule(index=indexes, prefix=tricky | st.sampled_from([LONG, LONG + b"\0"]), data=st.data())
    def children(self, index: str, prefix: bytes, data: st.DataObject) -> None:
        expected = children_of(self.models[index], prefix)
        found = self.attempt(index, lambda tree: list(tree.children(prefix)))
        assert found == expected
        if expected:
            at = data.draw(st.integers(0, len(expected) - 1))
            after = expected[at][0]
            rest = self.attempt(index, lambda tree: list(tree.children(prefix, after=after)))
            assert rest == expected[at + 1 :]

    # Undoing and storing

    @rule()
    def save(self) -> None:
        models = {name: dict(model) for name, model in self.models.items()}
        self.savepoints.append((self.draft.savepoint(), models))

    @precondition(lambda self: self.savepoints)
    @rule()
    def undo(self) -> None:
        savepoint, self.models = self.savepoints.pop()
        self.draft.restore(savepoint)

    @rule(cache_bytes=cache_sizes)
    def commit(self, cache_bytes: int) -> None:
        """Store the draft; the next one reads with a cold cache of another size."""
        before = {id for index in self.models for id in self.stored_pages(index)}
        assembled = self.runner.run(self.pointer.commit(self.draft))
        self.heads[assembled.id] = {name: dict(model) for name, model in self.models.items()}
        after = {id for index in self.models for id in self.stored_pages(index)}
        assert sum(len(bytes(raw)) for raw in assembled.head.roots.values()) <= ROOTS_BYTES_MAX
        if not assembled.head.spilled:
            replaced = decode_replaced(assembled.head.replaced)
            assert sorted(replaced) == sorted(before - after)
        self.pointer.restart(cache_bytes)
        self.draft, self.shelf = self.runner.run(self.pointer.draft())
        self.savepoints = []

    # What readers of stored heads see

    @precondition(lambda self: self.heads)
    @rule(index=indexes, data=st.data(), low=keys, prefix=tricky)
    def read(self, index: str, data: st.DataObject, low: bytes, prefix: bytes) -> None:
        id = data.draw(st.sampled_from(sorted(self.heads)))
        model = self.heads[id][index]
        found = self.runner.run(self.read_all(id, index, low, prefix))
        assert found == (
            model.get(low),
            between(model, low, None),
            between(model, prefix, after_prefix(prefix)),
            children_of(model, prefix),
        )

    @precondition(lambda self: self.heads)
    @rule(index=indexes, data=st.data())
    def compare(self, index: str, data: st.DataObject) -> None:
        ids = st.sampled_from(sorted(self.heads))
        old, new = data.draw(ids), data.draw(ids)
        before, after = self.heads[old][index], self.heads[new][index]
        assert self.runner.run(self.difference(old, new, index)) == [
            Difference(key, before.get(key), after.get(key))
            for key in sorted(before.keys() | after.keys())
            if before.get(key) != after.get(key)
        ]

    @invariant()
    def the_working_trees_are_well_formed(self) -> None:
        for index, model in self.models.items():
            tree = self.draft.trees.get(index)
            if tree is not None:
                assert check(self.stored, tree.root, b"", None) == len(model)

    def teardown(self) -> None:
        for index, model in self.models.items():
            for key in list(model):
                self.remove(index, key)
            assert self.attempt(index, lambda tree: tree.root) == EMPTY_LEAF
        self.runner.close()

    # How it is done

    def attempt(self, index: str, change: Callable[[Tree], T]) -> T:
        """Run this on the working tree, again after each fetch, as the committer does."""
        while True:
            mark = self.draft.savepoint()
            try:
                return change(self.draft.tree(index))
            except Missing as missing:
                self.draft.restore(mark)
                self.runner.run(self.shelf.fetch(missing))

    async def read_all(self, id: int, index: str, low: bytes, prefix: bytes) -> tuple[object, ...]:
        reader = (await self.pointer.head(id)).index(index)
        return (
            await reader.get(low),
            await collected(reader.scan(low)),
            await collected(reader.prefix(prefix)),
            await collected(reader.children(prefix)),
        )

    async def difference(self, old: int, new: int, index: str) -> list[Difference]:
        heads = [await self.pointer.head(id) for id in (old, new)]
        return await heads[0].index(index).difference(heads[1].index(index))

    def stored(self, id: int) -> Page:
        if id not in self.pages:
            rows = self.runner.run(self.pointer.backend.inner.fetch(REALM, [id]))
            self.pages[id] = expect(self.pointer.types.decode(REALM, join(rows)), Page, id)
        return self.pages[id]

    def stored_pages(self, index: str) -> Iterable[int]:
        head = self.runner.run(self.pointer.head()).head
        pages = [decode_root(head, index)]
        while pages:
            page = pages.pop()
            yield from page.children
            pages += [self.stored(id) for id in page.children]


def between(model: Model, low: bytes, high: bytes | None) -> list[tuple[bytes, bytes]]:
    return sorted(
        (key, value) for key, value in model.items() if low <= key and (high is None or key < high)
    )


def children_of(model: Model, prefix: bytes) -> list[tuple[bytes, bytes | None]]:
    found: dict[bytes, bytes | None] = {}
    for key in sorted(model):
        if key.startswith(prefix) and key != prefix:
            name, *below = key[len(prefix) :].split(b"\0", 1)
            if name:
                found.setdefault(prefix + name, None if below else model[key])
    return list(found.items())


async def collected(entries: AsyncIterator[T]) -> list[T]:
    return [entry async for entry in entries]


def check(stored: Callable[[int], Page], page: Page, low: bytes, high: bytes | None) -> int:
    """How many entries are below this page; everything is in order, in bounds and in size."""
    assert all(left < right for left, right in pairwise(page.keys))
    bounds = page.keys[1:] if page.level else page.keys
    assert all(low <= key and (high is None or key < high) for key in bounds)
    if not page.level:
        assert len(page.keys) == len(page.values)
        assert size(page) <= PAGE_BYTES_MAX or len(page.keys) == 1
        return len(page.keys)
    assert len(page.keys) == len(page.children) >= 1
    assert size(page) <= PAGE_BYTES_MAX or len(page.children) <= 3
    count = 0
    for child, lower, upper in zip(page.children, (low, *bounds), (*bounds, high), strict=True):
        below = child if isinstance(child, Page) else stored(child)
        assert below.level == page.level - 1
        count += check(stored, below, lower, upper)
    return count


TestIndexMachine = pytest.mark.timeout(1_800)(IndexMachine.TestCase)  # shrinking takes its time
TestIndexMachine.__doc__ = "Indexes do what sorted dictionaries do."
