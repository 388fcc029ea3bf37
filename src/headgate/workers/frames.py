"""What the server and its workers say to each other: framed bytes over a pair of pipes.

A request is a list of parts. An answer is any number of items, and then one end or one failure.
"""

import struct
from collections.abc import Sequence
from typing import IO, BinaryIO

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
    """The next request; None when the server closed the pipe, or is gone, even in the middle."""
    parts = []
    try:
        for _ in range(PARTS.unpack(_exactly(pipe, PARTS.size))[0]):
            size = PART.unpack(_exactly(pipe, PART.size))[0]
            parts.append(_exactly(pipe, size))
    except EOFError:
        return None
    return parts


def write_request(pipe: IO[bytes], parts: Sequence[bytes]) -> None:
    """Ask for a job: its name and its arguments."""
    pipe.write(PARTS.pack(len(parts)))
    for part in parts:
        pipe.write(PART.pack(len(part)))
        pipe.write(part)
    pipe.flush()


def read_answer(pipe: IO[bytes]) -> tuple[bytes, bytes]:
    """An item, or how it ended; EOFError if the worker is gone."""
    kind, size = ANSWER.unpack(_exactly(pipe, ANSWER.size))
    return kind, _exactly(pipe, size)


def write_answer(pipe: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """One item, or how it ended."""
    pipe.write(ANSWER.pack(kind, len(payload)))
    pipe.write(payload)
    pipe.flush()


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
