"""The tree: all pages in memory or all of them missing, against plain dictionaries."""

from collections.abc import Callable, Iterable, Iterator
from random import Random

import msgspec
import pytest

from headgate.kernel.pages import EMPTY_LEAF, Page, size
from headgate.kernel.tree import Difference, Missing, Tree
from headgate.limits import PAGE_BYTES_MAX, SCAN_AHEAD_PAGES

LONG = b"a-long-common-prefix/" * 11  # so that inner pages hold few children


class Shelf:
    """Stored pages by id, and which of them are at hand."""

    def __init__(self) -> None:
        self.pages: dict[int, Page] = {}
        self.away: set[int] = set()

    def find(self, id: int) -> Page | None:
        return None if id in self.away else self.pages[id]

    def store(self, page: Page) -> Page:
        """The page with everything below it stored."""
        children = []
        for child in page.children:
            if isinstance(child, Page):
                self.pages[len(self.pages) + 1] = self.store(child)
                child = len(self.pages)  # noqa: PLW2901  the id it has now
            children.append(child)
        return msgspec.structs.replace(page, children=tuple(children))


def key(number: int) -> bytes:
    return LONG + b"%06d" % number


def filled(*numbers: int, shelf: Shelf | None = None) -> Tree:
    tree = Tree(EMPTY_LEAF, shelf or Shelf())
    for number in numbers:
        tree.put(key(number), b"v")
    return tree


def pages_of(tree: Tree) -> Iterator[Page]:
    """All pages below the root and the root, of a tree of which nothing is stored."""
    pages = [tree.root]
    while pages:
        page = pages.pop()
        yield page
        pages.extend(page.children)


def asked_for(shelf: Shelf, walk: Callable[[], Iterable[object]]) -> list[tuple[int, ...]]:
    """What a walk asks for, request by request, if nothing is at hand."""
    shelf.away = set(shelf.pages)
    requests = []
    while True:
        try:
            list(walk())
        except Missing as missing:
            requests.append(missing.ids)
            shelf.away -= set(missing.ids)
        else:
            return requests


def test_an_empty_tree_has_nothing() -> None:
    """Every way to read it finds nothing, and nothing can be removed."""
    tree = filled()
    tree.remove(b"a")

    assert tree.get(b"") is None
    assert list(tree.scan()) == []
    assert list(tree.children(b"")) == []
    assert tree.root is EMPTY_LEAF


def test_entries_are_replaced_and_removed() -> None:
    """The last value counts, and a tree without entries is the empty leaf again."""
    tree = filled()
    tree.put(b"k", b"1")
    tree.put(b"k", b"2")

    assert tree.get(b"k") == b"2"
    tree.remove(b"k")
    assert tree.root == EMPTY_LEAF


def test_putting_tells_what_was_there() -> None:
    """None for a new entry; and a value that is there already changes nothing."""
    tree = filled(*range(500))

    assert tree.put(b"k", b"1") is None
    assert tree.put(b"k", b"2") == b"1"
    root = tree.root
    assert tree.put(b"k", b"2") == b"2"
    assert tree.root is root


def test_the_root_is_a_savepoint() -> None:
    """Going back to an earlier root undoes everything since."""
    tree = filled(*range(500))
    before = tree.root
    for number in range(0, 1_000, 3):
        tree.put(key(number), b"changed")
        tree.remove(key(number + 1))
    tree.root = before

    assert dict(tree.scan()) == {key(number): b"v" for number in range(500)}


def test_ordered_keys_fill_pages() -> None:
    """At the right edge pages are left nine tenths full, inside they are split in halves."""
    ordered = filled(*range(2_000))
    numbers = list(range(2_000))
    Random(1).shuffle(numbers)
    shuffled = filled(*numbers)
    leaves = [sum(not page.level for page in pages_of(tree)) for tree in (ordered, shuffled)]

    assert leaves[0] * PAGE_BYTES_MAX * 0.85 < 2_000 * (len(key(0)) + 7)
    assert leaves[0] < leaves[1] < 1.7 * leaves[0]


def test_pages_are_merged_when_entries_go() -> None:
    """A tree that lost most of its entries has few pages, and in the end fewer levels."""
    tree = filled(*range(2_000))
    before = sum(1 for _ in pages_of(tree))
    for number in range(2_000):
        if number % 50:
            tree.remove(key(number))

    assert sum(1 for _ in pages_of(tree)) < before / 10
    assert dict(tree.scan()) == {key(number): b"v" for number in range(0, 2_000, 50)}
    for number in range(50, 2_000, 50):
        tree.remove(key(number))
    assert tree.root == Page(0, (key(0),), (b"v",))


