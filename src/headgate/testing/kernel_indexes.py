"""Conformance of indexes: spilled, split and merged, they equal a plain dict on every node."""

import random
from functools import partial

from headgate.kernel.draft import Draft
from headgate.kernel.index import Index
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.testing.callers import commit, entries_of, head_of, patiently

BATCHES = 10
BATCH = 300  # entries that one commit puts
NAMESPACES = 12

Entries = dict[bytes, bytes]
Edits = dict[bytes, bytes | None]  # None removes


class IndexConformance:
    """An index of some thousand entries, changed on two nodes in turn."""

    async def test_a_large_index_equals_a_dict_on_both_nodes(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """It grows by random keys until it is spilled and split, and shrinks until it is merged."""
        chance = random.Random(7)
        model: Entries = {}
        for number in range(2 * BATCHES):
            writer, reader = (node, other_node) if number % 2 else (other_node, node)
            edits = _growth(chance, model) if number < BATCHES else _shrinkage(chance, model)
            await commit(writer, key, partial(_edit, edits))
            _apply(model, edits)
            if number % 5 == 4:
                assert list((await entries_of(reader, key, "names")).items()) == sorted(
                    model.items()
                )

        assert len(model) < BATCH
        for kernel in (node, other_node):
            assert await entries_of(kernel, key, "names") == model

    async def test_look_ups_ranges_and_children_agree_with_a_dict(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """All ways to read an index on one node show what the other has committed."""
        chance = random.Random(8)
        model: Entries = {}
        for _ in range(4):
            edits = _tree_of_names(chance)
            await commit(node, key, partial(_edit, edits))
            _apply(model, edits)
        index = (await head_of(other_node, key)).index("names")

        for name in [*chance.sample(sorted(model), 20), b"absent", b"", b"\xff"]:
            assert await patiently(partial(index.get, name)) == model.get(name)
        for _ in range(10):
            low, high = sorted(chance.sample(sorted(model), 2))
            wanted = {name: value for name, value in model.items() if low <= name < high}
            assert await patiently(partial(_range, index, low, high)) == wanted
        for prefix in (b"", b"ns-3\0", b"ns-3\0table-1", b"no such\0"):
            assert await patiently(partial(_children, index, prefix)) == _model_children(
                model, prefix
            )

    async def test_the_difference_of_two_versions_is_what_was_done_between(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Any two heads of a pointer, compared on the other node, differ as their contents do."""
        chance = random.Random(9)
        model: Entries = {}
        versions: list[tuple[Index, Entries]] = []
        for number in range(6):
            edits = _growth(chance, model) if number < 4 else _shrinkage(chance, model)
            await commit(node, key, partial(_edit, edits))
            _apply(model, edits)
            versions.append(((await head_of(other_node, key)).index("names"), dict(model)))

        for old, before in versions:
            for new, after in versions:
                found = await patiently(partial(old.difference, new))
                assert {one.key: (one.old, one.new) for one in found} == {
                    name: (before.get(name), after.get(name))
                    for name in before.keys() | after.keys()
                    if before.get(name) != after.get(name)
                }

    async def test_large_and_odd_entries_come_back_as_they_were(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Empty values, keys that are prefixes of others, zero bytes, entries over a page."""
        chance = random.Random(10)
        model = {
            b"": b"the empty key",
            b"\0": b"",
            b"\0\0": b"\0",
            b"\xff" * 4096: b"the longest key",
            **{b"prefix" * length: b"" for length in range(1, 130)},
            **{f"large {size}".encode(): chance.randbytes(size) for size in (4095, 4096, 16_384)},
        }
        await commit(node, key, partial(_edit, dict(model)))
        assert await entries_of(other_node, key, "names") == model

        await commit(other_node, key, partial(_edit, dict.fromkeys(model)))
        assert await entries_of(node, key, "names") == {}


def _edit(edits: Edits, draft: Draft) -> None:
    """Do these edits: an attempt that may be repeated."""
    index = draft.index("names")
    for name, value in edits.items():
        if value is None:
            index.remove(name)
        else:
            index.put(name, value)


def _apply(model: Entries, edits: Edits) -> None:
    for name, value in edits.items():
        if value is None:
            model.pop(name, None)
        else:
            model[name] = value


def _growth(chance: random.Random, model: Entries) -> Edits:
    """Mostly new keys, some new values, some removals."""
    edits: Edits = {
        f"{chance.randrange(10**9):09} {'name' * chance.randint(1, 8)}".encode(): chance.randbytes(
            chance.randint(0, 40)
        )
        for _ in range(BATCH)
    }
    for name in chance.sample(sorted(model), min(len(model), BATCH // 5)):
        edits[name] = chance.choice([None, b"changed"])
    return edits


def _shrinkage(chance: random.Random, model: Entries) -> Edits:
    """Removals of about half of all keys."""
    return dict.fromkeys(chance.sample(sorted(model), len(model) * 2 // 5))


def _tree_of_names(chance: random.Random) -> Edits:
    """Namespaces, some without an entry of their own, and tables in them."""
    edits: Edits = {}
    for _ in range(BATCH):
        namespace = f"ns-{chance.randrange(NAMESPACES)}"
        edits[f"{namespace}\0table-{chance.randrange(100)}".encode()] = chance.randbytes(20)
        if chance.random() < 0.02:
            edits[namespace.encode()] = b"a namespace"
    return edits


def _model_children(model: Entries, prefix: bytes) -> dict[bytes, bytes | None]:
    children: dict[bytes, bytes | None] = {}
    for name in sorted(model):
        if name.startswith(prefix) and name != prefix:
            child = prefix + name[len(prefix) :].split(b"\0")[0]
            children.setdefault(child, model.get(child))
    return children


async def _range(index: Index, low: bytes, high: bytes) -> Entries:
    return {name: value async for name, value in index.scan(low, high)}


async def _children(index: Index, prefix: bytes) -> dict[bytes, bytes | None]:
    return {name: value async for name, value in index.children(prefix)}
