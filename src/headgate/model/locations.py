"""Locations of tables, views and files: what may be one, and which lie in each other.

Metadata keeps a location as its client wrote it (`file:/tmp/ns/tbl`). The forms made here are for
comparing only: two spellings of one place are one text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from headgate.errors import BadRequest, Forbidden
from headgate.limits import (
    FILE_LOCATION_BYTES_MAX,
    LOCATION_BYTES_MAX,
    LOCATION_KNOWN_CHARS_MAX,
    LOCATIONS_KNOWN_MAX,
)

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
_BUCKET = re.compile("[a-z0-9]([a-z0-9._-]{0,253}[a-z0-9])?")
_CONTAINER = re.compile(r"[a-z0-9$-]{1,63}@[a-z0-9]{3,24}\.(dfs|blob)(\.[a-z0-9-]+)+")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSUITED = re.compile("[?#]")  # where some clients end a path
_TERMINATOR = b"\x00"  # ends each part of a key, and is in none


class Place(NamedTuple):
    """A location in parts, as it is compared."""

    scheme: str
    authority: str  # bucket, or container@host in Azure; empty for files
    segments: tuple[str, ...]

    def __str__(self) -> str:
        path = "".join(f"/{segment}" for segment in self.segments)
        return f"{self.scheme}://{self.authority}{path}" if path or self.authority else "file:///"

    def holds(self, other: "Place") -> bool:
        """Whole segments are compared: `/a/b` does not hold `/a/bc`."""
        scheme, authority, segments = self
        return (scheme, authority) == other[:2] and segments == other.segments[: len(segments)]


@lru_cache(LOCATIONS_KNOWN_MAX)
def normalize(location: str) -> str:
    """The one spelling of the location of a table or view that is compared with others."""
    return str(_chosen_place(location))


def scheme_of(location: str) -> str:
    """The kind of store: `file`, `s3`, `gs` or `abfss`."""
    return place_of(location).scheme


def is_within(location: str, prefix: str) -> bool:
    """True if the location is the prefix or lies below it."""
    return place_of(prefix).holds(place_of(location))


def overlaps(one: str, other: str) -> bool:
    """True if one of the two lies within the other."""
    place, another = place_of(one), place_of(other)
    return place.holds(another) or another.holds(place)


def ancestors(location: str) -> list[str]:
    """All that the location lies in, without itself, the store's root first."""
    place = place_of(location)
    return [
        str(place._replace(segments=place.segments[:depth])) for depth in range(len(place.segments))
    ]


def index_key(location: str) -> bytes:
    """A key for an ordered index, in which a location is followed by all that lie below it."""
    place = place_of(location)
    parts = (place.scheme, place.authority, *place.segments)
    return b"".join(part.encode() + _TERMINATOR for part in parts)


def indexed(key: bytes) -> str:
    """The location that has this key."""
    scheme, authority, *segments = key.removesuffix(_TERMINATOR).decode().split("\0")
    return str(Place(scheme, authority, tuple(segments)))


def index_range(location: str) -> tuple[bytes, bytes]:
    """From where, and until before where, the keys of a location and all below it are."""
    key = index_key(location)
    return key, key[: -len(_TERMINATOR)] + b"\x01"


def check_allowed(location: str, allowed: Sequence[str], allowing: Callable[[], str] = str) -> None:
    """A location lies within one of those that a catalog may use; `allowing` names the command
    that would let it, or is empty."""
    place = _chosen_place(location)
    if not any(place_of(prefix).holds(place) for prefix in allowed):
        command = allowing()
        choice = f", or allow this one with {command}" if command else ""
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


@lru_cache(LOCATIONS_KNOWN_MAX)
def _chosen_place(location: str) -> Place:
    """The place of what a client chose for a table. It has to suit all clients, so more is refused
    than in the names of files, which are there already and are taken literally."""
    place = place_of(location)
    _check_length(location, LOCATION_BYTES_MAX)
    if found := _UNSUITED.search(location):
        raise _invalid(location, f"it contains {found[0]!a}")
    form = _FORM.fullmatch(location)
    if form and "//" in form[3].rstrip("/"):
        raise _invalid(location, "it has an empty segment")
    return place


def place_of(location: str) -> Place:
    """The place that a location means; BadRequest if it could mean another one, or none."""
    return (_known_place if len(location) <= LOCATION_KNOWN_CHARS_MAX else _place)(location)


def _place(location: str) -> Place:
    _check_length(location, FILE_LOCATION_BYTES_MAX)
    if found := _FORBIDDEN.search(location):
        raise _invalid(location, f"it contains {found[0]!a}")
    form = _FORM.fullmatch(location)
    if not form or not (form[2] or form[3]):
        raise _invalid(location, "it is neither a path nor a URI with a path")
    scheme = (form[1] or "file").lower()
    if scheme not in _STORES:
        raise _invalid(location, f"the scheme {scheme!r} is not supported")
    store = _STORES[scheme]
    if store == "file" and not form[3]:
        raise _invalid(location, "it has no path")
    authority = _authority(location, store, form[2] or "")
    return Place(store, authority, _segments(location, form[3], is_file=store == "file"))


_known_place = lru_cache(LOCATIONS_KNOWN_MAX)(_place)


def _check_length(location: str, bytes_max: int) -> None:
    if len(location.encode(errors="replace")) > bytes_max:
        raise _invalid(location, f"it is longer than {bytes_max} bytes")


def _authority(location: str, store: str, authority: str) -> str:
    if store == "file":
        if authority not in {"", "localhost"}:
            raise _invalid(location, f"a file has no host, and this names {authority!r}")
        return ""
    bucket = authority.lower()
    if not bucket:
        raise _invalid(location, "it names no bucket")
    if store != "abfss":
        if not _BUCKET.fullmatch(bucket):
            raise _invalid(location, "its bucket is not a name")
        return bucket
    if not _CONTAINER.fullmatch(bucket):
        raise _invalid(location, "it is not abfss://container@account.dfs.core.windows.net/path")
    return bucket.replace(".blob.", ".dfs.", 1)


def _segments(location: str, path: str, *, is_file: bool) -> tuple[str, ...]:
    """Without the dots that some client or store might follow, also if they are escaped.

    File systems ignore empty segments, and clients write some to files of a table; in an object
    store they are part of a name that most clients cannot reach.
    """
    segments = tuple(path.rstrip("/").split("/")[1:])
    if is_file:
        segments = tuple(segment for segment in segments if segment)
    elif "" in segments:
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
