"""Cursors of the change log as text."""

import base64
import zlib

import msgspec
import pytest

from headgate.catalog.change_cursors import (
    FORMAT,
    OLDEST,
    Cursor,
    Position,
    decode_cursor,
    encode_cursor,
)
from headgate.catalog.openings import head_pointer
from headgate.errors import BadRequest
from headgate.kernel.records import PointerKey
from headgate.limits import CURSOR_BYTES_MAX


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_a_cursor_is_what_it_was_before_it_was_text() -> None:
    """Pointers of all kinds, positions of all kinds."""
    cursor = Cursor(
        "17",
        {
            PointerKey("17", "catalogs"): Position(1 << 62),
            PointerKey("17", head_pointer(1 << 60)): Position(5, 6, 7, ends=True),
            PointerKey("17", "cat/x/heads/main"): Position(OLDEST),
            PointerKey("::system::", "realms"): Position(),
        },
    )

    assert decode_cursor(encode_cursor(cursor)) == cursor


def test_a_cursor_can_be_part_of_an_address() -> None:
    """Nothing in it has to be escaped."""
    cursor = Cursor("", {PointerKey("r", head_pointer(id)): Position(id) for id in range(200)})

    assert encode_cursor(cursor).replace("-", "").replace("_", "").isalnum()


def packed(*pointers: list[object], realm: str = "r") -> str:
    stored = msgspec.msgpack.encode(["", [[realm, pointers]]])
    return text_of(FORMAT + zlib.compress(stored))


@pytest.mark.parametrize(
    "text",
    [
        "17",
        "näh",
        "!!!!",
        text_of(FORMAT),
        text_of(FORMAT + b"no zlib"),
        text_of(b"0" + zlib.compress(msgspec.msgpack.encode(["", []]))),
        text_of(FORMAT + zlib.compress(b"no msgpack")),
        text_of(FORMAT + zlib.compress(bytes(CURSOR_BYTES_MAX * 20))),
        packed([[], 1, 1, 1, True]),
        packed([-1, 1, 0, 0, False]),
        packed([1, 1, 0, -1, False]),
        packed([1, 1 << 63, 0, 0, False]),
        packed(["a\0b", 1, 0, 0, False]),
        packed(["catalogs", 1, 0, 0, False], realm="a\0b"),
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """With what to send instead; a small text that unpacks to a large one is not unpacked."""
    with pytest.raises(BadRequest, match="no cursor that was given out here"):
        decode_cursor(text)
