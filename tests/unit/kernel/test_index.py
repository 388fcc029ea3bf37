"""Indexes of a head as readers use them: pages on demand, and as few of them as possible."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from headgate.errors import ObjectNotFound, WrongType
from headgate.kernel.head import (
    NO_HEAD,
    NOTHING,
    decode_groups,
    decode_replaced,
    decode_root,
    encode_note,
    encode_root,
)
from headgate.kernel.index import PageShelf, after_prefix, open_head
from headgate.kernel.pages import EMPTY_LEAF, Page
from headgate.kernel.records import EMPTY
from headgate.kernel.tree import Difference, Missing
from headgate.limits import PAGE_BYTES_MAX, SCAN_AHEAD_PAGES
from tests.unit.kernel.conftest import NAMES, REALM, OnePointer

T = TypeVar("T")

NAMESPACES = 20
TABLES = 5_000  # in each namespace: 10^5 together
VALUE = b"kind, id, object id, owner id: 40 bytes."


def table(namespace: int, number: int) -> bytes:
    return b"space-%02d\0table-%06d" % (namespace, number)


async def collected(entries: AsyncIterator[T]) -> list[T]:
    return [entry async for entry in entries]


async def filled(count: int) -> OnePointer:
    pointer = OnePointer()
    await pointer.change({b"%06d" % number: VALUE for number in range(count)})
    return pointer


@pytest.fixture(scope="module")
def built() -> OnePointer:
    """A pointer with 10^5 names, built once for the tests that only read it."""
    pointer = OnePointer()
    names = {table(space, number): VALUE for space in range(NAMESPACES) for number in range(TABLES)}
    asyncio.run(pointer.change(names))
    return pointer


@pytest.fixture
def large(built: OnePointer) -> OnePointer:
    """The same with a cold cache; what a test commits to it is forgotten afterwards."""
    pointer = OnePointer()
    pointer.backend, pointer.ids, pointer.id = built.backend, built.ids, built.id
    pointer.restart()
    return pointer


# What is read


@pytest.mark.parametrize("id", [EMPTY, None])
async def test_a_pointer_without_a_commit_reads_as_empty(
    pointer: OnePointer, id: int | None
) -> None:
    """It has no entries in any index, and nobody is asked."""
    head = await open_head(pointer.store, REALM, id)
    index = head.index("anything")

    assert (head.id, head.head) == (EMPTY, NO_HEAD)
    assert await index.get(b"k") is None
    assert await collected(index.scan()) == []
    assert not pointer.backend.calls


async def test_a_head_that_is_not_there_is_named(pointer: OnePointer) -> None:
    """Absent heads, and ids of something else, are errors."""
    await pointer.change({b"%06d" % number: VALUE for number in range(200)})
    [page, *_] = (await pointer.head()).root(NAMES).children

    with pytest.raises(ObjectNotFound):
        await pointer.head(12345)
    with pytest.raises(WrongType):
        await pointer.head(page)
    with pytest.raises(WrongType):
        PageShelf(pointer.store, REALM).find(pointer.id)


@pytest.mark.parametrize("cache_bytes", [0, 10_000, 1 << 28])
@pytest.mark.parametrize("count", [1, 127, 128, 3_000])
async def test_readers_see_what_was_committed(count: int, cache_bytes: int) -> None:
    """Whatever the size of the index and of the cache."""
    pointer = await filled(count)
    pointer.restart(cache_bytes)
    index = await pointer.index()
    entries = [(b"%06d" % number, VALUE) for number in range(count)]

    assert await collected(index.scan()) == entries
    assert await collected(index.scan(b"000010", b"000100")) == entries[10:100]
    assert await collected(index.prefix(b"0001")) == entries[100:200]
    assert await collected(index.children(b"")) == entries
    assert await collected(index.children(b"", after=b"000050")) == entries[51:]
    assert [await index.get(key) for key, _ in entries[::97]] == [VALUE] * len(entries[::97])
    assert await index.get(b"absent") is None


async def test_older_heads_stay_readable() -> None:
    """A commit changes no page that an older head uses."""
    pointer = await filled(2_000)
    old = pointer.id
    await pointer.change({b"%06d" % number: None for number in range(0, 2_000, 3)})
    pointer.restart()

    assert len(await collected((await pointer.index(old)).scan())) == 2_000
    assert len(await collected((await pointer.index()).scan())) == 1_333


async def test_a_difference_has_both_values() -> None:
    """Added, changed and removed entries, in order, in both directions."""
    pointer = await filled(2_000)
    old = pointer.id
    await pointer.change({b"000500": None, b"000700": b"new", b"000700\0": b"added"})
    pointer.restart(0)
    before, after = await pointer.index(old), await pointer.index()
    changes = [
        Difference(b"000500", VALUE, None),
        Difference(b"000700", VALUE, b"new"),
        Difference(b"000700\0", None, b"added"),
    ]

    assert await before.difference(after) == changes
    assert await after.difference(before) == [(key, new, old) for key, old, new in changes]


@pytest.mark.parametrize(
    ("prefix", "behind"),
    [(b"", None), (b"\xff\xff", None), (b"a", b"b"), (b"a\xff", b"b"), (b"\0", b"\x01")],
)
def test_the_end_of_a_prefix_is_the_next_key_without_it(
    prefix: bytes, behind: bytes | None
) -> None:
    """There is none behind a prefix of the largest bytes."""
    assert after_prefix(prefix) == behind


async def test_concurrent_readers_of_one_index_share_what_they_fetch() -> None:
    """A hundred cold look-ups of one key are one fetch per level."""
    pointer = await filled(3_000)
    pointer.restart()
    index = await pointer.index()
    pointer.backend.reset()
    found = await asyncio.gather(*(index.get(b"001234") for _ in range(100)))

    assert found == [VALUE] * 100
    assert pointer.backend.calls["fetch"] == index.tree.root.level


async def test_a_page_that_is_lost_is_named_and_not_remembered_as_lost() -> None:
    """Every way to read says which objects are missing; once restored, they are read."""
    pointer = await filled(200)
    pages = (await pointer.head()).root(NAMES).children
    rows = await pointer.backend.fetch(REALM, pages)
    await pointer.backend.delete(REALM, pages)
    pointer.restart()
    index = await pointer.index()

    with pytest.raises(ObjectNotFound, match=str(pages[0])):
        await index.get(b"000000")
    with pytest.raises(ObjectNotFound, match="older than the retention"):
        await collected(index.scan())
    with pytest.raises(ObjectNotFound):
        await (await pointer.index(EMPTY)).difference(index)
    await pointer.backend.write(rows)
    assert await index.get(b"000000") == VALUE


async def test_a_shelf_holds_what_was_fetched() -> None:
    """Without any cache a page that was fetched is there at the next try, until it is let go."""
    pointer = await filled(200)
    pointer.restart(0)
    [page, *_] = (await pointer.head()).root(NAMES).children
    shelf = PageShelf(pointer.store, REALM)
    await shelf.fetch(Missing([page]))

    assert shelf.find(page) is shelf.find_object(page) is not None
    shelf.clear()
    assert shelf.find(page) is shelf.find_object(page) is None


# Roots and changes in the head


def test_roots_are_decoded_as_they_were_encoded() -> None:
    """Leaves and inner pages; an index nobody wrote to is empty."""
    roots = {
        "leaf": Page(0, (b"k",), (b"v",)),
        "inner": Page(1, (b"", b"m"), (), (1, 2**63 - 1)),
    }
    head = NO_HEAD.__class__(1, (), {name: encode_root(page) for name, page in roots.items()})

    assert {name: decode_root(head, name) for name in roots} == roots
    assert decode_root(head, "absent") is EMPTY_LEAF


def test_a_root_with_children_that_are_not_stored_is_a_mistake() -> None:
    """They would be stored inside of the head, as a tree of any size."""
    with pytest.raises(AssertionError):
        encode_root(Page(1, (b"",), (), (EMPTY_LEAF,)))


def test_a_commit_without_changes_has_no_groups() -> None:
    """What stands in a head for nothing decodes to nothing."""
    assert decode_groups(NOTHING) == []
    assert decode_replaced(NOTHING) == []
    assert bytes(encode_note(None)) == b"\xc0"


async def test_a_root_is_decoded_once() -> None:
    """The second reader of a head finds it decoded."""
    pointer = await filled(10)

    assert (await pointer.head()).root(NAMES) is (await pointer.head()).root(NAMES)


# What it costs, in an index of 10^5 entries


async def test_a_cold_lookup_fetches_one_page_per_level(large: OnePointer) -> None:
    """One call and one row for each level below the root."""
    index = await large.index()
    large.backend.reset()
    found = await index.get(table(7, 4_321))

    assert found == VALUE
    assert 2 <= index.tree.root.level <= 3
    assert large.backend.calls == {"fetch": index.tree.root.level}
    assert large.backend.rows["fetch"] == index.tree.root.level
    assert large.backend.bytes["fetch"] <= index.tree.root.level * PAGE_BYTES_MAX


async def test_a_warm_lookup_asks_nobody(large: OnePointer) -> None:
    """Neither through the same index nor through one that is opened anew, present or absent."""
    await (await large.index()).get(table(7, 4_321))
    large.backend.reset()
    index = await large.index()

    assert await index.get(table(7, 4_321)) == VALUE
    assert await index.get(table(7, 4_321) + b"\0") is None
    assert not large.backend.calls


async def test_listing_children_fetches_what_children_need(large: OnePointer) -> None:
    """20 children of 5,000 descendants each: a few pages for each child, in few calls."""
    index = await large.index()
    large.backend.reset()
    children = await collected(index.children(b""))

    assert children == [(b"space-%02d" % space, None) for space in range(NAMESPACES)]
    assert large.backend.rows["fetch"] <= 3 * NAMESPACES
    assert large.backend.calls["fetch"] <= 2 * NAMESPACES


async def test_listing_children_does_not_depend_on_what_is_below_them(large: OnePointer) -> None:
    """Ten times the descendants make the tree higher: a few more inner pages, no more leaves."""
    small = OnePointer()
    await small.change(
        {table(space, number): VALUE for space in range(NAMESPACES) for number in range(500)}
    )
    small.restart()
    for pointer in (small, large):
        await collected((await pointer.index()).children(b""))

    assert large.backend.rows["fetch"] <= small.backend.rows["fetch"] + 2 * NAMESPACES


async def test_a_scan_fetches_many_pages_at_a_time(large: OnePointer) -> None:
    """All tables of a namespace, and pages of hardly any other."""
    index = await large.index()
    large.backend.reset()
    found = await collected(index.prefix(b"space-07\0"))
    pages = TABLES * (len(table(7, 0)) + len(VALUE) + 6) / PAGE_BYTES_MAX

    assert [key for key, _ in found] == [table(7, number) for number in range(TABLES)]
    assert large.backend.rows["fetch"] < 1.3 * pages + 5
    assert large.backend.calls["fetch"] <= 2 * pages / SCAN_AHEAD_PAGES + 5


@pytest.mark.parametrize("changed", [1, 10, 50])
async def test_a_difference_costs_what_changed(large: OnePointer, changed: int) -> None:
    """Pages on the ways to the changed entries, two calls per level, and nothing else."""
    old = large.id
    await large.change({table(number % 20, number * 31): b"new" for number in range(changed)})
    large.restart()
    before, after = await large.index(old), await large.index()
    levels = before.tree.root.level
    large.backend.reset()
    found = await before.difference(after)

    assert len(found) == changed
    assert large.backend.rows["fetch"] <= 2 * changed * levels
    assert large.backend.calls["fetch"] <= 2 * levels


async def test_a_difference_of_equal_heads_asks_nobody(large: OnePointer) -> None:
    """A commit that touched another index shares this one as a whole."""
    old = large.id
    draft, _ = await large.draft()
    draft.tree("other").put(b"k", b"v")
    await large.commit(draft)
    before, after = await large.index(old), await large.index()
    large.backend.reset()

    assert await before.difference(after) == []
    assert not large.backend.calls


async def test_a_change_writes_one_page_per_level(large: OnePointer) -> None:
    """The pages on the way to the entry and the head, whatever the index holds."""
    index = await large.index()
    assembled = await large.change({table(3, 33): b"new"})

    assert len(assembled.objects) == index.tree.root.level + 1
    assert len(decode_replaced(assembled.head.replaced)) == index.tree.root.level
    assert large.backend.bytes["write"] <= 16_384
