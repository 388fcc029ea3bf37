"""Index pages: sorted keys with values, or with children; how they are measured, split and merged.

A page is immutable. The children of a stored page are ids; in a tree that is being changed they may
also be pages that have no id yet.
"""

from typing import Any

import msgspec

from headgate.kernel.objects import ObjectType, Stored
from headgate.limits import PAGE_BYTES_MAX, PAGE_EDGE_FILL

PAGE_BYTES = 24  # the map of fields and the headers of its lists, at most
ENTRY_BYTES = 3  # msgpack's header of a byte string
CHILD_BYTES = 9


class Page(Stored, frozen=True, gc=False):
    """A leaf (level 0) of keys and values, or an inner page of keys and children.

    `keys[i]` of an inner page is a lower bound of everything below `children[i]`. The first is b""
    once the page was changed: the bound of its first child is its own, and stands in its parent.
    A child is an id, or a page that is not stored yet.
    """

    level: int = msgspec.field(name="l")
    keys: tuple[bytes, ...] = msgspec.field(name="k")
    values: tuple[bytes, ...] = msgspec.field(default=(), name="v")
    children: tuple[Any, ...] = msgspec.field(default=(), name="c")


PAGE_TYPE = ObjectType("page", Page)
EMPTY_LEAF = Page(0, ())


def size(page: Page) -> int:
    """About how many bytes the page takes when stored."""
    payload = PAGE_BYTES + sum(map(len, page.keys)) + ENTRY_BYTES * len(page.keys)
    if page.level:
        return payload + CHILD_BYTES * len(page.children)
    return payload + sum(map(len, page.values)) + ENTRY_BYTES * len(page.values)


def cut(page: Page, start: int, stop: int) -> Page:
    """The entries from `start` to `stop` as a page of their own."""
    return Page(
        page.level, page.keys[start:stop], page.values[start:stop], page.children[start:stop]
    )


def merge(left: Page, right: Page, bound: bytes) -> Page:
    """The entries of two neighbours in one page; `bound` is the lower bound of the right one."""
    return Page(
        left.level,
        left.keys + ((bound, *right.keys[1:]) if left.level else right.keys),
        left.values + right.values,
        left.children + right.children,
    )


def split(page: Page, *, at_right_edge: bool) -> list[Page]:
    """The page itself, or pieces that fit the limit.

    Even pieces inside a tree; at its right edge, where ordered keys arrive, nearly full ones.
    An entry is never divided, and an inner page keeps two children: such a page may stay larger.
    """
    total = size(page)
    smallest = 2 if page.level else 1
    if total <= PAGE_BYTES_MAX or len(page.keys) < 2 * smallest:
        return [page]
    wanted = PAGE_BYTES_MAX * PAGE_EDGE_FILL if at_right_edge else total / 2
    at, filled = 0, 0
    while at < len(page.keys) - smallest and (at < smallest or filled < wanted):
        filled += _entry_size(page, at)
        at += 1
    left, right = cut(page, 0, at), cut(page, at, len(page.keys))
    return [
        *split(left, at_right_edge=False),
        *split(right, at_right_edge=at_right_edge),
    ]


def lower_bound(left: Page, right: Page) -> bytes:
    """The shortest key that is above all of `left` and not above any of `right`."""
    first = right.keys[0]
    if left.level:
        return first
    last = left.keys[-1]
    for length in range(1, len(first)):
        if first[:length] > last:
            return first[:length]
    return first


def _entry_size(page: Page, at: int) -> int:
    if page.level:
        return len(page.keys[at]) + ENTRY_BYTES + CHILD_BYTES
    return len(page.keys[at]) + len(page.values[at]) + 2 * ENTRY_BYTES
