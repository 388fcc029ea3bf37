"""A copy-on-write B+-tree over pages: synchronous and pure.

Every change gives a new root that shares all untouched pages with the old one, so a savepoint *is*
the root. Pages that are not at hand raise `Missing`; the caller fetches them and asks again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, Protocol

from headgate.kernel.pages import EMPTY_LEAF, Page, lower_bound, merge, size, split
from headgate.limits import PAGE_MERGE_BELOW_BYTES, PAGE_MERGED_BYTES_MAX, SCAN_AHEAD_PAGES

SEPARATOR = b"\0"  # between the segments of a path; no other byte would sort children together
BEHIND = b"\1"  # the smallest key behind a child and all its descendants ends in it


class Missing(Exception):
    """These objects are needed and not at hand."""

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = tuple(ids)
        super().__init__(self.ids)


class Pages(Protocol):
    """Where stored pages come from."""

    def find(self, id: int) -> Page | None:
        """The page, if it is at hand."""
        ...


class Difference(NamedTuple):
    """A key whose value differs between two trees; None where it is absent."""

    key: bytes
    old: bytes | None
    new: bytes | None


class Tree:
    """A root and where its pages come from. Methods that change it replace `root`."""

    __slots__ = ("_pages", "replaced", "root")

    def __init__(self, root: Page, pages: Pages) -> None:
        self.root = root
        self.replaced: list[int] = []  # stored pages that the present root no longer uses
        self._pages = pages

    def get(self, key: bytes) -> bytes | None:
        """The value of this key, None if it is absent."""
        page = self.root
        while page.level:
            child = page.children[bisect_right(page.keys, key, 1) - 1]
            page = child if type(child) is Page else self._pages.find(child) or self._load(child)
        at = bisect_left(page.keys, key)
        if at < len(page.keys) and page.keys[at] == key:
            return page.values[at]
        return None

    def need(self, keys: Iterable[bytes]) -> None:
        """Say before a change of many entries which: what is missing is then asked for together."""
        missing = set()
        for key in keys:
            page: Page | None = self.root
            while page is not None and page.level:
                child = page.children[bisect_right(page.keys, key, 1) - 1]
                page = child if isinstance(child, Page) else self._pages.find(child)
                if page is None:
                    missing.add(child)
        if missing:
            raise Missing(missing)

    def put(self, key: bytes, value: bytes) -> bytes | None:
        """Add or replace an entry; the value it had before, None if it is new."""
        path: list[tuple[Page, int]] = []  # from the root: inner pages and which child was taken
        page = self.root
        while page.level:
            at = bisect_right(page.keys, key, 1) - 1
            path.append((page, at))
            child = page.children[at]
            page = child if type(child) is Page else self._pages.find(child) or self._load(child)
        at = bisect_left(page.keys, key)
        old = page.values[at] if at < len(page.keys) and page.keys[at] == key else None
        if old == value:
            return old
        changed = _with_entry(page, at, key, value, new=old is None)
        if old is not None and len(value) <= len(old):
            self._replace(path, [changed])  # it did not grow: there is no need to measure it
        else:
            edge = at == len(page.keys) and _is_at_edge(path)
            self._replace(path, split(changed, at_right_edge=edge))
        return old

    def remove(self, key: bytes) -> None:
        """Remove an entry; nothing happens if it is absent."""
        with self._undone_if_missing():
            changed = self._remove(self.root, key)
            if changed is self.root:
                return
            root = changed or EMPTY_LEAF
            while root.level and len(root.children) == 1:
                only = root.children[0]
                root = self._load(only)
                self._took(only)
        self.root = root

    def scan(self, low: bytes = b"", high: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries with low <= key < high, in order."""

        def wanted(bound: bytes, _: bytes) -> bool:
            return high is None or bound < high

        at: bytes | None = low
        while at is not None and (high is None or at < high):
            leaf, upper = self._descend(at, wanted)
            start = bisect_left(leaf.keys, at)
            stop = len(leaf.keys) if high is None else bisect_left(leaf.keys, high)
            yield from zip(leaf.keys[start:stop], leaf.values[start:stop], strict=True)
            at = upper

    def children(
        self, prefix: bytes, after: bytes | None = None
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """The direct children below a prefix of a path, in order: whole key and value.

        A child's descendants are skipped by seeking past them. A child that has descendants and no
        entry of its own comes with None. `after` continues behind a child's key.
        """

        def wanted(bound: bytes, upper: bytes) -> bool:
            """Whether a leaf between these bounds can hold more than descendants of one child."""
            if not bound.startswith(prefix):
                return False
            end = bound.find(SEPARATOR, len(prefix))
            return end < 0 or not upper.startswith(bound[: end + 1])

        at = prefix if after is None else after + BEHIND
        while True:
            leaf, upper = self._descend(at, wanted)
            index = bisect_left(leaf.keys, at)
            while index < len(leaf.keys):
                found = leaf.keys[index]
                if not found.startswith(prefix):
                    return
                end = found.find(SEPARATOR, len(prefix))
                child = found if end < 0 else found[:end]
                if child != prefix:
                    yield child, leaf.values[index] if end < 0 else None
                at = child + BEHIND if child != prefix else found + b"\0"
                index = bisect_left(leaf.keys, at, index + 1)
            if upper is None:
                return
            at = max(at, upper)

    def difference(self, new: "Tree") -> list[Difference]:
        """What changed from this tree to `new`, in order, at the cost of what changed.

        Both trees are opened level by level; pages that both have are dropped unseen.
        """
        mine: list[int | Page] = [self.root]
        theirs: list[int | Page] = [new.root]
        for level in range(max(self.root.level, new.root.level), 0, -1):
            mine, theirs = _without_shared(mine, theirs)
            mine, theirs = _opened(self, mine, level), _opened(new, theirs, level)
        mine, theirs = _without_shared(mine, theirs)
        old_entries = _entries(self, mine)
        new_entries = _entries(new, theirs)
        return [
            Difference(key, old, value)
            for key in sorted(old_entries.keys() | new_entries.keys())
            if (old := old_entries.get(key)) != (value := new_entries.get(key))
        ]

    @contextmanager
    def _undone_if_missing(self) -> Iterator[None]:
        mark = len(self.replaced)
        try:
            yield
        except Missing:
            del self.replaced[mark:]
            raise

    def _replace(self, path: list[tuple[Page, int]], pieces: list[Page]) -> None:
        """Make these pages the root, in place of what is at the end of the path."""
        while path:
            page, at = path.pop()
            child = page.children[at]
            if type(child) is not Page:
                self.replaced.append(child)
            if len(pieces) == 1 and not page.keys[0]:  # as most often: its keys and its size stay
                children = list(page.children)
                children[at] = pieces[0]
                pieces = [Page(page.level, page.keys, (), tuple(children))]
            else:
                edge = at == len(page.keys) - 1 and _is_at_edge(path)
                pieces = split(_with_children(page, at, at + 1, pieces), at_right_edge=edge)
        while len(pieces) > 1:
            pieces = split(_over(pieces), at_right_edge=True)
        self.root = pieces[0]

    def _remove(self, page: Page, key: bytes) -> Page | None:
        """The page without this key: itself if it is absent, None if nothing is left."""
        if not page.level:
            at = bisect_left(page.keys, key)
            if at == len(page.keys) or page.keys[at] != key:
                return page
            if len(page.keys) == 1:
                return None
            return Page(
                0,
                page.keys[:at] + page.keys[at + 1 :],
                page.values[:at] + page.values[at + 1 :],
            )
        at = bisect_right(page.keys, key, 1) - 1
        child = self._load(page.children[at])
        changed = self._remove(child, key)
        if changed is child:
            return page
        self._took(page.children[at])
        if changed is not None:
            return self._merged(page, at, changed)
        if len(page.children) == 1:
            return None
        return _with_children(page, at, at + 1, [])

    def _merged(self, page: Page, at: int, changed: Page) -> Page:
        """The inner page with a changed child, merged with a neighbour if both are small."""
        own = size(changed)
        if own < PAGE_MERGE_BELOW_BYTES:
            for other in (at + 1, at - 1):
                if not 0 <= other < len(page.children):
                    continue
                neighbour = self._load(page.children[other])
                if own + size(neighbour) <= PAGE_MERGED_BYTES_MAX:
                    self._took(page.children[other])
                    pair = (changed, neighbour) if other > at else (neighbour, changed)
                    second = max(at, other)
                    merged = merge(*pair, page.keys[second])
                    return _with_children(page, second - 1, second + 1, [merged])
        return _with_children(page, at, at + 1, [changed])

    def _load(self, child: int | Page) -> Page:
        if isinstance(child, Page):
            return child
        page = self._pages.find(child)
        if page is None:
            raise Missing((child,))
        return page

    def _took(self, child: int | Page) -> None:
        """Note that a stored page was replaced."""
        if not isinstance(child, Page):
            self.replaced.append(child)

    def _descend(
        self, key: bytes, wanted: Callable[[bytes, bytes], bool]
    ) -> tuple[Page, bytes | None]:
        """The leaf where this key belongs, and the lower bound of the leaf behind it.

        If it is missing, so are those behind it that are `wanted`, judged by their bounds.
        """
        page, upper = self.root, None
        while page.level:
            at = bisect_right(page.keys, key, 1) - 1
            if at + 1 < len(page.keys):
                upper = page.keys[at + 1]
            child = page.children[at]
            if page.level == 1 and not isinstance(child, Page) and self._pages.find(child) is None:
                behind = range(at + 1, len(page.keys))
                bounds = (*page.keys, b"")
                ahead = [page.children[i] for i in behind if wanted(bounds[i], bounds[i + 1])]
                self.load_all([child, *ahead[: SCAN_AHEAD_PAGES - 1]])
            page = self._load(child)
        return page, upper

    def load_all(self, children: Sequence[int | Page]) -> list[Page]:
        """These children as pages; `Missing` names all that are not at hand."""
        missing = [
            child
            for child in children
            if not isinstance(child, Page) and self._pages.find(child) is None
        ]
        if missing:
            raise Missing(missing)
        return [self._load(child) for child in children]


def _opened(tree: Tree, children: Sequence[int | Page], level: int) -> list[int | Page]:
    """These children with the pages of this level replaced by what is below them."""
    opened: list[int | Page] = []
    for child, page in zip(children, tree.load_all(children), strict=True):
        opened.extend(page.children if page.level == level else (child,))
    return opened


def _entries(tree: Tree, leaves: Sequence[int | Page]) -> dict[bytes, bytes]:
    return {
        key: value
        for leaf in tree.load_all(leaves)
        for key, value in zip(leaf.keys, leaf.values, strict=True)
    }


def _is_at_edge(path: list[tuple[Page, int]]) -> bool:
    """Whether a path leads along the right edge of its tree."""
    return all(at == len(page.keys) - 1 for page, at in path)


def _with_entry(leaf: Page, at: int, key: bytes, value: bytes, *, new: bool) -> Page:
    """A leaf with an entry added or replaced at this place."""
    keys, values = leaf.keys, list(leaf.values)
    if new:
        keys = (*keys[:at], key, *keys[at:])
        values.insert(at, value)
    else:
        values[at] = value
    return Page(0, keys, tuple(values))


def _over(pieces: list[Page]) -> Page:
    """A new root over the pieces of the old one."""
    return Page(
        pieces[0].level + 1,
        (b"", *(lower_bound(left, right) for left, right in pairwise(pieces))),
        (),
        tuple(pieces),
    )


def _with_children(page: Page, start: int, stop: int, pieces: list[Page]) -> Page:
    """An inner page with the children from `start` to `stop` replaced by these."""
    bounds = [lower_bound(left, right) for left, right in pairwise(pieces)]
    first = page.keys[start : start + 1] if pieces else ()
    keys = (*page.keys[:start], *first, *bounds, *page.keys[stop:])
    return Page(
        page.level,
        (b"", *keys[1:]),  # below the first child there may come keys smaller than ever before
        (),
        (*page.children[:start], *pieces, *page.children[stop:]),
    )


def _without_shared(
    mine: list[int | Page], theirs: list[int | Page]
) -> tuple[list[int | Page], list[int | Page]]:
    """Both lists without the stored pages that are in both."""
    shared = {child for child in mine if not isinstance(child, Page)}
    shared &= {child for child in theirs if not isinstance(child, Page)}
    return (
        [child for child in mine if isinstance(child, Page) or child not in shared],
        [child for child in theirs if isinstance(child, Page) or child not in shared],
    )
