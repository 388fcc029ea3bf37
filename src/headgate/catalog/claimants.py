"""Who holds a location, as the index of locations says it, and who may take it all the same.

A location is held by a table or view; by the schema whose dropped table left its files there; or by
a table that was staged, until its creator commits it or its time is over.
"""

import hashlib
from typing import NamedTuple

from headgate.catalog.naming import id_bytes

NOBODY = 0
_ID_BYTES = 8
_MS_BYTES = 8
_PRINCIPAL_BYTES = 16
_LEFT, _STAGED = b"l", b"s"


class Claimant(NamedTuple):
    """Who wants a location, and what is not in its way."""

    id: int = NOBODY
    """The table or view: it is never in its own way."""
    schema: int = NOBODY
    """The namespace that it is in: what dropped tables of this one left is not in its way."""
    is_free: bool = False
    """Whether it may take what tables of other schemas left: who owns the catalog may."""
    principal: str | None = None
    """Whose staged tables are not in its way: who repeats a request gets the same place again."""
    now_ms: int = 0
    """Staged tables whose time is over by now are in nobody's way."""


ANYBODY = Claimant()
"""In whose way is whatever is held."""


class Staged(NamedTuple):
    """A location that is held for a table that was staged."""

    id: int
    until_ms: int
    by: bytes
    """The digest of who staged it."""


def owned(id: int) -> bytes:
    """The value of a location that a table or view has."""
    return id_bytes(id)


def left(schema: int) -> bytes:
    """The value of a location where a dropped table of this namespace left its files."""
    return id_bytes(schema) + _LEFT


def staged(id: int, until_ms: int, by: bytes) -> bytes:
    """The value of a location that is held for a staged table of the principal with this digest."""
    return id_bytes(id) + _STAGED + until_ms.to_bytes(_MS_BYTES, "big") + by


def holder_of(value: bytes) -> int:
    """The table or view that has a location; NOBODY if none has."""
    return int.from_bytes(value, "big") if len(value) == _ID_BYTES else NOBODY


def is_left(value: bytes) -> bool:
    """Whether files of a dropped table were left at a location."""
    return value[_ID_BYTES:] == _LEFT


def staged_at(value: bytes) -> Staged | None:
    """For which staged table a location is held; None if for none."""
    if value[_ID_BYTES : _ID_BYTES + 1] != _STAGED:
        return None
    rest = value[_ID_BYTES + 1 :]
    until_ms = int.from_bytes(rest[:_MS_BYTES], "big")
    return Staged(int.from_bytes(value[:_ID_BYTES], "big"), until_ms, rest[_MS_BYTES:])


def is_in_the_way(value: bytes, claimant: Claimant) -> bool:
    """Whether what holds a location keeps this claimant out of it."""
    if is_left(value):
        return not claimant.is_free and value != left(claimant.schema)
    waiting = staged_at(value)
    if waiting is None:
        return value != owned(claimant.id)
    return waiting.until_ms > claimant.now_ms and not _is_by(waiting, claimant)


def is_staged_by(value: bytes, claimant: Claimant) -> bool:
    """Whether a location is held for a table that this claimant's principal staged."""
    waiting = staged_at(value)
    return waiting is not None and waiting.until_ms > claimant.now_ms and _is_by(waiting, claimant)


def _is_by(waiting: Staged, claimant: Claimant) -> bool:
    return claimant.principal is not None and waiting.by == digest(claimant.principal)


def digest(principal: str) -> bytes:
    """A principal as the index has it: names have any length."""
    return hashlib.blake2b(principal.encode(), digest_size=_PRINCIPAL_BYTES).digest()
