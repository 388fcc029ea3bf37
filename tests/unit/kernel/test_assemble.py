"""Assembling: from a finished draft to the objects of one commit."""

import gc

import msgspec
import pytest

from headgate.kernel.assemble import Assembled, assemble
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import Changes, Head, decode_groups, decode_replaced
from headgate.kernel.index import HeadView, PageShelf
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import encode_fields
from headgate.kernel.pages import Page
from headgate.limits import CHANGES_INLINE_BYTES_MAX, ROOTS_BYTES_MAX, TAIL_COMMITS
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Thing,
    entries,
    history,
    putting,
    putting_all,
    reachable_pages,
)


async def draft_of(kernel: Kernel, realm: RealmHandle) -> Draft:
    """A draft on the current head of the pointer."""
    [base] = await realm.heads(POINTER)
    shelf = PageShelf(kernel.store, realm.id)
    return Draft(base, shelf, kernel.ids, kernel.store.types, kernel.clock.wall_ms())


def finish(kernel: Kernel, draft: Draft) -> Assembled:
    return assemble(draft, kernel.store.types, kernel.ids)


async def test_the_first_commit_has_number_one_and_no_tail(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """An EMPTY pointer is where the log begins."""
    draft = await draft_of(kernel, realm)
    assembled = finish(kernel, draft)

    assert (assembled.head.seq, assembled.head.tail) == (1, ())


async def test_the_tail_names_the_last_twenty_commits(kernel: Kernel, realm: RealmHandle) -> None:
    """Newest first, never more than twenty."""
    for number in range(25):
        await realm.commit(POINTER, putting(b"%d" % number))
    ids = [commit.id for commit in await history(kernel, realm)]
    [head] = await realm.heads(POINTER)

    assert head.head.seq == 25
    assert head.head.tail == tuple(reversed(ids[:-1]))[:TAIL_COMMITS]
    assert len(head.head.tail) == 20


async def test_the_head_is_the_last_object_and_has_the_newest_id(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Whoever compares ids sees the head behind all that it refers to."""
    draft = await draft_of(kernel, realm)
    draft.stage(Thing())
    putting_all({b"%05d" % number: b"v" * 60 for number in range(500)})(draft)
    assembled = finish(kernel, draft)
    ids = [staged.encoded.id for staged in assembled.objects]

    assert ids == sorted(ids)
    assert ids[-1] == assembled.id
    assert assembled.objects[-1].value == assembled.head
    assert sum(isinstance(staged.value, Page) for staged in assembled.objects) > 5


async def test_untouched_indexes_keep_their_bytes(kernel: Kernel, realm: RealmHandle) -> None:
    """A root nobody changed is copied, not encoded again."""
    await realm.commit(POINTER, putting(b"a", index="first"))
    draft = await draft_of(kernel, realm)
    before = draft.base.head.roots["first"]
    draft.index("first").get(b"a")
    draft.index("second").put(b"b", b"")
    assembled = finish(kernel, draft)

    assert assembled.head.roots["first"] is before
    assert set(assembled.head.roots) == {"first", "second"}


async def test_an_index_that_was_only_read_does_not_appear(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Looking into an index does not create it."""
    draft = await draft_of(kernel, realm)
    draft.index("unused").get(b"a")
    draft.index("used").put(b"a", b"")

    assert set(finish(kernel, draft).head.roots) == {"used"}


@pytest.mark.parametrize("indexes", [1, 2, 3, 7])
async def test_roots_spill_when_they_do_not_fit_together(
    kernel: Kernel, realm: RealmHandle, indexes: int
) -> None:
    """All roots together never take more than 8 kB, and every entry is still found."""
    expected = {b"%04d" % number: b"v" * 40 for number in range(400)}
    names = [f"i{number}" for number in range(indexes)]
    for part in range(8):
        some = {key: expected[key] for key in list(expected)[part * 50 : part * 50 + 50]}
        for name in names:
            await realm.commit(POINTER, putting_all(some, name))
            [head] = await realm.heads(POINTER)

            assert sum(len(bytes(raw)) for raw in head.head.roots.values()) <= ROOTS_BYTES_MAX

    for name in names:
        assert await entries(realm, index=name) == expected
    assert await reachable_pages(kernel, realm.id, head.id) != []


async def test_an_untouched_root_is_spilled_to_make_room(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """The largest root goes, whoever wrote last."""
    large = {b"%03d" % number: b"v" * 90 for number in range(38)}
    small = {b"%05d" % number: b"v" * 90 for number in range(46)}
    await realm.commit(POINTER, putting_all(large, "large"))
    await realm.commit(POINTER, putting_all({b"k": b"v" * 3000}, "fill"))
    [before] = await realm.heads(POINTER)
    await realm.commit(POINTER, putting_all(dict(list(small.items())[:20]), "small"))
    [after] = await realm.heads(POINTER)

    assert before.root("large").level == 0
    assert after.root("large").level == 1
    assert sum(len(bytes(raw)) for raw in after.head.roots.values()) <= ROOTS_BYTES_MAX
    assert await entries(realm, index="large") == large


async def test_a_head_of_very_many_indexes_is_still_made(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """When nothing is left to spill, the head grows; nothing is lost."""

    def attempt(draft: Draft) -> None:
        for number in range(1500):
            draft.index(f"i{number}").put(b"k", b"v")

    await realm.commit(POINTER, attempt)
    await realm.commit(POINTER, putting(b"k", b"changed", "i7"))

    assert await entries(realm, index="i1499") == {b"k": b"v"}
    assert await entries(realm, index="i7") == {b"k": b"changed"}


async def test_an_emptied_index_reads_as_empty(kernel: Kernel, realm: RealmHandle) -> None:
    """The last entry leaves an empty root behind."""
    await realm.commit(POINTER, putting(b"a"))
    await realm.commit(POINTER, lambda draft: draft.index(INDEX).remove(b"a"))

    assert await entries(realm) == {}


async def test_many_changes_spill_into_an_object(kernel: Kernel, realm: RealmHandle) -> None:
    """The head stays small, and the log reads the changes all the same."""
    many = {b"%06d" % number: b"" for number in range(3000)}
    await realm.commit(POINTER, putting_all(many))
    [head] = await realm.heads(POINTER)
    [commit] = await history(kernel, realm)
    changes = await kernel.store.get(realm.id, head.head.spilled, Changes)

    assert len(bytes(changes.groups)) > CHANGES_INLINE_BYTES_MAX
    assert decode_groups(head.head.groups) == []
    assert [entry.key for entry in commit.groups[0].entries] == list(many)
    assert {entry.kind for entry in commit.groups[0].entries} == {"added"}


async def test_few_changes_stay_in_the_head(kernel: Kernel, realm: RealmHandle) -> None:
    """Most commits are two rows at most: no object is needed for what they changed."""
    await realm.commit(POINTER, putting_all({b"%03d" % number: b"" for number in range(500)}))
    [head] = await realm.heads(POINTER)

    assert head.head.spilled == 0
    assert len(decode_groups(head.head.groups)[0].changes) == 500


async def test_the_next_commit_does_not_inherit_spilled_changes(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Each head speaks for its own commit only."""
    await realm.commit(POINTER, putting_all({b"%06d" % number: b"" for number in range(3000)}))
    await realm.commit(POINTER, putting(b"one"))
    [_, commit] = await history(kernel, realm)

    assert [entry.key for entry in commit.groups[0].entries] == [b"one"]


async def test_discarded_objects_are_listed_with_replaced_pages(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Whoever cleans up later finds both in one list."""
    await realm.commit(POINTER, putting_all({b"%05d" % n: b"v" * 60 for n in range(500)}))
    draft = await draft_of(kernel, realm)
    draft.index(INDEX).put(b"00000", b"changed")
    draft.discard(4711)
    replaced = decode_replaced(finish(kernel, draft).head.replaced)

    assert replaced[-1] == 4711
    assert len(replaced) > 1


async def test_fields_of_a_newer_program_survive(kernel: Kernel, realm: RealmHandle) -> None:
    """A head written by a newer program keeps what this one does not know."""
    future = {"future": msgspec.Raw(msgspec.msgpack.encode([1, "two"]))}
    head = Head(1, (), {}, unknown=future)
    view = HeadView(kernel.store, realm.id, 17, head)
    shelf = PageShelf(kernel.store, realm.id)
    draft = Draft(view, shelf, kernel.ids, kernel.store.types, kernel.clock.wall_ms())
    draft.index(INDEX).put(b"a", b"")
    payload = encode_fields(finish(kernel, draft).head)

    assert msgspec.msgpack.decode(payload)["future"] == [1, "two"]


async def test_assembling_leaves_nothing_to_the_garbage_collector(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """A cycle would keep all pages of a commit until the next collection, and cause it."""
    draft = await draft_of(kernel, realm)
    putting_all({b"%05d" % number: b"v" * 60 for number in range(500)})(draft)
    gc.collect()
    gc.disable()
    try:
        finish(kernel, draft)

        assert gc.collect() == 0
    finally:
        gc.enable()


async def test_replaced_pages_leave_the_cache(kernel: Kernel, realm: RealmHandle) -> None:
    """They make room for their successors; whoever reads the older head fetches them again."""
    await realm.commit(POINTER, putting_all({b"%05d" % n: b"v" * 60 for n in range(500)}))
    [before] = await realm.heads(POINTER)
    await realm.commit(POINTER, putting(b"00000", b"changed"))
    replaced, *kept = before.root(INDEX).children

    assert kernel.store.find(realm.id, replaced) is None
    assert all(kernel.store.find(realm.id, id) for id in kept)
    assert await before.index(INDEX).get(b"00000") == b"v" * 60
