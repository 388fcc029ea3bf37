"""Where a location points to: the store, and the path in it, as clients mean them.

Clients take locations literally: `%20` and `+` are not decoded, as in Iceberg's own file access.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from headgate.errors import BadRequest

Kind = Literal["file", "s3", "gcs", "azure"]

KINDS: dict[str, Kind] = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "abfs": "azure",
    "abfss": "azure",
    "wasb": "azure",
    "wasbs": "azure",
}
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
PLACES_KNOWN_MAX = 16_384  # the same files are asked for again and again
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
AZURE = re.compile(r"([A-Za-z0-9$-]{1,63})@([a-z0-9]{3,24})\.(?:dfs|blob)\.[A-Za-z0-9.-]+")


class Place(NamedTuple):
    """A parsed location. `root` + `path` is the location, in the form it was written in."""

    kind: Kind
    root: str  # `s3://bucket/`; `/`, `file:/` or `file:///` for local files
    bucket: str  # the container in Azure, empty for local files
    account: str  # only in Azure
    path: str  # without a slash at its beginning and end; empty for the store itself

    @property
    def store(self) -> tuple[str, str, str]:
        """What tells one store from another."""
        return (self.kind, self.bucket, self.account)

    def location(self, path: str) -> str:
        """Where another path of the same store lies."""
        return self.root + path


@lru_cache(PLACES_KNOWN_MAX)
def parse(location: str) -> Place:
    """The place that a client means. Paths with `.`, `..` or empty parts are refused."""
    if CONTROL.search(location):
        raise _bad(location, "it has a control character")
    if location.startswith("/"):
        return Place("file", "/", "", "", _path(location, location, drop_empty=True))
    match = SCHEME.fullmatch(location)
    kind = KINDS.get(match[1].lower()) if match else None
    if not match or not kind:
        raise _bad(location, "its scheme is not one of " + ", ".join(KINDS))
    if kind == "file":
        return _local(location, match[2])
    authority, _, path = match[2].removeprefix("//").partition("/")
    if not match[2].startswith("//"):
        raise _bad(location, "the name of its bucket is missing")
    root = f"{match[1]}://{authority}/"
    bucket, account = _store(location, kind, authority)
    return Place(kind, root, bucket, account, _path(location, path, drop_empty=False))


def within(location: str, prefix: str) -> bool:
    """Whether the location is the prefix or lies below it, by whole segments."""
    return place_within(parse(location), parse(prefix))


def place_within(here: Place, above: Place) -> bool:
    """The same of places; how they were written does not matter."""
    return here.store == above.store and path_within(here.path, above.path)


def path_within(path: str, prefix: str) -> bool:
    """`a/b` and `a` are within `a`; `ab` is not. Everything is within the empty path."""
    return not prefix or path == prefix or path.startswith(prefix + "/")


def _local(location: str, rest: str) -> Place:
    root = "file:///" if rest.startswith("//") else "file:/"
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in {"", "localhost"} or not slash:
            raise _bad(location, "a file lies on this machine: write file:/path or file:///path")
        rest = "/" + path
    if not rest.startswith("/"):
        raise _bad(location, "its path is not absolute")
    return Place("file", root, "", "", _path(location, rest, drop_empty=True))


def _store(location: str, kind: Kind, authority: str) -> tuple[str, str]:
    if kind == "azure":
        match = AZURE.fullmatch(authority)
        if not match:
            raise _bad(location, "write abfss://container@account.dfs.core.windows.net/path")
        return match[1], match[2]
    if not BUCKET.fullmatch(authority):
        raise _bad(location, "the name of its bucket is not a valid one")
    return authority, ""


def _path(location: str, path: str, *, drop_empty: bool) -> str:
    """File systems ignore empty parts; in an object store they are part of a name that we, like
    most clients, cannot reach, so there they are refused."""
    parts = path.strip("/").split("/")
    if drop_empty:
        parts = [part for part in parts if part]
    elif path.startswith("/") or ("" in parts and len(parts) > 1):
        raise _bad(location, "it has an empty part between two slashes")
    if any(part in {".", ".."} for part in parts):
        raise _bad(location, "`.` and `..` are not allowed in it")
    return "/".join(parts)


def _bad(location: str, why: str) -> BadRequest:
    return BadRequest(f"Invalid location: {location!r}", why=why)
