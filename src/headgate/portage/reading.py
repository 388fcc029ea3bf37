"""Reading a realm: which pieces it has at one instant, and the rows of each, page by page.

All pointers are read as one vector. What their heads lead to never changes, so pieces can be read
later, by anybody and in any order, for as long as sweeps leave old heads alone. Only the rows of
purge jobs are read as they are by then.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

import msgspec

from headgate.catalog.references import References
from headgate.errors import NewerFormat, RealmNotActive
from headgate.kernel import operations
from headgate.kernel.head import decode_root
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.pages import Page
from headgate.kernel.realms import DROPPED, LOADED_FROM, Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.limits import FETCH_IDS_MAX, PORTAGE_PAGE_BYTES, PORTAGE_PAGE_ROWS
from headgate.portage.carrying import Entry, carried, carried_objects
from headgate.portage.manifest import RealmFacts
from headgate.portage.pieces import Piece
from headgate.portage.rows import Facts, Row, facts_of, pointer_row

READABLE = (RealmState.ACTIVE, RealmState.INACTIVE, RealmState.LOADING)
NOT_EXPORTED = {operations.INDEX}
"""Who repeats a call after a move is not answered from memory."""
_ENTRIES_AT_ONCE = FETCH_IDS_MAX // 2  # each refers to an object and a row, at most


class Outline(NamedTuple):
    """A realm at one instant."""

    realm: Realm
    pieces: list[Piece]
    """In order: together their rows are sorted."""

    @property
    def facts(self) -> RealmFacts:
        """The realm as an export tells of it."""
        known = self.realm.properties.items()
        own = {name: text for name, text in known if name != LOADED_FROM}
        return RealmFacts(self.realm.name, self.realm.state.value, own)


class PageOfRows(NamedTuple):
    """Some rows of a piece, and what is left of it."""

    rows: list[Row]
    rest: Piece | None


async def outline(kernel: Kernel, references: References, name: str) -> Outline:
    """A realm by its name or id, as it is now."""
    realm = await kernel.realms.get(name)
    is_dropped = DROPPED in realm.properties
    if realm.state not in READABLE or is_dropped:
        raise RealmNotActive(
            f"realm {realm.name!r} cannot be exported",
            why="it was dropped" if is_dropped else f"it is {realm.state.value}",
            fix="Only what is there can be exported: ACTIVE and INACTIVE realms",
        )
    scanned = [one async for some in kernel.backend.scan_pointers(realm.id) for one in some]
    keys = sorted(PointerKey(one.realm, one.name) for one in scanned)
    values = await kernel.pointers.read_together(keys, None)
    pieces: list[Piece] = []
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            pieces += await _pieces(kernel.store, references, key, value)
    return Outline(realm, pieces)


async def read_page(kernel: Kernel, references: References, realm: str, piece: Piece) -> PageOfRows:
    """The first rows of a piece; `ObjectNotFound` if a sweep was faster."""
    view = await open_head(kernel.store, realm, piece.head)
    if not piece.index:
        marks, sealed = view.head.marks, view.head.sealed
        marked = references.of_marks(realm, piece.pointer, marks)
        objects = await carried_objects(kernel.store, realm, marked)
        return PageOfRows([pointer_row(piece.pointer, marks, objects, sealed=sealed)], None)
    entries = await _first_entries(view, piece)
    rows = await _rows(kernel.store, references, realm, piece, entries)
    if len(rows) == len(entries) < PORTAGE_PAGE_ROWS:
        return PageOfRows(rows, None)
    return PageOfRows(rows, msgspec.structs.replace(piece, low=rows[-1].key + b"\0"))


async def read_rows(
    kernel: Kernel, references: References, realm: str, pieces: Iterable[Piece]
) -> AsyncIterator[list[Row]]:
    """All rows of these pieces, in order."""
    for piece in pieces:
        rest: Piece | None = piece
        while rest is not None:
            rows, rest = await read_page(kernel, references, realm, rest)
            yield rows
            await asyncio.sleep(0)


async def read_facts(kernel: Kernel, references: References, name: str) -> Facts:
    """The facts about all rows of a realm as it is now."""
    found, facts = await outline(kernel, references, name), Facts()
    async for rows in read_rows(kernel, references, found.realm.id, found.pieces):
        facts += facts_of(rows)
    return facts


async def _first_entries(view: HeadView, piece: Piece) -> list[Entry]:
    entries: list[Entry] = []
    async for entry in view.index(piece.index).scan(piece.low, piece.high):
        entries.append(entry)
        if len(entries) == PORTAGE_PAGE_ROWS:
            break
    return entries


async def _rows(
    store: Store, references: References, realm: str, piece: Piece, entries: Sequence[Entry]
) -> list[Row]:
    """Entries with what they refer to, until they are as large as a page may be."""
    refers = references.of_index(realm, piece.pointer, piece.index)
    rows: list[Row] = []
    size = 0
    for start in range(0, len(entries), _ENTRIES_AT_ONCE):
        some = entries[start : start + _ENTRIES_AT_ONCE]
        objects = await carried(store, realm, refers, some)
        for (key, value), each in zip(some, objects, strict=True):
            row = Row(piece.pointer, piece.index, key, value, each)
            size += row.bytes
            if rows and size > PORTAGE_PAGE_BYTES:
                return rows
            rows.append(row)
    return rows


async def _pieces(store: Store, references: References, key: PointerKey, value: int) -> list[Piece]:
    """The pieces of one pointer; `NewerFormat` if something in its head is not known."""
    references.of(key.realm, key.name)
    head = (await open_head(store, key.realm, value)).head
    if head.unknown:
        raise NewerFormat(
            f"pointer {key.name!r} of realm {key.realm!r} cannot be exported",
            why=f"this program does not know its {', '.join(sorted(head.unknown))}",
            fix="Upgrade this program",
        )
    pieces = [Piece(key.name, value)]
    for index in sorted(head.roots.keys() - NOT_EXPORTED):
        references.of_index(key.realm, key.name, index)
        lows = await _bounds(store, key.realm, decode_root(head, index), b"")
        highs = [*lows[1:], None]
        pieces += [
            Piece(key.name, value, index, low, high) for low, high in zip(lows, highs, strict=True)
        ]
    return pieces


async def _bounds(store: Store, realm: str, page: Page, low: bytes) -> list[bytes]:
    """Where an index can be divided, from `low` on: a piece for each page above the leaves."""
    if page.level < 2:
        return [low]
    lows = [low, *page.keys[1:]]
    if page.level == 2:
        return lows
    found: list[bytes] = []
    for child, begin in zip(page.children, lows, strict=True):
        found += await _bounds(store, realm, await store.get(realm, child, Page), begin)
    return found
