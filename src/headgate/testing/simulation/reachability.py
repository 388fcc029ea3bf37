"""All that a head leads to, read from the database at once. What was read once is remembered: it is
immutable, and each delete is judged before it takes effect."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headgate.catalog.references import References
from headgate.kernel import operations
from headgate.kernel.head import Changes, Head, decode_groups, decode_root
from headgate.kernel.objects import Foreign, ObjectTypes, Stored, join
from headgate.kernel.pages import Page
from headgate.kernel.records import EMPTY, PointerKey
from headgate.testing.simulation.database import Database


class Below(NamedTuple):
    """What one page refers to."""

    pages: tuple[int, ...]
    objects: tuple[int, ...]


NOTHING_BELOW = Below((), ())


class Lost(Exception):
    """Something that a head refers to is not stored."""


class Reachability:
    """Walks through heads and pages."""

    def __init__(self, database: Database, types: ObjectTypes, references: References) -> None:
        self._database = database
        self.types = types
        self._references = references
        self._heads: dict[tuple[str, int], Head] = {}
        self._pages: dict[tuple[str, int], Below] = {}
        self._found: dict[tuple[str, int], frozenset[int]] = {}
        self._stored: dict[tuple[str, int], Any] = {}

    def object(self, realm: str, id: int) -> Stored | Foreign:
        """A stored object; `Lost` if it is not stored."""
        rows = self._database.rows_of(realm, id)
        if not rows:
            raise Lost(f"object {id} of realm {realm} is not stored")
        return self.types.decode(realm, join(rows))

    def head(self, realm: str, id: int) -> Head:
        """A stored head."""
        known = self._heads.get((realm, id))
        if known is None:
            found = self.object(realm, id)
            assert isinstance(found, Head), found
            known = self._heads[realm, id] = found
        return known

    def notes(self, realm: str, head: Head) -> list[bytes]:
        """What the attempts of a commit noted, encoded."""
        groups = head.groups
        if head.spilled:
            changes = self.object(realm, head.spilled)
            assert isinstance(changes, Changes), changes
            groups = changes.groups
        return [bytes(group.note) for group in decode_groups(groups)]

    def entries(self, realm: str, id: int, index: str) -> dict[bytes, bytes]:
        """All entries of an index."""
        found: dict[bytes, bytes] = {}
        pages = [decode_root(self.head(realm, id), index)] if id != EMPTY else []
        while pages:
            page = pages.pop()
            if not page.level:
                found |= zip(page.keys, page.values, strict=True)
            for child in page.children:
                below = self.object(realm, child)
                assert isinstance(below, Page), below
                pages.append(below)
        return found

    def live(self, realm: str) -> dict[int, PointerKey]:
        """The ids of all that the present heads of a realm need, and which of them does."""
        found: dict[int, PointerKey] = {}
        for pointer in self._database.pointers(realm):
            key = PointerKey(pointer.realm, pointer.name)
            if pointer.value != EMPTY:
                found |= dict.fromkeys(self.of_head(key, pointer.value), key)
        return found

    def of_head(self, key: PointerKey, id: int) -> frozenset[int]:
        """The ids of all that a head needs, itself among them."""
        known = self._found.get((key.realm, id))
        if known is None:
            known = self._found[key.realm, id] = frozenset(self._walk(key, id))
        return known

    def check_new(self, key: PointerKey, id: int) -> None:
        """Look whether all that a new head needs is stored; `Lost` if it is not.

        Pages that were met before were looked at then, and no live one was deleted since.
        """
        head = self.head(key.realm, id)
        for mark in self._references.of_marks(*key, head.marks):
            self._demand(key.realm, mark)
        for index in head.roots:
            waiting = [self._below(key, index, decode_root(head, index))]
            while waiting:
                below = waiting.pop()
                for object in below.objects:
                    if index != operations.INDEX:  # results name ids that have no rows
                        self._demand(key.realm, object)
                for page in below.pages:
                    if (key.realm, page) not in self._pages:
                        waiting.append(self._page(key, index, page))

    def forget(self, realm: str, ids: Iterable[int]) -> None:
        """These are deleted."""
        for id in ids:
            for known in (self._stored, self._pages, self._heads, self._found):
                known.pop((realm, id), None)

    def _walk(self, key: PointerKey, id: int) -> Iterator[int]:
        head = self.head(key.realm, id)
        yield id
        yield from self._references.of_marks(*key, head.marks)
        for index in head.roots:
            waiting = [self._below(key, index, decode_root(head, index))]
            while waiting:
                below = waiting.pop()
                yield from below.objects
                yield from below.pages
                waiting += [self._page(key, index, page) for page in below.pages]

    def _demand(self, realm: str, id: int) -> None:
        if (realm, id) not in self._stored:
            self.object(realm, id)
            self._stored[realm, id] = True

    def _page(self, key: PointerKey, index: str, id: int) -> Below:
        known = self._pages.get((key.realm, id))
        if known is None:
            page = self.object(key.realm, id)
            assert isinstance(page, Page), page
            known = self._pages[key.realm, id] = self._below(key, index, page)
        return known

    def _below(self, key: PointerKey, index: str, page: Page) -> Below:
        if page.level:
            return Below(page.children, ())
        identify = self._references.of_index(*key, index).objects
        if identify is None:
            return NOTHING_BELOW
        pairs = zip(page.keys, page.values, strict=True)
        return Below((), tuple(id for pair in pairs for id in identify(*pair)))
