"""A few folders that stand for many: pure.

A table that is said to refer to nothing in a place must not: where its folders are too many to tell
apart, what they lie in stands for them, and a purge in another place still need not care.
"""

from itertools import pairwise
from typing import NamedTuple

from headgate.limits import REFERENCE_FOLDERS_MAX

_END = b"\x00"
Keys = frozenset[bytes]
"""Of folders (`model.locations.index_key`)."""


class Folders(NamedTuple):
    """Where files lie."""

    flat: Keys = Keys()
    """They lie in these very folders."""
    trees: Keys = Keys()
    """They lie in these or anywhere below."""

    def __bool__(self) -> bool:
        return bool(self.flat or self.trees)

    def __or__(self, other: "Folders") -> "Folders":
        """Both, in as many as can be told apart."""
        if other.flat <= self.flat and other.trees <= self.trees:
            return self  # as almost always: files of a table lie side by side
        both = _without_covered(self.flat | other.flat, self.trees | other.trees)
        return both if len(both.flat) + len(both.trees) <= REFERENCE_FOLDERS_MAX else _few(both)


def _few(folders: Folders) -> Folders:
    """Those that lie deepest give way to their nearest common parents.

    Neighbours in the order of keys share the most. What is left of them are groups, with one cut
    less between them, there where neighbours share the least.
    """
    shared = [_shared(*pair) for pair in pairwise(sorted(folders.flat | folders.trees))]
    level = sorted(map(_depth, shared))[REFERENCE_FOLDERS_MAX - 1]
    parents = {key for key in shared if _depth(key) >= level}
    return _without_covered(folders.flat, folders.trees | parents)


def _without_covered(flat: Keys, trees: Keys) -> Folders:
    """The same without what lies in one of the trees anyway."""
    tops: list[bytes] = []
    for key in sorted(trees):
        if not (tops and key.startswith(tops[-1])):
            tops.append(key)
    roots = tuple(tops)
    return Folders(Keys(key for key in flat if not key.startswith(roots)), Keys(roots))


def _shared(one: bytes, other: bytes) -> bytes:
    """The deepest folder that both are or lie in; everything, if they are in different stores."""
    while not other.startswith(one):
        one = parent_of(one)
    return one


def _depth(key: bytes) -> int:
    return key.count(_END)


def parent_of(key: bytes) -> bytes:
    """The key of what a place lies in."""
    return key[: key.rfind(_END, 0, -1) + 1]
