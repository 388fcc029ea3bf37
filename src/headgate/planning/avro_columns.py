"""Some columns of an Avro file, and nothing else.

A walk over all files of a table needs a path and a size of each entry, and most of an entry is
statistics. So what a schema says is turned into a list of steps once, and these jump over the rest.

A file that is cut, or that has more in a block than its schema says, is an error and no shorter
file. pyiceberg's decoder does not look where its data end: it would read on in memory that is not
its own, or end the process. So each step that could lead it far away knows the end, and behind the
end is room for the others.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

from headgate.errors import Unsupported
from headgate.limits import MANIFEST_SCHEMAS_KNOWN_MAX, WALK_BATCH_PATHS

Step = Callable[[BinaryDecoder, int], Any]
"""Moves a decoder over a value, and may return it. The number is where the data end."""
Type = Any
"""A type of a schema: its name, an object, or a list of those in a union."""
Columns = list[list[Any]]

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
BLOCK_BYTES_MIN = 2 + SYNC_BYTES
NUMBERS_MAX = 1_000  # that are read at once
ROOM = bytes(NUMBERS_MAX + 3_000)  # zeros are numbers of one byte each

Decoder = type(new_decoder(b""))  # pyiceberg's in C, or in Python where that is not built
decode_int, jump = Decoder.read_int, Decoder.skip

NUMBER, BYTES, OTHER = "nb?"
LETTERS = {"int": NUMBER, "long": NUMBER, "bytes": BYTES, "string": BYTES}


def columns(data: bytes, *fields: int) -> Iterator[Columns]:
    """The columns of these ids, some rows at a time. The first one has to be there; None stands for
    values of others that are not. A file that cannot be read is an error of some kind."""
    decoder, end = new_decoder(data), len(data)
    header, sync = _header(decoder, end)
    name = header.get("avro.codec", b"null").decode()
    if name not in KNOWN_CODECS:
        raise Unsupported(f"Avro's codec {name[:40]!r} is not known")
    codec = KNOWN_CODECS[name]
    row = _row(header["avro.schema"], fields)
    rows = Rows(row, fields)
    while decoder.tell() < end:
        if end - decoder.tell() < BLOCK_BYTES_MIN:
            raise EOFError("it ends in the middle of a block")
        count, size = decoder.read_int(), decoder.read_int()
        block = _read(decoder, size, end)
        if codec is not None:
            block = codec.decompress(block)
        rows.read(new_decoder(block + ROOM), count, len(block))
        if _read(decoder, SYNC_BYTES, end) != sync:
            raise ValueError("a block does not end where it should")
        if len(rows.columns[0]) >= WALK_BATCH_PATHS:
            yield rows.columns
            rows = Rows(row, fields)
    if rows.columns[0]:
        yield rows.columns


class Wanted(NamedTuple):
    """How to come to a value, and to read it."""

    skips: tuple[Step, ...]
    read: Step
    column: int


class Row(NamedTuple):
    """How to move over a row."""

    wanted: tuple[Wanted, ...]
    rest: tuple[Step, ...]
    absent: tuple[int, ...]
    """Columns that the file does not have."""


class Rows:
    """Rows that were read so far."""

    def __init__(self, row: Row, fields: tuple[int, ...]) -> None:
        self.columns: Columns = [[] for _ in fields]
        self._row = row
        self._wanted = [
            (skips, read, self.columns[column].append) for skips, read, column in row.wanted
        ]

    def read(self, decoder: BinaryDecoder, count: int, end: int) -> None:
        """Take in a block."""
        wanted, rest = self._wanted, self._row.rest
        for _ in range(count):
            for skips, read, add in wanted:
                for skip in skips:
                    skip(decoder, end)
                add(read(decoder, end))
            for skip in rest:
                skip(decoder, end)
            if decoder.tell() > end:
                break
        if decoder.tell() != end:
            raise ValueError("a block has more or less in it than its schema says")
        for column in self._row.absent:
            self.columns[column] += [None] * count


@lru_cache(MANIFEST_SCHEMAS_KNOWN_MAX)
def _row(schema: bytes, fields: tuple[int, ...]) -> Row:
    """Worked out once: files of one table have one schema."""
    return Schema(fields).row(json.loads(schema))


class Schema:
    """Turns types into steps. Those that have a name are known by it later on."""

    def __init__(self, fields: tuple[int, ...]) -> None:
        self._fields = fields
        self._named: dict[str, Step] = {}

    def row(self, schema: Type) -> Row:
        """The steps over a record and all records in it."""
        wanted: list[Wanted] = []
        skips: list[Step] = []
        for id, part in _flat(schema):
            if id in self._fields:
                wanted.append(Wanted(tuple(skips), self._read(part), self._fields.index(id)))
                skips = []
            else:
                skips.append(self.skip(part))
        found = {one.column for one in wanted}
        if 0 not in found:
            raise ValueError(f"it has no field {self._fields[0]}")
        absent = (column for column in range(len(self._fields)) if column not in found)
        return Row(tuple(wanted), tuple(skips), tuple(absent))

    def _read(self, schema: Type) -> Step:
        if isinstance(schema, list):
            return _union(schema, self._read)
        return READS[schema if isinstance(schema, str) else schema["type"]]

    def skip(self, schema: Type) -> Step:
        """The step over a value of this type."""
        if isinstance(schema, list):
            return _union(schema, self.skip)
        if isinstance(schema, str):
            return SKIPS.get(schema) or self._named[schema]
        step = self._skip_nested(schema)
        if "name" in schema:
            self._named[schema["name"]] = step
        return step

    def _skip_nested(self, schema: dict[str, Any]) -> Step:
        kind = schema["type"]
        if kind == "record":
            return _record([self.skip(field["type"]) for field in schema["fields"]])
        if kind == "array":
            return _array(self.skip(schema["items"]), _shape(schema["items"]))
        if kind == "map":
            return _array(_record([skip_bytes, self.skip(schema["values"])]), OTHER)
        if kind == "fixed":
            return partial(_skip_fixed, schema["size"])
        return read_int if kind == "enum" else self.skip(kind)


def read_int(decoder: BinaryDecoder, _end: int) -> int:
    """A whole number."""
    return decode_int(decoder)


def read_text(decoder: BinaryDecoder, end: int) -> str:
    """A text."""
    return _read(decoder, decode_int(decoder), end).decode()


def skip_bytes(decoder: BinaryDecoder, end: int) -> None:
    """Jump over bytes or a text."""
    _skip_fixed(decode_int(decoder), decoder, end)


def _skip_fixed(size: int, decoder: BinaryDecoder, end: int) -> None:
    if not 0 <= size <= end - decoder.tell():
        raise EOFError(f"{size} bytes are not there")
    jump(decoder, size)


def _read(decoder: BinaryDecoder, size: int, end: int) -> bytes:
    if not 0 <= size <= end - decoder.tell():
        raise EOFError(f"{size} bytes are not there")
    return decoder.read(size)


SKIPS: dict[str, Step] = {
    "boolean": partial(_skip_fixed, 1),
    "int": read_int,
    "long": read_int,
    "float": partial(_skip_fixed, 4),
    "double": partial(_skip_fixed, 8),
    "bytes": skip_bytes,
    "string": skip_bytes,
}
READS: dict[str, Step] = {"int": read_int, "long": read_int, "string": read_text}


def _header(decoder: BinaryDecoder, end: int) -> tuple[dict[str, bytes], bytes]:
    """What a file says of itself, and the mark at the end of its blocks."""
    if _read(decoder, len(MAGIC), end) != MAGIC:
        raise ValueError("it does not begin as an Avro file does")
    found: dict[str, bytes] = {}
    while count := decode_int(decoder):
        if count < 0:
            decode_int(decoder)  # their size
        for _ in range(abs(count)):
            name = read_text(decoder, end)
            found[name] = _read(decoder, decode_int(decoder), end)
    return found, _read(decoder, SYNC_BYTES, end)


def _flat(schema: Type) -> Iterator[tuple[int, Type]]:
    """The fields of a record; instead of a field that is a record, those of that one."""
    for field in schema["fields"]:
        inner = field["type"]
        if isinstance(inner, dict) and inner["type"] == "record":
            yield from _flat(inner)
        else:
            yield field["field-id"], inner


def _union(schemas: list[Type], step_of: Callable[[Type], Step]) -> Step:
    steps = {number: step_of(schema) for number, schema in enumerate(schemas) if schema != "null"}
    null = schemas.index("null") if "null" in schemas else -1

    def step(decoder: BinaryDecoder, end: int) -> object:
        branch = decode_int(decoder)
        return None if branch == null else steps[branch](decoder, end)

    return step


def _record(steps: list[Step]) -> Step:
    def step(decoder: BinaryDecoder, end: int) -> None:
        for one in steps:
            one(decoder, end)

    return step


def _array(item: Step, shape: str) -> Step:
    """Items of numbers, or of a number and bytes, as statistics of columns are, take less time."""
    numbers = len(shape) if not shape.strip(NUMBER) else 0

    def step(decoder: BinaryDecoder, end: int) -> None:
        while count := decode_int(decoder):
            if count < 0:  # their size follows
                skip_bytes(decoder, end)
            elif numbers and count * numbers <= NUMBERS_MAX:
                decoder.read_ints(count * numbers)
            elif shape == NUMBER + BYTES:
                _skip_pairs(count, decoder, end)
            else:
                _skip_each(item, count, decoder, end)
            if decoder.tell() > end:
                raise EOFError("an array has no end")

    return step


def _skip_each(item: Step, count: int, decoder: BinaryDecoder, end: int) -> None:
    for _ in range(count):
        item(decoder, end)
        if decoder.tell() > end:
            break


def _skip_pairs(count: int, decoder: BinaryDecoder, end: int) -> None:
    for _ in range(count):
        _, size = decoder.read_ints(2)
        if not 0 <= size <= end - decoder.tell():
            raise EOFError(f"{size} bytes are not there")
        jump(decoder, size)


def _shape(schema: Type) -> str:
    """A letter for each part of a type."""
    if isinstance(schema, dict):
        if schema["type"] == "record":
            return "".join(_shape(field["type"]) for field in schema["fields"])
        return _shape(schema["type"])
    return LETTERS.get(schema, OTHER) if isinstance(schema, str) else OTHER
