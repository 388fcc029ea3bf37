"""Drafts: what an attempt sees, changes, takes back and leaves behind."""

import gc
from collections.abc import AsyncIterator, Callable
from weakref import ref

import pytest

from headgate.errors import BadName, InvalidInput, PointerSealed, TooLarge, WrongType
from headgate.ids import ID_MAX
from headgate.kernel.draft import Draft
from headgate.kernel.head import ADDED, REMOVED, UPDATED, Change
from headgate.kernel.index import PageShelf, open_head
from headgate.kernel.objects import Foreign
from headgate.kernel.tree import Missing
from headgate.kernel.work import Overrun
from headgate.limits import INDEX_KEY_BYTES_MAX, INDEX_NAME_CHARS_MAX, INDEX_VALUE_BYTES_MAX
from headgate.testing.kernels import INDEX, POINTER, Rig, Thing, putting_all
from headgate.testing.manual_clock import START_MS
from tests.unit.kernel.conftest import CountedIds

Stage = Callable[[Draft], object]


@pytest.fixture
async def draft() -> AsyncIterator[Draft]:
    """A draft on a head with three entries."""
    async with Rig() as rig:
        realm = await rig.realm()
        await realm.commit(POINTER, putting_all({b"a": b"1", b"a\0x": b"2", b"b": b"3"}))
        [base] = await realm.heads(POINTER)
        store = rig.kernels[0].store
        shelf = PageShelf(store, realm.id)
        yield Draft(base, shelf, CountedIds(1), store.types, START_MS)


def changes(draft: Draft, attempt: Stage) -> list[Change]:
    """What the log would say about this attempt; nothing if it did nothing."""
    savepoint = draft.savepoint()
    attempt(draft)
    return draft.groups[-1].changes if draft.accept(savepoint, b"") else []


def test_a_draft_knows_the_number_of_its_commit(draft: Draft) -> None:
    """The commit to come has the next sequence number."""
    assert draft.seq == draft.base.head.seq + 1 == 2


def test_a_draft_reads_its_own_changes(draft: Draft) -> None:
    """What was put is found, what was removed is not."""
    index = draft.index(INDEX)
    index.put(b"c", b"4")
    removed = index.remove(b"b")

    assert removed
    assert index.get(b"c") == b"4"
    assert index.get(b"b") is None


def test_removing_what_is_absent_does_nothing(draft: Draft) -> None:
    """The answer says that there was no such entry."""
    assert not draft.index(INDEX).remove(b"absent")
    assert changes(draft, lambda draft: draft.index(INDEX).remove(b"absent")) == []


def test_a_draft_walks_ranges_prefixes_and_children(draft: Draft) -> None:
    """All three walks see the working state, in order."""
    index = draft.index(INDEX)
    index.put(b"a\0y\0z", b"5")

    assert [key for key, _ in index.scan(b"a\0", b"b")] == [b"a\0x", b"a\0y\0z"]
    assert [key for key, _ in index.prefix(b"a")] == [b"a", b"a\0x", b"a\0y\0z"]
    assert list(index.children(b"a\0")) == [(b"a\0x", b"2"), (b"a\0y", None)]
    assert list(index.children(b"a\0", b"a\0x")) == [(b"a\0y", None)]


def test_the_index_of_operation_ids_is_the_kernels(draft: Draft) -> None:
    """No attempt can forge a recorded result."""
    with pytest.raises(BadName, match="operation ids"):
        draft.index("operations")


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "ä", "\ud800", "a" * 65])
def test_index_and_mark_names_are_words(draft: Draft, name: str) -> None:
    """A name that could not be stored is refused before it can spoil a batch."""
    with pytest.raises(BadName):
        draft.index(name)
    with pytest.raises(BadName):
        draft.mark(name, 1)


def test_the_longest_index_name_is_accepted(draft: Draft) -> None:
    """The limit itself is allowed."""
    name = "a" * INDEX_NAME_CHARS_MAX

    assert draft.index(name).get(b"") is None


def test_keys_and_values_up_to_their_limits_are_accepted(draft: Draft) -> None:
    """The limits themselves are allowed."""
    key, value = b"k" * INDEX_KEY_BYTES_MAX, b"v" * INDEX_VALUE_BYTES_MAX
    draft.index(INDEX).put(key, value)

    assert draft.index(INDEX).get(key) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"k" * (INDEX_KEY_BYTES_MAX + 1), b""), (b"k", b"v" * (INDEX_VALUE_BYTES_MAX + 1))],
    ids=["key", "value"],
)
def test_oversized_keys_and_values_are_refused(draft: Draft, key: bytes, value: bytes) -> None:
    """One byte over the limit is too much, and nothing changes."""
    with pytest.raises(TooLarge, match="allowed are"):
        draft.index(INDEX).put(key, value)

    assert changes(draft, lambda _: None) == []


@pytest.mark.parametrize(("key", "value"), [("text", b""), (b"k", "text"), (b"k", None)])
def test_keys_and_values_are_bytes(draft: Draft, key: bytes, value: bytes) -> None:
    """Anything else is refused by name."""
    with pytest.raises(InvalidInput, match="are bytes"):
        draft.index(INDEX).put(key, value)


