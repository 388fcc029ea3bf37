"""The index that is measured: names of tables in namespaces, as a catalog has them."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.pages import CHILD_BYTES, ENTRY_BYTES, Page, lower_bound
from headgate.limits import PAGE_BYTES_MAX

NAMES = "names"
POINTER = "cat/1/heads/main"
NAMESPACES = 20
FILL_MIN = 0.5  # pages of a tree that grew in random order are half full to full


def make_keys(count: int) -> list[bytes]:
    """So many keys in order: the namespaces, and their tables with even numbers."""
    namespaces = [b"ns%04d" % number for number in range(NAMESPACES)]
    tables = [table(2 * number) for number in range(count - NAMESPACES)]
    return sorted(namespaces + tables)


def new_key(count: int, random: Random) -> bytes:
    """A key that `make_keys(count)` does not have, anywhere among them."""
    return table(2 * random.randrange(count) + 1)


def table(number: int) -> bytes:
    return b"ns%04d\0table_%07d" % (number // 2 % NAMESPACES, number)


def value(number: int) -> bytes:
    """Forty bytes, as an entity's kind and ids take."""
    return b"%040x" % number


async def fill(realm: RealmHandle, keys: Sequence[bytes], seed: int) -> None:
    """Put an index of these keys under `POINTER` with one commit."""
    await realm.create_pointers([POINTER])
    root = aged_tree(keys, Random(seed))

    def attempt(draft: Draft) -> None:
        draft.tree(NAMES).root = root
        draft.mark("entries", len(keys))

    await realm.commit(POINTER, attempt)


def aged_tree(keys: Sequence[bytes], random: Random) -> Page:
    """The root of a tree with these keys whose pages are filled as if they had come in any order.

    Putting a million entries one by one would take longer than the measurement.
    """
    entry_bytes = [len(key) + len(value(0)) + 2 * ENTRY_BYTES for key in keys]
    pages = [
        Page(0, tuple(keys[start:stop]), tuple(map(value, range(start, stop))))
        for start, stop in _pieces(entry_bytes, 1, random)
    ]
    bounds = [b"", *(lower_bound(left, right) for left, right in pairwise(pages))]
    while len(pages) > 1:
        child_bytes = [len(bound) + ENTRY_BYTES + CHILD_BYTES for bound in bounds]
        pieces = _pieces(child_bytes, 2, random)
        level = pages[0].level + 1
        pages = [
            Page(level, (b"", *bounds[start + 1 : stop]), (), tuple(pages[start:stop]))
            for start, stop in pieces
        ]
        bounds = [bounds[start] for start, _ in pieces]
    return pages[0]


def _pieces(sizes: list[int], smallest: int, random: Random) -> list[tuple[int, int]]:
    """Where to cut a row of things of these sizes, so that each piece fits a page."""
    if sum(sizes) <= PAGE_BYTES_MAX:
        return [(0, len(sizes))]
    pieces = []
    start, filled = 0, 0
    wanted = PAGE_BYTES_MAX * random.uniform(FILL_MIN, 1)
    for at, size in enumerate(sizes):
        if filled + size > wanted and smallest <= at - start and smallest <= len(sizes) - at:
            pieces.append((start, at))
            start, filled = at, 0
            wanted = PAGE_BYTES_MAX * random.uniform(FILL_MIN, 1)
        filled += size
    return [*pieces, (start, len(sizes))]
