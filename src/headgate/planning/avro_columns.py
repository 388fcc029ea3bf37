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

from headgate.errors import TooLarge
from headgate.limits import (
    AVRO_ROWS_MAX,
    AVRO_SCHEMA_PARTS_MAX,
    MANIFEST_SCHEMAS_KNOWN_MAX,
    WALK_BATCH_PATHS,
)
from headgate.planning.avro_blocks import Block, Blocks, check_schema
from headgate.planning.avro_steps import (
    BYTES,
    NUMBER,
    OTHER,
    ROOM,
    Step,
    array,
    fixed,
    read_int,
    read_text,
    record,
    skip_bytes,
    union,
)

Type = Any
"""A type of a schema: its name, an object, or a list of those in a union."""
Columns = list[list[Any]]

LETTERS = {"int": NUMBER, "long": NUMBER, "bytes": BYTES, "string": BYTES}


def columns(data: bytes, *fields: int, rows_max: int = AVRO_ROWS_MAX) -> Iterator[Columns]:
    """The columns of these ids, some rows at a time. The first one has to be there; None stands for
    values of others that are not. A file that cannot be read is an error of some kind."""
    blocks = Blocks(data, rows_max)
    row = _row(blocks.schema, fields)
    rows = Rows(row, fields)
    for block in blocks:
        for _ in rows.read(block):
            yield rows.columns
            rows.begin()
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

    def begin(self) -> None:
        """Let others have what was read so far."""
        self.columns = [[] for _ in self.columns]

    def read(self, block: Block) -> Iterator[None]:
        """Take in a block, with a pause whenever enough is read."""
        decoder, end, left = new_decoder(block.data + ROOM), len(block.data), block.rows
        while left:
            some = min(left, max(WALK_BATCH_PATHS - len(self.columns[0]), 1))
            self._read_some(decoder, some, block.data)
            left -= some
            if not left and decoder.tell() != end:
                break
            if len(self.columns[0]) >= WALK_BATCH_PATHS:
                yield
        if decoder.tell() != end:
            raise ValueError("a block has more or less in it than its schema says")

    def _read_some(self, decoder: BinaryDecoder, count: int, block: bytes) -> None:
        wanted = [(skips, read, self.columns[to].append) for skips, read, to in self._row.wanted]
        rest, end = self._row.rest, len(block)
        for _ in range(count):
            for skips, read, add in wanted:
                for skip in skips:
                    skip(decoder, block)
                add(read(decoder, block))
            for skip in rest:
                skip(decoder, block)
            if decoder.tell() > end:
                raise EOFError("a row has no end")
        for column in self._row.absent:
            self.columns[column] += [None] * count


@lru_cache(MANIFEST_SCHEMAS_KNOWN_MAX)
def _row(schema: bytes, fields: tuple[int, ...]) -> Row:
    """Worked out once: files of one table have one schema."""
    check_schema(schema)
    return Schema(fields).row(json.loads(schema))


class Schema:
    """Turns types into steps. Those that have a name are known by it later on."""

    def __init__(self, fields: tuple[int, ...]) -> None:
        self._fields = fields
        self._named: dict[str, tuple[Step, int]] = {}
        self._parts = 0

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
            step, parts = (SKIPS[schema], 1) if schema in SKIPS else self._named[schema]
            self._count(parts)
            return step
        before = self._parts
        step = self._skip_nested(schema)
        if "name" in schema:
            self._named[schema["name"]] = step, self._parts - before
        return step

    def _count(self, parts: int) -> None:
        """Types that name each other can be many more than the schema is long."""
        self._parts += parts
        if self._parts > AVRO_SCHEMA_PARTS_MAX:
            raise TooLarge(
                "The schema of an Avro file is too large",
                why=f"a row has more than {AVRO_SCHEMA_PARTS_MAX:,} parts",
            )

    def _skip_nested(self, schema: dict[str, Any]) -> Step:
        kind = schema["type"]
        self._count(1)
        if kind == "record":
            return record([self.skip(field["type"]) for field in schema["fields"]])
        if kind == "array":
            return array(self.skip(schema["items"]), _shape(schema["items"]))
        if kind == "map":
            return array(record([skip_bytes, self.skip(schema["values"])]), OTHER)
        if kind == "fixed":
            return fixed(schema["size"])
        return read_int if kind == "enum" else self.skip(kind)


SKIPS: dict[str, Step] = {
    "boolean": fixed(1),
    "int": read_int,
    "long": read_int,
    "float": fixed(4),
    "double": fixed(8),
    "bytes": skip_bytes,
    "string": skip_bytes,
}
READS: dict[str, Step] = {"int": read_int, "long": read_int, "string": read_text}


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
    return union(steps, schemas.index("null") if "null" in schemas else None)


def _shape(schema: Type) -> str:
    """A letter for each part of a type."""
    if isinstance(schema, dict):
        if schema["type"] == "record":
            return "".join(_shape(field["type"]) for field in schema["fields"])
        return _shape(schema["type"])
    return LETTERS.get(schema, OTHER) if isinstance(schema, str) else OTHER