@pytest.mark.parametrize(
    ("attempt", "kind"),
    [
        (lambda draft: draft.index(INDEX).put(b"new", b""), ADDED),
        (lambda draft: draft.index(INDEX).put(b"a", b"9"), UPDATED),
        (lambda draft: draft.index(INDEX).remove(b"a"), REMOVED),
    ],
)
def test_each_kind_of_change_is_noted(draft: Draft, attempt: Stage, kind: int) -> None:
    """Added, updated, removed: against what was before the attempt."""
    [change] = changes(draft, attempt)

    assert (change.index, change.kind) == (INDEX, kind)


def _and_back(draft: Draft) -> None:
    index = draft.index(INDEX)
    index.put(b"new", b"")
    index.remove(b"new")
    index.put(b"a", b"9")
    index.put(b"a", b"1")
    index.remove(b"b")
    index.put(b"b", b"3")


def test_only_the_net_effect_counts(draft: Draft) -> None:
    """What an attempt did and undid again is no change."""
    assert changes(draft, _and_back) == []
    assert not draft.changed


def test_putting_the_same_value_is_no_change(draft: Draft) -> None:
    """A put of what is there leaves the tree alone."""
    root = draft.tree(INDEX).root
    draft.index(INDEX).put(b"a", b"1")

    assert draft.tree(INDEX).root is root


@pytest.mark.parametrize("attempt", [lambda draft: draft.mark("n", 1), Draft.seal])
def test_a_mark_or_a_seal_alone_is_a_change(draft: Draft, attempt: Stage) -> None:
    """They are part of the head, so they need a commit."""
    changes(draft, attempt)

    assert draft.changed
    assert draft.groups[0].changes == []


@pytest.mark.parametrize(
    "attempt", [lambda draft: draft.stage(Thing()), lambda draft: draft.discard(1)]
)
def test_an_object_stored_or_given_up_is_a_change(draft: Draft, attempt: Stage) -> None:
    """Also without an entry that changes."""
    changes(draft, attempt)

    assert draft.changed


def test_words_alone_are_no_change(draft: Draft) -> None:
    """A note says something about a change; without one there is nothing to say."""
    assert changes(draft, lambda draft: draft.note("only words")) == []
    assert not draft.changed


def test_restoring_undoes_all_an_attempt_did(draft: Draft) -> None:
    """Entries of old and new indexes, objects, discards, marks and the seal."""
    before = dict(draft.index(INDEX).scan())
    savepoint = draft.savepoint()
    draft.index(INDEX).put(b"z", b"")
    draft.index("other").put(b"z", b"")
    draft.stage(Thing())
    draft.discard(5)
    draft.mark("n", 1)
    draft.seal()
    draft.restore(savepoint)

    assert dict(draft.index(INDEX).scan()) == before
    assert "other" not in draft.trees
    assert (draft.staged, draft.discarded, draft.marks, draft.sealed) == ([], [], {}, False)


async def test_restoring_takes_back_replaced_pages() -> None:
    """A page is only given up by attempts that stay."""
    async with Rig() as rig:
        realm = await rig.realm()
        many = {b"%05d" % number: b"v" * 50 for number in range(300)}
        await realm.commit(POINTER, putting_all(many))
        [base] = await realm.heads(POINTER)
        store = rig.kernels[0].store
        draft = Draft(base, PageShelf(store, realm.id), CountedIds(1), store.types, START_MS)
        draft.tree(INDEX)
        savepoint = draft.savepoint()
        draft.index(INDEX).put(b"00001", b"changed")
        replaced = list(draft.tree(INDEX).replaced)
        draft.restore(savepoint)

        assert replaced != []
        assert draft.tree(INDEX).replaced == []


def test_a_staged_object_can_be_fetched_at_once(draft: Draft) -> None:
    """Attempts of one batch see each other's objects, the newest of an id first."""
    id = draft.stage(Thing(text="first"))
    draft.stage(Thing(text="second"), id)
    draft.stage(Thing(text="other"))

    assert draft.fetch(id, Thing).text == "second"


def test_an_undone_object_is_not_found_any_more(draft: Draft) -> None:
    """Others are; an id that was staged twice means again what it meant before."""
    id = draft.stage(Thing(text="first"))
    savepoint = draft.savepoint()
    again, other = draft.stage(Thing(text="second"), id), draft.stage(Thing(text="other"))
    draft.restore(savepoint)

    assert draft.fetch(again, Thing).text == "first"
    with pytest.raises(Missing):
        draft.fetch(other, Thing)
    savepoint = draft.savepoint()
    other = draft.stage(Thing(text="third"))
    draft.restore(savepoint)
    assert draft.fetch(id, Thing).text == "first"
    with pytest.raises(Missing):
        draft.fetch(other, Thing)


