"""Pieces of a realm: what can be read by itself, by anybody who was told of it. All pure."""

import base64
import binascii

import msgspec

from headgate.errors import BadRequest


class Piece(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A range of an index, as a head has it; without an index, what the head itself says."""

    pointer: str
    head: int
    index: str = ""
    low: bytes = b""
    high: bytes | None = None


def token_of(piece: Piece) -> str:
    """A piece in one word, which says all that is needed to read it."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(piece)).decode().rstrip("=")


def piece_of(token: str) -> Piece:
    """The piece that a word is for."""
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
        return msgspec.msgpack.decode(data, type=Piece)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequest(
            f"Invalid piece of a metalake: {token[:80]}",
            why="no outline of an export has it",
            fix="Send one of `pieces`, or `rest` of the answer before",
        ) from None
