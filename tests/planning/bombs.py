"""Avro files that say more than they hold, or hold more than they say."""

import bz2
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard
from pyiceberg.manifest import MANIFEST_ENTRY_SCHEMAS, MANIFEST_LIST_FILE_SCHEMAS
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

SYNC = b"0123456789abcdef"
LISTS: Any = AvroSchemaConversion().iceberg_to_avro(MANIFEST_LIST_FILE_SCHEMAS[2], "manifest_file")
ENTRIES: Any = AvroSchemaConversion().iceberg_to_avro(MANIFEST_ENTRY_SCHEMAS[2], "manifest_entry")
LIST_ROW_BYTES = 15
"""Of a row of zeros: no path, no numbers, nothing that may be absent."""


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": deflated,
    "bzip2": bz2.compress,
    "zstandard": zstandard.compress,
}


def number(value: int) -> bytes:
    """A number as Avro writes it."""
    value = (value << 1) ^ (value >> 63)
    written = b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])


def sized(data: bytes) -> bytes:
    return number(len(data)) + data


def avro(schema: object, rows: int, block: bytes, codec: str = "null", blocks: int = 1) -> bytes:
    """A file with a block, perhaps several times."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    header = b"Obj\x01" + number(2)
    header += sized(b"avro.schema") + sized(text) + sized(b"avro.codec") + sized(codec.encode())
    packed = number(rows) + sized(PACKS[codec](block)) + SYNC
    return header + b"\x00" + SYNC + packed * blocks


def list_bomb(rows: int, codec: str = "deflate", blocks: int = 1) -> bytes:
    """A list of so many manifests without a name, in a few bytes."""
    return avro(LISTS, rows, bytes(LIST_ROW_BYTES * rows), codec, blocks)


def with_fields(*types: object) -> dict[str, Any]:
    """The schema of a list with these columns at its end."""
    more = [
        {"name": f"more{at}", "type": type, "field-id": 9_000 + at} for at, type in enumerate(types)
    ]
    return {**LISTS, "fields": [*LISTS["fields"], *more]}


def nested(levels: int) -> bytes:
    """A schema that has a very deep column."""
    inner = b'{"type":"array","items":' * levels + b'"int"' + b"}" * levels
    return json.dumps(with_fields("DEEP")).encode().replace(b'"DEEP"', inner)


def laughing(levels: int) -> dict[str, Any]:
    """A column of two, which are of two, and so on, down to nothing."""
    types: list[object] = [{"type": "record", "name": "L0", "fields": []}]
    for level in range(1, levels):
        both = [{"name": side, "type": f"L{level - 1}"} for side in "lr"]
        types.append({"type": "record", "name": f"L{level}", "fields": both})
    fields = [{"name": f"f{level}", "type": type} for level, type in enumerate(types)]
    return with_fields(
        {"type": "array", "items": {"type": "record", "name": "All", "fields": fields}}
    )


def spoil(path: Path, how: str) -> None:
    """Let a manifest list be one that cannot be read."""
    content = path.read_bytes()
    spoilt = {
        "codec": content.replace(b"deflate", b"xeflate"),
        "bomb": list_bomb(500_000, blocks=100),
        "deep": avro(nested(1_000), 0, b""),
        "rubbish": b"rubbish",
    }[how]
    assert spoilt != content
    path.write_bytes(spoilt)
