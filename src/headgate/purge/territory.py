"""Which files may be deleted: pure, and worked out for a folder at a time, as there are many files.

Metadata can be made to name any file, also those of another table or another catalog.
"""

from enum import Enum
from typing import NamedTuple

from headgate.catalog.ports import Roots
from headgate.errors import InvalidInput
from headgate.limits import FOLDERS_KNOWN_MAX, INDEX_KEY_BYTES_MAX
from headgate.model.locations import index_key

SHORT_CHARS_MAX = INDEX_KEY_BYTES_MAX // 8  # never too long as a key, however it is encoded
_END = b"\x00"


class Standing(Enum):
    """What a file is to the table."""

    OWN = "own"
    """It lies in a place that is taken for the table."""
    OUTSIDE = "outside"
    """It lies where the catalog's files may, but perhaps belongs to others."""
    ELSEWHERE = "elsewhere"
    """It is none of our business, or no file at all."""


class Folder(NamedTuple):
    """A folder, with what counts for the files in it."""

    location: str
    key: bytes
    standing: Standing
    others: dict[str, Standing]
    """Files that are places of their own."""

    def standing_of(self, name: str) -> Standing:
        """What the file of this name is to the table."""
        return self.others.get(name, self.standing) if self.others else self.standing


NOWHERE = Folder("", b"", Standing.ELSEWHERE, {})


class Territory:
    """The places of a table, of its catalog, and of others."""

    def __init__(
        self, roots: Roots | None, own: tuple[str, ...], foreign: tuple[bytes, ...]
    ) -> None:
        """Without roots, all the world is the catalog's: to look at what lies outside of some
        places, whoever has it."""
        self._roots = (b"",) if roots is None else tuple(map(index_key, roots))
        self._own = tuple(map(index_key, own))
        self._foreign = foreign
        self._folders: dict[str, Folder] = {}

    def find(self, path: str) -> tuple[Folder, str]:
        """The folder of a file, and its name in there."""
        location, _, name = path.rpartition("/")
        odd = "%" in name or name in {"", ".", ".."} or not name.isprintable()
        if odd or len(path) > SHORT_CHARS_MAX:
            path = path.rstrip("/")
            if not _is_file(path):
                return NOWHERE, name
            location, _, name = path.rpartition("/")
        folder = self._folders.get(location)
        if folder is None:
            folder = self._folder(location)
            if len(self._folders) >= FOLDERS_KNOWN_MAX:
                self._folders.clear()
            self._folders[location] = folder
        return folder, name

    def standing_of(self, location: str) -> Standing:
        """What a place is to the table."""
        try:
            return self._standing(index_key(location))
        except InvalidInput:
            return Standing.ELSEWHERE

    def may_delete(self, path: str, *, whole_catalog: bool) -> bool:
        """Whether a purge of the table, or of tables in the whole catalog, may delete a file."""
        folder, name = self.find(path)
        standing = folder.standing_of(name)
        return standing is Standing.OWN or (whole_catalog and standing is Standing.OUTSIDE)

    def _folder(self, location: str) -> Folder:
        try:
            key = index_key(location)
        except InvalidInput:
            return NOWHERE
        below = len(key)
        others = {
            place[below:-1].decode(): self._standing(place)
            for place in (*self._roots, *self._own, *self._foreign)
            if place.startswith(key) and place.find(_END, below) == len(place) - 1
        }
        return Folder(location, key, self._standing(key), others)

    def _standing(self, key: bytes) -> Standing:
        if key.startswith(self._foreign) or not key.startswith(self._roots):
            return Standing.ELSEWHERE
        return Standing.OWN if key.startswith(self._own) else Standing.OUTSIDE


def _is_file(path: str) -> bool:
    """Whether a location means a file, and one that a disk can have a name for."""
    try:
        return len(index_key(path)) <= INDEX_KEY_BYTES_MAX
    except InvalidInput:
        return False
