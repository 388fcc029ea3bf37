"""The name index of a catalog: who is called what, below whom.

A key is the parent's id, a letter for the kind of name, and the name. So the direct children of a
namespace lie together whatever is below them, and a path is resolved level by level into the ids
that permissions are given on. Tables and views share one letter: a name is one or the other.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from headgate.catalog.entities import Entry, decode_entry, encode_entry
from headgate.catalog.stored_names import IDS, NAMES
from headgate.kernel.draft import Draft
from headgate.kernel.index import after_prefix
from headgate.model.names import Levels

ROOT = 0  # the parent of a catalog's first level, and of a metalake's catalogs

CATALOGS = b"c"
NAMESPACES = b"n"
RELATIONS = b"t"  # tables and views
FUNCTIONS = b"f"
USERS = b"u"
GROUPS = b"g"
ROLES = b"r"

_ID_BYTES = 8


class Readable(Protocol):
    """An index that is read at once: a tree at hand, or the draft of a commit."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes]]: ...


class Names:
    """A name index, for reading. What is not at hand raises `Missing`."""

    __slots__ = ("_index",)

    def __init__(self, index: Readable) -> None:
        self._index = index

    def find(self, parent: int, group: bytes, name: str) -> Entry | None:
        """The entry of this name below this parent."""
        value = self._index.get(key_of(parent, group, name))
        return None if value is None else decode_entry(value)

    def path(self, levels: Levels) -> list[Entry]:
        """The namespaces along a path, outermost first; shorter than it where it ends."""
        found: list[Entry] = []
        parent = ROOT
        for level in levels:
            entry = self.find(parent, NAMESPACES, level)
            if entry is None:
                break
            found.append(entry)
            parent = entry.id
        return found

    def namespace(self, levels: Levels) -> Entry | None:
        """The namespace with this path; there is none without levels."""
        found = self.path(levels)
        return found[-1] if found and len(found) == len(levels) else None

    def below(
        self, parent: int, group: bytes, after: str | None = None
    ) -> Iterator[tuple[str, Entry]]:
        """The names below a parent, in order, behind the name `after`."""
        prefix = _prefix(parent, group)
        low = prefix if after is None else key_of(parent, group, after) + b"\0"
        for key, value in self._index.scan(low, after_prefix(prefix)):
            yield key[len(prefix) :].decode(), decode_entry(value)

    def first_below(self, parent: int) -> tuple[bytes, str] | None:
        """The group and name of anything below this parent, None if there is nothing."""
        prefix = id_bytes(parent)
        for key, _ in self._index.scan(prefix, after_prefix(prefix)):
            return key[_ID_BYTES : _ID_BYTES + 1], key[_ID_BYTES + 1 :].decode()
        return None


class NamesDraft(Names):
    """A name index in a commit, for reading and changing."""

    __slots__ = ("_draft", "_ids")

    def __init__(self, draft: Draft) -> None:
        self._draft = draft.index(NAMES)
        self._ids = draft.index(IDS)
        super().__init__(self._draft)

    def add(self, parent: int, group: bytes, name: str, entry: Entry) -> None:
        """Give this name to an entity that has none."""
        self.put(parent, group, name, entry)
        self._ids.put(id_bytes(entry.id), key_of(parent, group, name))

    def put(self, parent: int, group: bytes, name: str, entry: Entry) -> None:
        """Replace the entry of the entity of this name."""
        self._draft.put(key_of(parent, group, name), encode_entry(entry))

    def remove(self, parent: int, group: bytes, name: str, entry: Entry) -> None:
        """Free this name, which this entry has."""
        self._draft.remove(key_of(parent, group, name))
        self._ids.remove(id_bytes(entry.id))


class Place(NamedTuple):
    """Where an entity is in the name index."""

    parent: int
    group: bytes
    name: str


def place_of(ids: Readable, id: int) -> Place | None:
    """Where the entity of this id is, by the index of ids; None if it is no more."""
    key = ids.get(id_bytes(id))
    return None if key is None else place_at(key)


def place_at(key: bytes) -> Place:
    """What a key of the name index says."""
    parent = int.from_bytes(key[:_ID_BYTES], "big")
    return Place(parent, key[_ID_BYTES : _ID_BYTES + 1], key[_ID_BYTES + 1 :].decode())


def names_to(ids: Readable, id: int) -> list[str] | None:
    """The names of all levels down to the entity of this id; None if it is no more."""
    found: list[str] = []
    while id != ROOT:
        place = place_of(ids, id)
        if place is None:
            return None
        found.append(place.name)
        id = place.parent
    return found[::-1]


def id_bytes(id: int) -> bytes:
    """An id as keys have it."""
    return id.to_bytes(_ID_BYTES, "big")


def key_of(parent: int, group: bytes, name: str) -> bytes:
    """The key of a name in the index."""
    return _prefix(parent, group) + name.encode()


def _prefix(parent: int, group: bytes) -> bytes:
    return id_bytes(parent) + group
