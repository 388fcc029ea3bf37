"""Steps over the values of an Avro block, which never leave it.

pyiceberg's decoder does not look where its data end: it would read on in memory that is not its
own, or end the process. So each step that could lead it far away knows the end, and behind the end
is room for the others. Each step takes at least as many bytes as it takes turns: no count, however
large, costs more than the block that it stands in.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

from headgate.limits import AVRO_PATH_BYTES_MAX

Step = Callable[[BinaryDecoder, bytes], Any]
"""Moves a decoder over a value, and may return it. The bytes are the block that it lies in."""

NUMBERS_MAX = 1_000  # that are read at once
ROOM = bytes(NUMBERS_MAX + 3_000)  # zeros are numbers of one byte each

Decoder = type(new_decoder(b""))  # pyiceberg's in C, or in Python where that is not built
decode_int, jump = Decoder.read_int, Decoder.skip

NUMBER, BYTES, OTHER = "nb?"
"""Letters for the parts of an array's items."""


def read_int(decoder: BinaryDecoder, _block: bytes) -> int:
    """A whole number."""
    return decode_int(decoder)


def read_text(decoder: BinaryDecoder, block: bytes) -> str:
    """A text, which is a path or a name."""
    size = decode_int(decoder)
    if size > AVRO_PATH_BYTES_MAX:
        raise ValueError(f"{size} bytes are too many for a path")
    return read_exactly(decoder, size, block).decode()


def skip_bytes(decoder: BinaryDecoder, block: bytes) -> None:
    """Jump over bytes or a text."""
    _jump(decode_int(decoder), decoder, block)


def skip_nothing(_decoder: BinaryDecoder, _block: bytes) -> None:
    """Stay where it is."""


def fixed(size: int) -> Step:
    """The step over so many bytes."""
    return partial(_jump, size)


def read_exactly(decoder: BinaryDecoder, size: int, block: bytes) -> bytes:
    """So many bytes."""
    _check_there(size, decoder, block)
    return decoder.read(size)


def record(steps: list[Step]) -> Step:
    """One step after the other."""

    def step(decoder: BinaryDecoder, block: bytes) -> None:
        for one in steps:
            one(decoder, block)

    return step


def union(steps: dict[int, Step], null: int | None) -> Step:
    """The step of one of several types, by its number."""

    def step(decoder: BinaryDecoder, block: bytes) -> object:
        branch = decode_int(decoder)
        return None if branch == null else steps[branch](decoder, block)

    return step


def array(item: Step, shape: str) -> Step:
    """The steps over all items. Those of numbers, or of a number and bytes, as statistics of
    columns are, take less time."""
    numbers = len(shape) if not shape.strip(NUMBER) else 0

    def skip(count: int, decoder: BinaryDecoder, block: bytes) -> None:
        if numbers and count * numbers <= NUMBERS_MAX:
            decoder.read_ints(count * numbers)
        elif shape == NUMBER + BYTES:
            _skip_pairs(count, decoder, block)
        else:
            _skip_each(item, count, decoder, block)

    def step(decoder: BinaryDecoder, block: bytes) -> None:
        while count := decode_int(decoder):
            if count > 0:
                skip(count, decoder, block)
            else:  # their size comes first, and other readers do not look at it
                size = decode_int(decoder)
                began = decoder.tell()
                skip(-count, decoder, block)
                if decoder.tell() - began != size:
                    raise ValueError("items of an array take other room than it says")
            if decoder.tell() > len(block):
                raise EOFError("an array has no end")

    return step


def _jump(size: int, decoder: BinaryDecoder, block: bytes) -> None:
    _check_there(size, decoder, block)
    jump(decoder, size)


def _check_there(size: int, decoder: BinaryDecoder, block: bytes) -> None:
    if not 0 <= size <= len(block) - decoder.tell():
        raise EOFError(f"{size} bytes are not there")


def _skip_each(item: Step, count: int, decoder: BinaryDecoder, block: bytes) -> None:
    began = decoder.tell()
    for _ in range(count):
        item(decoder, block)
        if not began < decoder.tell() <= len(block):
            break
    if decoder.tell() == began:  # then a count of any size would take nothing but time
        raise ValueError("items of an array take no room")


def _skip_pairs(count: int, decoder: BinaryDecoder, block: bytes) -> None:
    read, tell, skip, end = decoder.read_ints, decoder.tell, decoder.skip, len(block)
    for _ in range(count):  # there are many of them
        size = read(2)[1]
        if not 0 <= size <= end - tell():
            raise EOFError(f"{size} bytes are not there")
        skip(size)