def test_keys_below_a_first_child_that_went_stay_findable() -> None:
    """A page loses its first child, gets smaller keys again, and is merged with its neighbour."""
    c, d = b"c" * 1_500, b"d" * 1_500
    left = Page(1, (b"", c, d), (), tuple(large_leaf(one) for one in (b"a", c, d)))
    right = Page(1, (b"m", b"p", b"t"), (), tuple(large_leaf(one) for one in (b"m", b"p", b"t")))
    tree = Tree(Page(2, (b"", b"m"), (), (left, right)), Shelf())
    tree.remove(b"m")
    tree.put(b"n", b"new")
    tree.remove(c)
    tree.remove(d)

    assert tree.root.level == 1
    assert tree.get(b"n") == b"new"
    assert [one for one, _ in tree.scan()] == [b"a", b"n", b"p", b"t"]


def large_leaf(key: bytes) -> Page:
    """A leaf that merges with no other."""
    return Page(0, (key,), (bytes(2_000),))


def over_leaves(*keys: bytes) -> Page:
    return Page(1, keys, (), tuple(large_leaf(key) for key in keys))


@pytest.mark.parametrize(
    "root",
    [
        over_leaves(b"a", b"m", b"p", b"s"),
        Page(
            2,
            (b"", b"m", b"s"),
            (),
            (over_leaves(b"a"), over_leaves(b"m", b"p"), over_leaves(b"s")),
        ),
    ],
)
def test_keys_smaller_than_all_others_may_come_again(root: Page) -> None:
    """The first child goes, and what comes in its place splits the one that is now first."""
    tree = Tree(root, Shelf())
    tree.remove(b"a")
    for one in (b"b", b"d", b"c", b"e"):
        tree.put(one, bytes(2_000))
    expected = [b"b", b"c", b"d", b"e", b"m", b"p", b"s"]

    assert [one for one, _ in tree.scan()] == expected
    assert [one for one in expected if tree.get(one) is None] == []


@pytest.mark.parametrize("seed", range(4))
def test_ranges_that_come_and_go_lose_nothing(seed: int) -> None:
    """Random removals of whole ranges and single additions, against a dictionary."""
    print(f"seed {seed}")
    chance = Random(seed)
    tree = filled(*range(0, 1_200, 2))
    model = dict(tree.scan())
    for _ in range(120):
        start = chance.randrange(1_200)
        for number in range(start, start + chance.choice([3, 30, 100])):
            tree.remove(key(number))
            model.pop(key(number), None)
        for number in chance.sample(range(1_200), 40 if len(model) > 100 else 600):
            tree.put(key(number), b"w")
            model[key(number)] = b"w"
        assert dict(tree.scan()) == model
        assert all(tree.get(one) == value for one, value in model.items())


def test_removing_what_is_absent_changes_nothing() -> None:
    """The root stays the same object, also a root that was spilled into a page of its own."""
    tree = filled(*range(100))
    tree.root = spilled = Page(tree.root.level + 1, (b"",), (), (tree.root,))
    tree.remove(b"absent")

    assert tree.root is spilled
    assert tree.replaced == []


def test_a_spilled_root_takes_part_in_all_changes() -> None:
    """Its only child may split, shrink and vanish."""
    tree = filled(1)
    tree.root = Page(1, (b"",), (), (tree.root,))
    tree.put(key(2), b"v")
    assert tree.root.level == 1
    tree.remove(key(1))
    assert tree.root == Page(0, (key(2),), (b"v",))
    tree.root = Page(2, (b"",), (), (Page(1, (b"",), (), (tree.root,)),))

    tree.remove(key(2))
    assert tree.root is EMPTY_LEAF


def test_replaced_pages_are_noted_once() -> None:
    """What the new root no longer uses of what was stored, and nothing else."""
    shelf = Shelf()
    tree = filled(*range(1_000), shelf=shelf)
    tree.root = shelf.store(tree.root)
    before = reachable(shelf, tree.root)
    for number in range(300, 700):
        tree.remove(key(number))
    tree.put(key(0), b"changed")
    after = reachable(shelf, shelf.store(tree.root))

    assert sorted(tree.replaced) == sorted(before - after)


def reachable(shelf: Shelf, root: Page) -> set[int]:
    ids = set(root.children) if root.level else set()
    return ids.union(*(reachable(shelf, shelf.pages[id]) for id in ids))


@pytest.mark.parametrize("change", ["put", "remove", "merge"])
def test_a_change_that_misses_a_page_leaves_no_trace(change: str) -> None:
    """The root and the replaced pages are as before; after the fetch the change works."""
    shelf = Shelf()
    tree = filled(*range(1_000), shelf=shelf)
    if change == "merge":
        for number in range(1, 1_000):
            if number % 4:
                tree.remove(key(number))
    tree.root = before = shelf.store(tree.root)
    shelf.away = set(shelf.pages)
    missed: list[int] = []
    for number in range(0, 1_000, 4):
        while True:
            noted = list(tree.replaced)
            try:
                tree.put(key(number), b"w") if change == "put" else tree.remove(key(number))
                break
            except Missing as missing:
                assert tree.replaced == noted
                missed += missing.ids
                shelf.away -= set(missing.ids)

    assert len(missed) == len(set(missed)) == len(shelf.pages)
    assert tree.root is not before


