"""Spellings of one file: what is compared when a listing meets what tables name.

`/x`, `file:/x` and `file:///x` are one file, and so are `s3a://b/x` and `s3://b/x`; nothing is
decoded, `%20` is part of a name. All of that is as the catalog compares locations. Besides, a link
to a folder is the folder itself: a table that names its files by way of a link has them all the
same.
"""

import os
import posixpath
from collections.abc import Iterable
from contextlib import suppress

from headgate.errors import InvalidInput
from headgate.limits import FOLDERS_KNOWN_MAX
from headgate.model.locations import Place, place_of

ODD_NAMES = frozenset({"", ".", ".."})


class Keys:
    """Makes keys of locations. What is worked out of a folder counts for all files in it."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._real: dict[str, str] = {}

    def of_all(self, locations: Iterable[str]) -> list[str]:
        """The keys of these files, in the same order. Each takes a fraction of a microsecond."""
        known, found = self._prefixes, list[str]()
        for location in locations:
            folder, _, name = location.rpartition("/")
            prefix = known.get(folder) or self.prefix(folder)
            plain = prefix and name not in ODD_NAMES
            found.append(prefix + name if plain else self._odd(location))
        return found

    def of(self, location: str) -> str:
        """The key of a file."""
        return self.of_all([location])[0]

    def of_folder(self, location: str) -> str:
        """What the keys of all that lies below a folder begin with, before a slash."""
        folder = location.rstrip("/")
        return self.prefix(folder).removesuffix("/") or self.of(folder)

    def prefix(self, folder: str) -> str:
        """What the keys of all files in a folder begin with; empty if it is no location."""
        found = self._prefixes.get(folder)
        if found is None:
            found = ""
            with suppress(InvalidInput):
                found = self._prefix(place_of(folder))
            if len(self._prefixes) >= FOLDERS_KNOWN_MAX:
                self._prefixes.clear()
            self._prefixes[folder] = found
        return found

    def _prefix(self, place: Place) -> str:
        if place.scheme == "file":
            path = "".join(f"/{segment}" for segment in place.segments)
            return f"file://{self._real_folder(path)}/"
        return f"{place}/"

    def _odd(self, location: str) -> str:
        """Of what nobody should write. A segment `..` is followed, as a disk does; a name in an
        object store may be odd and still be listed, so there it is taken literally. What is no
        location at all is as it is, and equals nothing that can be listed."""
        for spelling in (location, _without_dots(location)):
            with suppress(InvalidInput):
                place = place_of(spelling)
                if not place.segments:
                    return str(place)
                *above, name = place.segments
                return self._prefix(place._replace(segments=tuple(above))) + name
        root, mark, path = _parted(location)
        return f"{self.prefix(root)}{path}" if mark and self.prefix(root) else location

    def _real_folder(self, path: str) -> str:
        """Where a folder is without links, by one look at each folder."""
        found = self._real.get(path)
        if found is None:
            above, _, name = path.rpartition("/")
            found = f"{self._real_folder(above)}/{name}" if path else ""
            if path and os.path.islink(found):  # noqa: PTH114  very many are asked
                found = os.path.realpath(found)
            if len(self._real) >= FOLDERS_KNOWN_MAX:
                self._real.clear()
            self._real[path] = found
        return found


def _parted(location: str) -> tuple[str, str, str]:
    """The store that a location names, a slash, and all that follows."""
    scheme, mark, rest = location.partition("://")
    bucket, slash, path = rest.partition("/")
    return f"{scheme}{mark}{bucket}", slash if mark else "", path


def _without_dots(location: str) -> str:
    scheme, mark, path = location.rpartition("://")
    return f"{scheme}{mark}{posixpath.normpath(path)}"
