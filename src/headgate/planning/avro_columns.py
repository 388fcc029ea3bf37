"""Some columns of an Avro file, and nothing else.

A walk over all files of a table needs a path and a size of each entry, and most of an entry is
statistics. So what a schema says is turned into a list of steps once, and these jump over the rest.
A file that is cut, or that has more in a block than its schema says, is an error and no shorter
file.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from pyiceberg.avro.decoder import BinaryDecoder, new_decoder
from pyiceberg.avro.file import META_SCHEMA, AvroFileHeader
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader

from headgate.limits import MANIFEST_SCHEMAS_KNOWN_MAX, WALK_BATCH_PATHS

Step = Callable[[BinaryDecoder], Any]
"""Moves a decoder over a value, and may return it."""
Type = Any
"""A type of a schema: its name, an object, or a list of those in a union."""
Columns = list[list[Any]]

HEADER: Reader = construct_reader(META_SCHEMA, {-1: AvroFileHeader})
MAGIC = b"Obj\x01"
SYNC_BYTES = 16
BULK_MAX = 1_000  # values that are read at once: pyiceberg does not look where the data end then

Decoder = type(new_decoder(b""))  # pyiceberg's in C, or in Python where that is not built
read_int = Decoder.read_int
SKIPS: dict[str, Step] = {
    "boolean": Decoder.skip_boolean,
    "int": Decoder.skip_int,
    "long": Decoder.skip_int,
    "float": Decoder.skip_float,
    "double": Decoder.skip_double,
    "bytes": Decoder.skip_bytes,
    "string": Decoder.skip_bytes,
}
READS: dict[str, Step] = {"int": read_int, "long": read_int, "string": Decoder.read_utf8}
LETTERS = {"int": "i", "long": "i", "bytes": "b", "string": "b"}


def columns(data: bytes, *fields: int) -> Iterator[Columns]:
    """The columns of these ids, some rows at a time. The first one has to be there; None stands for
    values of others that are not. Raises whatever a decoder does if the file cannot be read."""
    decoder = new_decoder(data)
    header = HEADER.read(decoder)
    if header.magic != MAGIC or decoder.tell() > len(data):
        raise ValueError("it does not begin as an Avro file does")
    codec = header.compression_codec()
    row = _row(header.meta["avro.schema"], fields)
    rows = Rows(row, fields)
    while decoder.tell() < len(data):
        count, size = decoder.read_int(), decoder.read_int()
        if not 0 <= size <= len(data) - decoder.tell() - SYNC_BYTES:
            raise ValueError("it ends in the middle of a block")
        if codec is None:
            rows.read(decoder, count, size)
        else:
            block = codec.decompress(decoder.read(size))
            rows.read(new_decoder(block), count, len(block))
        if decoder.read(SYNC_BYTES) != header.sync:
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

    def read(self, decoder: BinaryDecoder, count: int, size: int) -> None:
        """Take in a block."""
        end = decoder.tell() + size
        wanted, rest = self._wanted, self._row.rest
        for _ in range(count):
            for skips, read, add in wanted:
                for skip in skips:
                    skip(decoder)
                add(read(decoder))
            for skip in rest:
                skip(decoder)
        if decoder.tell() != end:
            raise ValueError("a block has more or less in it than its schema says")
        for column in self._row.absent:
            self.columns[column] += [None] * count


@lru_cache(MANIFEST_SCHEMAS_KNOWN_MAX)
def _row(schema: str, fields: tuple[int, ...]) -> Row:
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
                skips.append(self._skip(part))
        found = {one.column for one in wanted}
        if 0 not in found:
            raise ValueError(f"it has no field {self._fields[0]}")
        absent = (column for column in range(len(self._fields)) if column not in found)
        return Row(tuple(wanted), tuple(skips), tuple(absent))

    def _read(self, schema: Type) -> Step:
        if isinstance(schema, list):
            return _union(schema, self._read)
        return READS[schema if isinstance(schema, str) else schema["type"]]

    def _skip(self, schema: Type) -> Step:
        if isinstance(schema, list):
            return _union(schema, self._skip)
        if isinstance(schema, str):
            return SKIPS.get(schema) or self._named[schema]
        step = self._skip_nested(schema)
        if "name" in schema:
            self._named[schema["name"]] = step
        return step

    def _skip_nested(self, schema: dict[str, Any]) -> Step:
        kind = schema["type"]
        if kind == "record":
            return _record([self._skip(field["type"]) for field in schema["fields"]])
        if kind == "array":
            return _array(self._skip(schema["items"]), _shape(schema["items"]))
        if kind == "map":
            return _array(_record([Decoder.skip_bytes, self._skip(schema["values"])]), "?")
        if kind == "fixed":
            size = schema["size"]
            return lambda decoder: decoder.skip(size)
        return Decoder.skip_int if kind == "enum" else self._skip(kind)


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

    def step(decoder: BinaryDecoder) -> object:
        branch = read_int(decoder)
        return None if branch == null else steps[branch](decoder)

    return step


def _record(steps: list[Step]) -> Step:
    def step(decoder: BinaryDecoder) -> None:
        for one in steps:
            one(decoder)

    return step


def _array(item: Step, shape: str) -> Step:
    """Pairs of numbers and numbers or bytes, as statistics of columns are, are read at once."""

    def step(decoder: BinaryDecoder) -> None:
        while count := read_int(decoder):
            if count < 0:  # their size follows
                decoder.skip(read_int(decoder))
            elif count <= BULK_MAX and not shape.strip("i"):
                decoder.read_ints(count * len(shape))
            elif count <= BULK_MAX and shape == "ib":
                decoder.read_int_bytes_dict(count, {})
            else:
                for _ in range(count):
                    item(decoder)

    return step


def _shape(schema: Type) -> str:
    """A letter for each part of a type: a whole number, bytes, or anything else."""
    if isinstance(schema, dict):
        if schema["type"] == "record":
            return "".join(_shape(field["type"]) for field in schema["fields"])
        return _shape(schema["type"])
    return LETTERS.get(schema, "?") if isinstance(schema, str) else "?"
