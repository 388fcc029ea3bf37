"""Marks: the ids of all that the heads of a pointer lead to.

Pages that contents of a pointer share are walked once. Nothing is kept in memory but the ids of
pages; what was found goes out in pieces.
"""

import asyncio
from array import array
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from headgate.catalog.references import NOTHING, IndexReferences, References
from headgate.errors import ObjectNotFound
from headgate.kernel.head import decode_root
from headgate.kernel.objects import expect
from headgate.kernel.pages import Page
from headgate.kernel.records import Pointer
from headgate.kernel.store import Store
from headgate.limits import SWEEP_PAGES_AT_ONCE
from headgate.maintenance.heads import KeptHeads
from headgate.maintenance.reading import read_objects


class Entrance(NamedTuple):
    """Pages below the root of an index, from which a walk begins."""

    realm: str
    pointer: str
    index_name: str
    pages: tuple[int, ...]
    is_current: bool
    """Whether all below must be there. Of older contents some may be deleted already, if the grace
    was shorter then."""


class Outline(NamedTuple):
    """What the heads of a pointer tell themselves, before any page is read."""

    ids: "array[int]"
    entrances: list[Entrance]


def outline(
    references: References, pointer: Pointer, kept: KeptHeads, pointers: set[str]
) -> Outline:
    """What the heads of a pointer lead to; `NewerFormat` if something in them is not declared.

    The names of pointers that entries refer to are added to `pointers`.
    """
    realm, name = pointer.realm, pointer.name
    found = Outline(array("q", kept.ids), [])
    for head in filter(None, (kept.now, kept.before, kept.after)):
        found.ids.extend(references.of_marks(realm, name, head.marks))
        for index in head.roots:
            refers = references.of_index(realm, name, index)
            below = tuple(_look(decode_root(head, index), refers, found.ids, pointers))
            if below:
                found.entrances.append(Entrance(realm, name, index, below, head is kept.now))
    return found


async def marks(
    store: Store, references: References, outlined: Outline, pointers: set[str]
) -> "AsyncIterator[array[int]]":
    """The ids of all that the pages of a pointer lead to; what its heads tell is not among them.

    The current contents come first: what older ones share with them is not walked again.
    """
    seen: set[int] = set()
    for entrance in outlined.entrances:
        async for ids in walk(store, references, entrance, seen, pointers):
            yield ids


async def walk(
    store: Store,
    references: References,
    entrance: Entrance,
    seen: set[int],
    pointers: set[str],
) -> "AsyncIterator[array[int]]":
    """The ids of all that the pages behind an entrance lead to, but for pages that were seen
    before; `ObjectNotFound` if one is not there that must be."""
    refers = references.of_index(entrance.realm, entrance.pointer, entrance.index_name)
    waiting = _unseen(entrance.pages, seen)
    while waiting:
        some = waiting[-SWEEP_PAGES_AT_ONCE:]
        del waiting[-SWEEP_PAGES_AT_ONCE:]
        pages = await read_objects(store, entrance.realm, some)
        found = array("q")
        for id in some:
            if id in pages:
                below = _look(expect(pages[id], Page, id), refers, found, pointers)
                waiting += _unseen(below, seen)
            elif entrance.is_current:
                raise _missing(entrance, id)
        yield found
        await asyncio.sleep(0)


def _look(
    page: Page, refers: IndexReferences, found: "array[int]", pointers: set[str]
) -> Iterable[int]:
    """Add what a page refers to; the pages below that have to be read for more."""
    if page.level:
        found.extend(page.children)
        return () if page.level == 1 and refers == NOTHING else page.children
    for identify in filter(None, (refers.objects, refers.rows)):
        for key, value in zip(page.keys, page.values, strict=True):
            found.extend(identify(key, value))
    if refers.pointers is not None:
        for key, value in zip(page.keys, page.values, strict=True):
            pointers.update(refers.pointers(key, value))
    return ()


def _unseen(pages: Iterable[int], seen: set[int]) -> list[int]:
    new = [id for id in pages if id not in seen]
    seen.update(new)
    return new


def _missing(entrance: Entrance, id: int) -> ObjectNotFound:
    return ObjectNotFound(
        f"index {entrance.index_name!r} of pointer {entrance.pointer!r} cannot be followed",
        why=f"page {id} of realm {entrance.realm!r} is not stored",
        fix="Restore the database from a backup",
    )
