"""Whole rows of an Avro file, read by pyiceberg after it is certain where they end.

pyiceberg's decoder would follow a length out of its data, and tell whatever lies there; and it
makes as many objects as a count says. So each block is walked over first, with the very steps that
pyiceberg's readers are about to take.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from pyiceberg.avro import reader as readers
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.resolver import EnumReader

from headgate.errors import Unsupported
from headgate.limits import AVRO_ROW_BYTES_MAX
from headgate.planning.avro_blocks import Block, Blocks, too_large
from headgate.planning.avro_steps import (
    BYTES,
    NUMBER,
    OTHER,
    ROOM,
    Step,
    array,
    fixed,
    read_int,
    record,
    skip_bytes,
    skip_nothing,
    union,
)

Row = TypeVar("Row")
UUID_BYTES = 16


class WholeReader(Generic[Row]):
    """Reads rows of one schema with a reader of pyiceberg."""

    def __init__(self, reader: readers.Reader) -> None:
        self._reader = reader
        self._step = _steps_of(reader)

    def rows(self, blocks: Blocks) -> Iterator[Row]:
        """All rows of a file."""
        for block in blocks:
            self._check(block)
            decoder = new_decoder(block.data)
            for _ in range(block.rows):
                yield self._reader.read(decoder)

    def _check(self, block: Block) -> None:
        """Walk over a block: none of its rows may leave it, or be too large."""
        data, step = block.data, self._step
        decoder, end = new_decoder(data + ROOM), len(data)
        began = 0
        for _ in range(block.rows):
            step(decoder, data)
            at = decoder.tell()
            if at > end:
                raise EOFError("a row has no end")
            if at - began > AVRO_ROW_BYTES_MAX:
                raise too_large(f"a row of it has {at - began:,} bytes")
            began = at
        if began != end:
            raise ValueError("a block has more or less in it than its schema says")


def _steps_of(reader: readers.Reader) -> Step:
    """The steps of a reader when it reads."""
    if isinstance(reader, readers.StructReader):
        fields = reader.field_readers
        return record([_steps_of(one) if at is not None else _skips_of(one) for at, one in fields])
    if isinstance(reader, EnumReader):
        return _steps_of(reader.reader)
    if isinstance(reader, readers.DecimalReader):
        return fixed(reader._length)  # noqa: SLF001  what it reads, whatever the schema says
    return _inner_steps_of(reader, is_read=True)


def _skips_of(reader: readers.Reader) -> Step:
    """The steps of a reader when it skips: pyiceberg's are not all the same then."""
    if isinstance(reader, readers.StructReader):
        return record([_skips_of(one) for _, one in reader.field_readers])
    if isinstance(reader, EnumReader):
        return skip_nothing
    if isinstance(reader, readers.DecimalReader):
        return skip_bytes
    return _inner_steps_of(reader, is_read=False)


def _inner_steps_of(reader: readers.Reader, *, is_read: bool) -> Step:
    inner = _steps_of if is_read else _skips_of
    if isinstance(reader, readers.OptionReader):
        return _optional(inner(reader.option))
    if isinstance(reader, readers.ListReader):
        return array(inner(reader.element), _shape(reader.element))
    if isinstance(reader, readers.MapReader):
        shape = _shape(reader.key) + _shape(reader.value)
        return array(record([inner(reader.key), inner(reader.value)]), shape)
    if isinstance(reader, readers.FixedReader):
        return fixed(len(reader))
    for kinds, step in SIMPLE:
        if isinstance(reader, kinds):
            return step
    raise Unsupported(f"Values of Avro cannot be read with {type(reader).__name__}")


def _optional(step: Step) -> Step:
    """A value or none. Readers take any number above zero for a value: only these two are good."""
    return union({1: step}, 0)


def _shape(reader: readers.Reader) -> str:
    if isinstance(reader, readers.IntegerReader):
        return NUMBER
    return BYTES if isinstance(reader, readers.StringReader | readers.BinaryReader) else OTHER


SIMPLE: list[tuple[Any, Step]] = [
    (readers.IntegerReader, read_int),
    (readers.StringReader | readers.BinaryReader, skip_bytes),
    (readers.BooleanReader, fixed(1)),
    (readers.FloatReader, fixed(4)),
    (readers.DoubleReader, fixed(8)),
    (readers.UUIDReader, fixed(UUID_BYTES)),
    (readers.NoneReader | readers.DefaultReader | readers.UnknownReader, skip_nothing),
]
