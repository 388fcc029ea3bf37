"""Where a location points to: the store, and the path in it, as clients mean them.

Clients take locations literally: `%20` and `+` are not decoded, as in Iceberg's own file access.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from headgate.errors import InvalidInput
from headgate.limits import LOCATIONS_KNOWN_MAX
from headgate.model.locations import place_of

Kind = Literal["file", "s3", "gcs", "azure"]

KINDS: dict[str, Kind] = {"file": "file", "s3": "s3", "gs": "gcs", "abfss": "azure"}


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


@lru_cache(LOCATIONS_KNOWN_MAX)
def parse(location: str) -> Place:
    """The place that a client means. The catalog has compared the same; here it is opened, so
    buckets are written as the client wrote them."""
    meant = place_of(location)
    path = "/".join(meant.segments)
    if meant.scheme == "file":
        return Place("file", _local_root(location), "", "", path)
    scheme, _, rest = location.partition("://")
    authority = rest.partition("/")[0]
    bucket = authority.partition("@")[0]
    account = meant.authority.partition("@")[2].partition(".")[0]
    return Place(KINDS[meant.scheme], f"{scheme}://{authority}/", bucket, account, path)


class RootPlaces:
    """Places below which something is allowed: a question costs the depth of a place, however many
    there are."""

    def __init__(self, roots: Iterable[Place]) -> None:
        self._paths: dict[tuple[str, str, str], set[str]] = {}
        for root in roots:
            self._paths.setdefault(root.store, set()).add(root.path)

    def hold(self, place: Place) -> bool:
        """Whether a place is one of them or lies below one."""
        paths, path = self._paths.get(place.store, set()), place.path
        while path and path not in paths:
            path = path.rpartition("/")[0]
        return path in paths


def is_location(text: str) -> bool:
    """Whether it can be opened. Stores have names that some client could take for other ones."""
    try:
        parse(text)
    except InvalidInput:
        return False
    return True


def place_within(here: Place, above: Place) -> bool:
    """Whether a place is the other or lies below it, however both were written."""
    return here.store == above.store and path_within(here.path, above.path)


def path_within(path: str, prefix: str) -> bool:
    """`a/b` and `a` are within `a`; `ab` is not. Everything is within the empty path."""
    return not prefix or path == prefix or path.startswith(prefix + "/")


def _local_root(location: str) -> str:
    if location.startswith("/"):
        return "/"
    return "file:///" if location[len("file:") :].startswith("//") else "file:/"
