"""What the server and its workers say to each other: framed bytes over a pair of pipes.

A request is a list of parts. An answer is any number of items, and then one end or one failure.
"""

import struct
from typing import BinaryIO

import msgspec

PARTS = struct.Struct(">I")
PART = struct.Struct(">Q")
ANSWER = struct.Struct(">cQ")

ITEM = b"i"
END = b"e"
FAILED = b"f"


class Failure(msgspec.Struct, frozen=True):
    """Why a job ended without an answer."""

    error: str
    """The name of a class of the error tree; anything else is a mistake of ours."""
    what: str
    why: str = ""
    fix: str = ""


def read_request(pipe: BinaryIO) -> list[bytes] | None:
    """The next request; None when the server closed the pipe, or is gone."""
    header = pipe.read(PARTS.size)
    if len(header) < PARTS.size:
        return None
    parts = []
    for _ in range(PARTS.unpack(header)[0]):
        size = PART.unpack(pipe.read(PART.size))[0]
        parts.append(pipe.read(size))
    return parts


def write_answer(pipe: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """One item, or how it ended."""
    pipe.write(ANSWER.pack(kind, len(payload)))
    pipe.write(payload)
    pipe.flush()
