"""Turns a finished draft into the objects of one commit."""

from typing import NamedTuple

import msgspec

from headgate.ids import Ids
from headgate.kernel.draft import Draft, Staged
from headgate.kernel.head import NOTHING, Changes, Head, Link, encode_root
from headgate.kernel.objects import ObjectTypes, Stored
from headgate.kernel.pages import Page, size
from headgate.limits import CHANGES_INLINE_BYTES_MAX, ROOTS_BYTES_MAX, TAIL_COMMITS

_encode = msgspec.msgpack.encode


class Assembled(NamedTuple):
    """All that one commit stores: its head is the last of the objects."""

    id: int
    head: Head
    objects: list[Staged]
    replaced: list[int]

    @property
    def oldest(self) -> int:
        """The smallest id of all that is stored with it."""
        return min([one.encoded.id for one in self.objects])


def assemble(draft: Draft, types: ObjectTypes, ids: Ids) -> Assembled:
    """The objects to store for this draft. Ids are given here, so the head's is the newest."""
    _fit_roots(draft)
    objects = _Objects(draft, types, ids)
    roots = dict(draft.base.head.roots)
    for name in sorted(draft.trees):
        root = draft.trees[name].root
        if root is not draft.base.root(name):
            roots[name] = encode_root(objects.store_below(root))
    replaced = _replaced(draft)
    previous = draft.base.head.digest or b""  # known since it was read or stored: no read, no hash
    head = msgspec.structs.replace(
        draft.base.head,
        seq=draft.seq,
        tail=(draft.base.id, *draft.base.head.tail)[:TAIL_COMMITS] if draft.base.id else (),
        roots=roots,
        marks=draft.marks,
        sealed=draft.sealed,
        groups=msgspec.Raw(_encode(draft.groups)),
        replaced=msgspec.Raw(_encode(replaced)),
        spilled=0,
        link=Link(draft.seq, previous, b""),
        digest=msgspec.UNSET,
    )
    if len(bytes(head.groups)) + len(bytes(head.replaced)) > CHANGES_INLINE_BYTES_MAX:
        spilled, id = ids.pair()  # a sweep finds the head by the id of its changes
        objects.store(Changes(head.groups, head.replaced), spilled)
        link = Link(draft.seq, previous, objects.all[-1].encoded.digest)
        head = msgspec.structs.replace(
            head, groups=NOTHING, replaced=NOTHING, spilled=spilled, link=link
        )
    else:
        id = ids.next()
    objects.store(head, id)
    return Assembled(id, head, objects.all, replaced)


class _Objects:
    """What a commit stores, as far as it is known. No closures: they would be cyclic garbage."""

    __slots__ = ("_ids", "_realm", "_types", "all")

    def __init__(self, draft: Draft, types: ObjectTypes, ids: Ids) -> None:
        self.all = list(draft.staged)
        self._realm = draft.base.realm
        self._types = types
        self._ids = ids

    def store(self, value: Stored, id: int) -> None:
        """Add an object with this id."""
        self.all.append(Staged(self._types.encode(self._realm, id, value), value))

    def store_below(self, page: Page) -> Page:
        """The page with every child stored."""
        if not page.level:
            return page
        children = [
            self._store_page(child) if type(child) is Page else child for child in page.children
        ]
        return Page(page.level, page.keys, (), tuple(children))

    def _store_page(self, page: Page) -> int:
        """Store a page with all below it; its new id."""
        below = self.store_below(page)
        id = self._ids.next()
        self.store(below, id)
        return id


def _fit_roots(draft: Draft) -> None:
    """Spill the largest roots into pages of their own until all roots fit into the head."""
    sizes = {name: len(bytes(raw)) for name, raw in draft.base.head.roots.items()}
    sizes |= {name: size(tree.root) for name, tree in draft.trees.items()}
    while sum(sizes.values()) > ROOTS_BYTES_MAX:
        largest = max(sizes, key=lambda name: sizes[name])
        tree = draft.tree(largest)
        if tree.root.level and len(tree.root.children) == 1:
            return  # a head of very many small indexes: there is nothing left to spill
        tree.root = Page(tree.root.level + 1, (b"",), (), (tree.root,))
        sizes[largest] = size(tree.root)


def _replaced(draft: Draft) -> list[int]:
    """The stored objects this commit no longer uses."""
    pages = [id for tree in draft.trees.values() for id in tree.replaced]
    return pages + draft.discarded
