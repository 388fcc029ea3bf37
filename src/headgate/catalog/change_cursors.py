"""Cursors of the change log: for each pointer how far it was read, in one text.

A text comes back from a client, so what it says is never trusted further than its reader may see.
"""

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec

from headgate.catalog.openings import head_pointer
from headgate.errors import BadName, BadRequest
from headgate.kernel.records import EMPTY, PointerKey
from headgate.kernel.system import SYSTEM_REALM, check_pointer_name, check_realm_id
from headgate.limits import CURSOR_BYTES_MAX

FORMAT = b"1"
OLDEST = 1  # an id that no commit has
"""The position before whatever is the oldest that is kept."""


class Position(NamedTuple):
    """How far a pointer was read."""

    after: int = EMPTY
    """The last commit that was read whole; EMPTY is before the first, OLDEST before any."""
    within: int = EMPTY
    """The commit that was read in part, if there is one."""
    given: int = 0
    """How many of its records."""
    ends: bool = False
    """The pointer takes no more commits than it has."""


class Extent(NamedTuple):
    """Whose changes are read."""

    realm: str = ""
    """The id of one metalake; empty for all."""
    realms: frozenset[str] | None = None
    """If all are read, the ids of those that may be; None if there is no other."""

    def has(self, realm: str) -> bool:
        """Whether changes of this realm are read."""
        if self.realm:
            return realm == self.realm
        return self.realms is None or realm in self.realms


ALL = Extent()


class Cursor(NamedTuple):
    """How far all pointers were read."""

    realm: str
    """The id of the metalake whose changes are read; empty for all."""
    positions: Mapping[PointerKey, Position]


_Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Pointer = tuple[str | _Number, _Number, _Number, _Number, bool]


class _Stored(msgspec.Struct, array_like=True):
    realm: str
    positions: list[tuple[str, list[_Pointer]]]


_decoder = msgspec.msgpack.Decoder(_Stored)
_PREFIX, _SUFFIX = head_pointer(0).split("0")


def encode_cursor(cursor: Cursor) -> str:
    """A cursor as clients keep it."""
    realms: dict[str, list[_Pointer]] = {}
    for (realm, name), position in cursor.positions.items():
        realms.setdefault(realm, []).append((_short(name), *position))
    stored = msgspec.msgpack.encode(_Stored(cursor.realm, list(realms.items())))
    return base64.urlsafe_b64encode(FORMAT + zlib.compress(stored, level=1)).decode().rstrip("=")


def decode_cursor(text: str) -> Cursor:
    """What a client sent back; `BadRequest` if it never was given out."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        if data[:1] != FORMAT:
            raise ValueError
        inflater = zlib.decompressobj()
        stored = _decoder.decode(inflater.decompress(data[1:], CURSOR_BYTES_MAX))
        return Cursor(stored.realm, dict(_positions(stored)))
    except (binascii.Error, ValueError, zlib.error, msgspec.MsgspecError, BadName):
        raise BadRequest(
            "Cannot read the changes",
            why="`since` is no cursor that was given out here",
            fix="Send `next` of an earlier answer, `oldest`, or `now`",
        ) from None


def _positions(stored: _Stored) -> Iterator[tuple[PointerKey, Position]]:
    for realm, pointers in stored.positions:
        if realm != SYSTEM_REALM:
            check_realm_id(realm)
        for name, *position in pointers:
            if isinstance(name, str):
                check_pointer_name(name)
            yield PointerKey(realm, _long(name)), Position._make(position)


def _long(name: str | int) -> str:
    return name if isinstance(name, str) else head_pointer(name)


def _short(name: str) -> str | int:
    """Most pointers are the heads of catalogs: their ids say it all."""
    if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
        return name
    middle = name[len(_PREFIX) : -len(_SUFFIX)]
    return int(middle) if middle.isdigit() else name
