"""Pages: measured at least as large as they are, split evenly, bounded by short keys."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.objects import encode_fields
from headgate.kernel.pages import EMPTY_LEAF, Page, cut, lower_bound, merge, size, split
from headgate.limits import PAGE_BYTES_MAX, PAGE_EDGE_FILL

BYTES = st.binary(max_size=30) | st.integers(0, 5_000).map(bytes)
ENTRIES = st.dictionaries(BYTES, BYTES, max_size=300)
IDS = st.integers(1, 2**63 - 1)


def leaf(entries: dict[bytes, bytes]) -> Page:
    keys = tuple(sorted(entries))
    return Page(0, keys, tuple(entries[key] for key in keys))


def inner(keys: list[bytes]) -> Page:
    return Page(1, tuple(keys), (), tuple(range(2**62, 2**62 + len(keys))))


def numbered(count: int, value: bytes = b"v" * 30) -> Page:
    return leaf({b"%06d" % number: value for number in range(count)})


def joined(pieces: list[Page]) -> Page:
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = merge(whole, piece, piece.keys[0])
    return whole


@given(ENTRIES)
def test_a_leaf_is_measured_at_least_as_large_as_it_is(entries: dict[bytes, bytes]) -> None:
    """As an object of its own and as a root in a head."""
    page = leaf(entries)

    assert len(encode_fields(page)) <= size(page)
    assert len(msgspec.msgpack.encode(page)) <= size(page)


@given(st.dictionaries(BYTES, IDS, min_size=1, max_size=300))
def test_an_inner_page_is_measured_at_least_as_large_as_it_is(children: dict[bytes, int]) -> None:
    """Whatever the ids of its children are."""
    page = Page(1, tuple(children), (), tuple(children.values()))

    assert len(encode_fields(page)) <= size(page)
    assert len(msgspec.msgpack.encode(page)) <= size(page)


def test_a_measure_is_not_far_off() -> None:
    """A page of ordinary entries is measured within a tenth."""
    page = numbered(80)

    assert size(page) < 1.1 * len(encode_fields(page))


@given(ENTRIES, st.booleans())
def test_a_split_leaf_keeps_all_entries_in_order(entries: dict[bytes, bytes], edge: bool) -> None:
    """No piece is empty; only a single entry may be over the limit."""
    pieces = split(leaf(entries), at_right_edge=edge)

    assert joined(pieces) == leaf(entries)
    for piece in pieces:
        assert piece.keys or not entries
        assert size(piece) <= PAGE_BYTES_MAX or len(piece.keys) == 1


@given(st.sets(BYTES, min_size=2, max_size=300), st.booleans())
def test_a_split_inner_page_keeps_two_children_in_each_piece(keys: set[bytes], edge: bool) -> None:
    """Only three children with very long keys may be over the limit."""
    page = inner(sorted(keys))
    pieces = split(page, at_right_edge=edge)

    assert joined(pieces) == page
    for piece in pieces:
        assert len(piece.children) >= 2
        assert size(piece) <= PAGE_BYTES_MAX or len(piece.children) <= 3


def test_a_page_at_the_limit_is_not_split() -> None:
    """One byte more splits it."""
    room = PAGE_BYTES_MAX - size(leaf({b"a": b"", b"b": b""}))
    full = leaf({b"a": bytes(room), b"b": b""})
    over = leaf({b"a": bytes(room), b"b": b"x"})

    assert size(full) == PAGE_BYTES_MAX
    assert split(full, at_right_edge=False) == [full]
    assert len(split(over, at_right_edge=False)) == 2


def test_pages_are_split_evenly_inside_of_a_tree() -> None:
    """Both halves have room for what comes between them."""
    left, right = split(numbered(101), at_right_edge=False)

    assert abs(size(left) - size(right)) < 100


def test_pages_are_left_nearly_full_at_the_right_edge() -> None:
    """Keys that arrive in order fill pages to nine tenths."""
    left, right = split(numbered(101), at_right_edge=True)

    assert PAGE_EDGE_FILL * PAGE_BYTES_MAX <= size(left) <= PAGE_BYTES_MAX
    assert size(right) < PAGE_BYTES_MAX / 4


def test_merged_inner_pages_keep_the_bound_of_the_right_one() -> None:
    """Its own first key may be above what is below it; the bound in its parent never is."""
    merged = merge(inner([b"", b"c"]), inner([b"p", b"t"]), b"m")

    assert merged.keys == (b"", b"c", b"m", b"t")


def test_an_oversized_entry_gets_a_page_of_its_own() -> None:
    """Its neighbours stay in small pages."""
    pieces = split(leaf({b"a": b"", b"b": bytes(16_384), b"c": b""}), at_right_edge=False)

    assert [piece.keys for piece in pieces] == [(b"a",), (b"b",), (b"c",)]


def test_cut_and_merge_undo_each_other() -> None:
    """For leaves and inner pages."""
    for page in (numbered(10), inner([b"", b"b", b"c"])):
        assert merge(cut(page, 0, 2), cut(page, 2, 10), page.keys[2]) == page
        assert cut(page, 1, 1).keys == ()


@given(st.sets(st.binary(max_size=6), min_size=2))
def test_a_lower_bound_lies_between_two_leaves(keys: set[bytes]) -> None:
    """Above all of the left, not above any of the right, and no shorter key would do."""
    ordered = sorted(keys)
    for at in range(1, len(ordered)):
        left, right = (leaf(dict.fromkeys(part, b"")) for part in (ordered[:at], ordered[at:]))
        bound = lower_bound(left, right)

        assert ordered[at - 1] < bound <= ordered[at]
        assert ordered[at].startswith(bound)
        assert bound[:-1] <= ordered[at - 1]


@pytest.mark.parametrize(
    ("last", "first", "bound"),
    [
        (b"a", b"b-and-more", b"b"),
        (b"prefix/a", b"prefix/b/c", b"prefix/b"),
        (b"a", b"a\0", b"a\0"),
        (b"a", b"a\0\0\0", b"a\0"),
        (b"", b"\xff\xff", b"\xff"),
    ],
)
def test_lower_bounds_are_short(last: bytes, first: bytes, bound: bytes) -> None:
    """Long keys do not travel up the tree."""
    assert lower_bound(leaf({last: b""}), leaf({first: b""})) == bound


def test_the_bound_of_inner_pages_is_the_first_key() -> None:
    """It was shortened when it came from the leaves."""
    assert lower_bound(inner([b"", b"a"]), inner([b"bcd", b"e"])) == b"bcd"


def test_the_empty_leaf_is_small() -> None:
    """It has no entries and still takes some bytes."""
    assert EMPTY_LEAF.keys == ()
    assert 0 < size(EMPTY_LEAF) < 30