@pytest.mark.parametrize(
    ("attempt", "counted"),
    [
        (lambda draft: draft.index(INDEX).get(b"a"), 1),
        (lambda draft: draft.index(INDEX).need([b"a", b"b"]), 2),
        (lambda draft: draft.index(INDEX).put(b"c", b""), 2),
        (lambda draft: draft.index(INDEX).remove(b"a"), 2),
        (lambda draft: list(draft.index(INDEX).scan()), 1),
        (lambda draft: list(draft.index(INDEX).children(b"")), 1),
        (lambda draft: draft.stage(Thing()), 1),
        (lambda draft: draft.stage(Thing(blob=bytes(10_000))), 5),
        (lambda draft: draft.fetch(draft.stage(Thing()), Thing), 2),
        (lambda draft: draft.mark("n", 1), 0),
    ],
)
def test_what_an_attempt_does_is_counted(draft: Draft, attempt: Stage, counted: int) -> None:
    """Entries that are looked up, changed and walked over, and what objects take."""
    attempt(draft)

    assert draft.work.done == counted


def test_only_attempts_that_stay_fill_a_batch(draft: Draft) -> None:
    """What was undone took its time, but a batch is cut by what it stores."""
    for is_kept in (False, True):
        savepoint = draft.savepoint()
        draft.index(INDEX).put(b"c", b"")
        if is_kept:
            draft.accept(savepoint, b"")
        else:
            draft.restore(savepoint)

    assert (draft.work.done, draft.entries) == (4, 2)


async def test_a_draft_is_no_cyclic_garbage() -> None:
    """It goes with its last reference, and all that it holds: collections would take long."""
    async with Rig() as rig:
        realm = await rig.realm()
        [base] = await realm.heads(POINTER)
        store = rig.kernels[0].store
        draft = Draft(base, PageShelf(store, realm.id), CountedIds(1), store.types, START_MS)
        draft.index(INDEX).put(b"key", b"")
        list(draft.index(INDEX).scan())
        left = ref(draft)
        gc.disable()
        try:
            del draft
            assert left() is None
        finally:
            gc.enable()


def test_an_attempt_ends_where_it_does_too_much(draft: Draft) -> None:
    """It is ended before the entry that is one too many, and no attempt can hide that."""
    draft.work.allow(5)
    for key in (b"c", b"d"):
        draft.index(INDEX).put(key, b"")
    before = draft.work.is_overrun
    with pytest.raises(Overrun):
        draft.index(INDEX).put(b"e", b"")

    assert (before, draft.work.is_overrun) == (False, True)
    assert draft.tree(INDEX).get(b"e") is None


def test_fetching_another_type_is_refused(draft: Draft) -> None:
    """An id of another type is a mistake of the caller, and named."""
    id = draft.stage(Foreign("future", b"\x80"))
    with pytest.raises(WrongType, match="future"):
        draft.fetch(id, Thing)


async def test_stored_objects_are_fetched_from_the_cache_or_asked_for() -> None:
    """What is not at hand raises `Missing`; what is, comes at once."""
    async with Rig() as rig:
        realm = await rig.realm()
        await realm.write({77: Thing(text="kept")})
        store = rig.kernels[0].store
        base = await open_head(store, realm.id, None)
        draft = Draft(base, PageShelf(store, realm.id), CountedIds(1), store.types, START_MS)

        assert draft.fetch(77, Thing).text == "kept"
        with pytest.raises(Missing) as missing:
            draft.fetch(78, Thing)
        assert missing.value.ids == (78,)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63), 1.5, True, "1", None])
def test_a_mark_is_a_whole_number(draft: Draft, value: int) -> None:
    """A mark that readers could not decode never gets into a head."""
    with pytest.raises(InvalidInput, match="whole number"):
        draft.mark("n", value)


@pytest.mark.parametrize("id", [0, -1, ID_MAX + 1, "7"])
def test_objects_are_named_by_ids(draft: Draft, id: int) -> None:
    """What is no id is neither staged nor discarded."""
    with pytest.raises(InvalidInput, match="no id"):
        draft.stage(Thing(), id)
    with pytest.raises(InvalidInput, match="no id"):
        draft.discard(id)


def test_new_ids_rise(draft: Draft) -> None:
    """Each is greater than the one before."""
    first, second = draft.new_id(), draft.new_id()

    assert first < second


@pytest.mark.parametrize("note", [object(), 1 << 70, "\ud800", {(1, 2): 3}])
def test_a_note_must_be_storable(draft: Draft, note: object) -> None:
    """A note the log could not show fails its own attempt and leaves no group."""
    savepoint = draft.savepoint()
    draft.index(INDEX).put(b"new", b"")
    draft.note(note)
    with pytest.raises(InvalidInput, match="what JSON can hold"):
        draft.accept(savepoint, b"")

    assert draft.groups == []


def test_a_sealed_draft_is_not_open(draft: Draft) -> None:
    """After a seal no attempt is run."""
    draft.check_open()
    draft.seal()

    with pytest.raises(PointerSealed):
        draft.check_open()


def test_the_size_of_a_batch_is_that_of_its_objects(draft: Draft) -> None:
    """It is what the limit of a batch is compared with."""
    draft.stage(Thing(blob=b"x" * 1000))

    assert 1000 < draft.staged_bytes < 1100