def test_a_scan_asks_for_the_leaves_of_its_range_together() -> None:
    """A few requests for the inner pages, then many leaves at a time, and none behind the end."""
    shelf = Shelf()
    tree = filled(*range(3_000), shelf=shelf)
    tree.root = shelf.store(tree.root)
    whole = asked_for(shelf, tree.scan)
    some = asked_for(shelf, lambda: tree.scan(key(1_000), key(1_010)))

    assert sorted(id for ids in whole for id in ids) == sorted(shelf.pages)
    assert max(map(len, whole)) <= SCAN_AHEAD_PAGES
    assert len(whole) < len(shelf.pages) / 4
    assert sum(map(len, some)) <= tree.root.level + 2


def test_an_empty_range_has_nothing() -> None:
    """A high end at or below the low one."""
    tree = filled(*range(100))

    assert list(tree.scan(key(50), key(50))) == []
    assert list(tree.scan(key(50), key(49))) == []


TREE_OF_NAMES = {
    b"": b"root",
    b"\0": b"an empty name",
    b"\0x": b"below an empty name",
    b"a": b"A",
    b"a\0b": b"AB",
    b"a\0b\0c": b"ABC",
    b"a\0\xff": b"AFF",
    b"a\x01": b"A1",
    b"a\x01\0x": b"A1X",
    b"only\0below": b"OB",
    b"z\xff": b"ZFF",
}


@pytest.mark.parametrize(
    ("prefix", "children"),
    [
        (b"", [(b"a", b"A"), (b"a\x01", b"A1"), (b"only", None), (b"z\xff", b"ZFF")]),
        (b"a\0", [(b"a\0b", b"AB"), (b"a\0\xff", b"AFF")]),
        (b"a\x01\0", [(b"a\x01\0x", b"A1X")]),
        (b"a\0b\0", [(b"a\0b\0c", b"ABC")]),
        (b"\0", [(b"\0x", b"below an empty name")]),
        (b"only\0", [(b"only\0below", b"OB")]),
        (b"absent\0", []),
        (b"z\xff\0", []),
    ],
)
def test_children_are_direct(prefix: bytes, children: list[tuple[bytes, bytes | None]]) -> None:
    """Descendants are skipped; a child without an entry of its own comes with None."""
    tree = filled()
    for name, value in TREE_OF_NAMES.items():
        tree.put(name, value)

    assert list(tree.children(prefix)) == children
    for at in range(len(children)):
        assert list(tree.children(prefix, after=children[at][0])) == children[at + 1 :]


def test_children_ask_for_the_leaves_where_one_child_follows_another() -> None:
    """Leaves full of descendants are passed over, the others are asked for together."""
    shelf = Shelf()
    tree = filled(shelf=shelf)
    for number in range(3_000):
        tree.put(b"c%d\0%06d" % (number // 300, number), b"v" * 20)
        tree.put(b"d\0%06d" % number, b"v" * 20)
    tree.root = shelf.store(tree.root)
    few = asked_for(shelf, lambda: tree.children(b""))
    some = asked_for(shelf, lambda: tree.children(b"c5\0"))
    many = asked_for(shelf, lambda: tree.children(b"d\0"))
    shelf.away.clear()

    assert sum(map(len, few)) <= 2 * 11 + tree.root.level
    assert sum(map(len, some)) <= 6 + tree.root.level
    assert sum(map(len, many)) > 20
    assert max(len(few), len(many)) <= 2 + tree.root.level
    assert len(list(tree.children(b"d\0"))) == 3_000
    assert list(tree.children(b"")) == [(b"c%d" % at, None) for at in range(10)] + [(b"d", None)]


@pytest.mark.parametrize(("olds", "news"), [(0, 5), (5, 0), (2_000, 30), (30, 2_000), (500, 501)])
def test_a_difference_is_what_changed(olds: int, news: int) -> None:
    """Also between trees of different height that share nothing."""
    old, new = filled(*range(olds)), filled(*range(10, 10 + news))
    new.put(key(20), b"changed")
    before, after = dict(old.scan()), dict(new.scan())
    expected = [
        Difference(one, before.get(one), after.get(one))
        for one in sorted(before.keys() | after.keys())
        if before.get(one) != after.get(one)
    ]

    assert old.difference(new) == expected
    assert old.difference(old) == []


def test_a_difference_does_not_open_what_both_have() -> None:
    """Stored pages that are shared stay closed, however large they are."""
    shelf = Shelf()
    old = filled(*range(2_000), shelf=shelf)
    old.root = shelf.store(old.root)
    new = Tree(old.root, shelf)
    new.put(key(700), b"changed")
    shelf.away = set(shelf.pages) - set(new.replaced)

    assert old.difference(new) == [Difference(key(700), b"v", b"changed")]
    assert size(new.root) <= PAGE_BYTES_MAX
