"""Locations of tables, views and files: what may be one, and which lie in each other.

Metadata keeps a location as its client wrote it (`file:/tmp/ns/tbl`). The forms made here are for
comparing only: two spellings of one place are one text.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from headgate.errors import BadRequest, Forbidden

LOCATION_BYTES_MAX = 2_048
"""Object stores end at 1,024, and an index key must hold it."""

PATH_PROPERTIES = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)

# Spellings of one store. Azure serves the same files under two hosts as well.
_STORES = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "abfs": "abfss",
    "abfss": "abfss",
    "wasb": "abfss",
    "wasbs": "abfss",
}
_FORM = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?((?:/.*)?)", re.DOTALL)
_BUCKET = re.compile("[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_CONTAINER = re.compile("[a-z0-9$]([a-z0-9-]*[a-z0-9])?(@[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?")
_KNOWN_MAX = 16_384  # the same locations are compared again and again
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff?#]")
_TERMINATOR = b"\x00"  # ends each part of a key, and is in none


class _Place(NamedTuple):
    scheme: str
    authority: str  # bucket or container; empty for files
    segments: tuple[str, ...]

    def __str__(self) -> str:
        path = "".join(f"/{segment}" for segment in self.segments)
        return f"{self.scheme}://{self.authority}{path}" if path or self.authority else "file:///"

    def holds(self, other: "_Place") -> bool:
        """Whole segments are compared: `/a/b` does not hold `/a/bc`."""
        depth = len(self.segments)
        return self == other._replace(segments=other.segments[:depth])


def normalize(location: str) -> str:
    """The one spelling of a location that is compared with others."""
    return str(_place(location))


def scheme_of(location: str) -> str:
    """The kind of store: `file`, `s3`, `gs` or `abfss`."""
    return _place(location).scheme


def is_within(location: str, prefix: str) -> bool:
    """True if the location is the prefix or lies below it."""
    return _place(prefix).holds(_place(location))


def overlaps(one: str, other: str) -> bool:
    """True if one of the two lies within the other."""
    place, another = _place(one), _place(other)
    return place.holds(another) or another.holds(place)


def ancestors(location: str) -> list[str]:
    """All that the location lies in, without itself, the store's root first."""
    place = _place(location)
    return [
        str(place._replace(segments=place.segments[:depth])) for depth in range(len(place.segments))
    ]


def index_key(location: str) -> bytes:
    """A key for an ordered index, in which a location is followed by all that lie below it."""
    place = _place(location)
    parts = (place.scheme, place.authority, *place.segments)
    return b"".join(part.encode() + _TERMINATOR for part in parts)


def index_range(location: str) -> tuple[bytes, bytes]:
    """From where, and until before where, the keys of a location and all below it are."""
    key = index_key(location)
    return key, key[: -len(_TERMINATOR)] + b"\x01"


def check_allowed(location: str, allowed: Sequence[str], allowing: str = "") -> None:
    """A location lies within one of those that a catalog may use; `allowing` would let it."""
    place = _place(location)
    if not any(_place(prefix).holds(place) for prefix in allowed):
        choice = f", or allow this one with {allowing}" if allowing else ""
        raise Forbidden(
            f"Location is not allowed: {location}",
            why=f"this catalog may use {', '.join(allowed) or 'none'}",
            fix=f"Choose a location below one of these, or leave it to the catalog{choice}",
        )


def metadata_paths(properties: Mapping[str, str], location: str) -> list[str]:
    """All locations a table or view writes to, as they were written: its own, and those that its
    properties add to it."""
    paths = [location]
    for name in PATH_PROPERTIES:
        path = properties.get(name)
        if path and not any(is_within(path, known) for known in paths):
            paths.append(path)
    return paths


@lru_cache(_KNOWN_MAX)
def _place(location: str) -> _Place:
    if len(location.encode(errors="replace")) > LOCATION_BYTES_MAX:
        raise _invalid(location, f"it is longer than {LOCATION_BYTES_MAX} bytes")
    if found := _FORBIDDEN.search(location):
        raise _invalid(location, f"it contains {found[0]!a}")
    form = _FORM.fullmatch(location)
    if not form or not (form[2] or form[3]):
        raise _invalid(location, "it is neither a path nor a URI with a path")
    scheme = (form[1] or "file").lower()
    if scheme not in _STORES:
        raise _invalid(location, f"the scheme {scheme!r} is not supported")
    store = _STORES[scheme]
    return _Place(store, _authority(location, store, form[2] or ""), _segments(location, form[3]))


def _authority(location: str, store: str, authority: str) -> str:
    if store == "file":
        if authority:
            raise _invalid(location, f"a file has no host, and this names {authority!r}")
        return ""
    bucket = authority.lower()
    pattern = _CONTAINER if store == "abfss" else _BUCKET
    if not pattern.fullmatch(bucket):
        raise _invalid(location, "it names no bucket" if not bucket else "its bucket is not a name")
    return bucket.replace(".blob.", ".dfs.") if store == "abfss" else bucket


def _segments(location: str, path: str) -> tuple[str, ...]:
    """Without the dots that some client or store might follow, also if they are escaped."""
    segments = tuple(path.rstrip("/").split("/")[1:])
    if "" in segments:
        raise _invalid(location, "it has an empty segment")
    if any(not {".", ".."}.isdisjoint(unquote(segment).split("/")) for segment in segments):
        raise _invalid(location, "it has a segment `.` or `..`")
    return segments


def _invalid(location: str, why: str) -> BadRequest:
    return BadRequest(
        f"Invalid location: {location[:200]!a}",
        why=why,
        fix="Use an absolute path or a URI such as s3://bucket/path",
    )
