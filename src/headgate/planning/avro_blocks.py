"""An Avro file in blocks, unpacked within bounds.

Whoever wrote the file says how much is in it, and may have packed very much into very little. So a
file has an allowance for what comes out of it, and no block says to have more rows than bytes.
"""

import bz2
import re
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import NamedTuple

import zstandard
from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

from headgate.errors import TooLarge, Unsupported
from headgate.limits import (
    AVRO_BYTES_MAX,
    AVRO_EXPANSION_MAX,
    AVRO_ROWS_MAX,
    AVRO_SCHEMA_BYTES_MAX,
    AVRO_SCHEMA_DEPTH_MAX,
    AVRO_UNPACKED_BYTES_MIN,
)
from headgate.planning.avro_steps import decode_int, read_exactly, read_text

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
BLOCK_BYTES_MIN = 2 + SYNC_BYTES
UNPACKED_AT_ONCE_BYTES = 1 << 18
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"')

Unpack = Callable[[bytes, int], bytes]
"""What unpacks a block; of one with more bytes than the number says, at least one more."""


class Block(NamedTuple):
    """Some rows."""

    rows: int
    data: bytes


class Blocks:
    """The blocks of a file. What cannot be read is an error of some kind: `TooLarge` and
    `Unsupported` if others may be able to read it."""

    def __init__(self, data: bytes, rows_max: int = AVRO_ROWS_MAX) -> None:
        self._rows_max = rows_max
        self._data, self._decoder = data, new_decoder(data)
        self.header, self._sync = _header(self._decoder, data)
        name = self.header.get("avro.codec", b"null").decode()
        if name not in UNPACKS:
            raise Unsupported(f"Avro's codec {name[:40]!r} is not known")
        self._unpack = UNPACKS[name]
        self._left = min(
            AVRO_BYTES_MAX, max(AVRO_UNPACKED_BYTES_MIN, AVRO_EXPANSION_MAX * len(data))
        )
        self._rows = 0

    @property
    def schema(self) -> bytes:
        """The type of a row, as JSON."""
        return self.header["avro.schema"]

    def __iter__(self) -> Iterator[Block]:
        decoder, data, end = self._decoder, self._data, len(self._data)
        while decoder.tell() < end:
            if end - decoder.tell() < BLOCK_BYTES_MIN:
                raise EOFError("it ends in the middle of a block")
            rows, size = decode_int(decoder), decode_int(decoder)
            self._count(rows)
            block = self._unpacked(read_exactly(decoder, size, data))
            if not 0 <= rows <= len(block):
                raise ValueError(f"{rows} rows cannot be in {len(block)} bytes")
            yield Block(rows, block)
            if read_exactly(decoder, SYNC_BYTES, data) != self._sync:
                raise ValueError("a block does not end where it should")

    def _unpacked(self, packed: bytes) -> bytes:
        block = self._unpack(packed, self._left)
        self._left -= len(block)
        if self._left < 0:
            raise too_large(f"more comes out of its {len(self._data):,} bytes than is taken in")
        return block

    def _count(self, rows: int) -> None:
        self._rows += rows
        if self._rows > self._rows_max:
            raise too_large(f"it says to have more than {self._rows_max:,} rows")


def too_large(why: str) -> TooLarge:
    """What to say of a file that has too much in it."""
    return TooLarge("An Avro file is too large", why=why, fix="Rewrite the table's manifests")


def check_schema(schema: bytes) -> None:
    """Refuse a schema that would take more than a walk over it."""
    if len(schema) > AVRO_SCHEMA_BYTES_MAX:
        raise TooLarge(
            "The schema of an Avro file is too large",
            why=f"it has {len(schema):,} bytes, and at most {AVRO_SCHEMA_BYTES_MAX:,} are read",
        )
    depth = 0
    for letter in _TEXT.sub(b"", schema):
        depth += (letter in b"[{") - (letter in b"]}")
        if depth > AVRO_SCHEMA_DEPTH_MAX:
            raise TooLarge(
                "The schema of an Avro file is nested too deeply",
                why=f"it has more than {AVRO_SCHEMA_DEPTH_MAX} levels",
            )


def _header(decoder: BinaryDecoder, data: bytes) -> tuple[dict[str, bytes], bytes]:
    """What a file says of itself, and the mark at the end of its blocks."""
    if read_exactly(decoder, len(MAGIC), data) != MAGIC:
        raise ValueError("it does not begin as an Avro file does")
    found: dict[str, bytes] = {}
    while count := decode_int(decoder):
        if count < 0:
            decode_int(decoder)  # their size
        for _ in range(abs(count)):
            name = read_text(decoder, data)
            found[name] = read_exactly(decoder, decode_int(decoder), data)
    return found, read_exactly(decoder, SYNC_BYTES, data)


def _plain(packed: bytes, _most: int) -> bytes:
    return packed


def _inflated(packed: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    return _whole(unpacker.decompress(packed, most + 1), most, is_whole=unpacker.eof)


def _from_bzip2(packed: bytes, most: int) -> bytes:
    unpacker = bz2.BZ2Decompressor()
    return _whole(unpacker.decompress(packed, most + 1), most, is_whole=unpacker.eof)


def _from_zstandard(packed: bytes, most: int) -> bytes:
    block = bytearray()
    with zstandard.ZstdDecompressor().stream_reader(BytesIO(packed)) as unpacker:
        while len(block) <= most and (piece := unpacker.read(UNPACKED_AT_ONCE_BYTES)):
            block += piece
    return bytes(block)


def _from_snappy(packed: bytes, most: int) -> bytes:
    """It says at its beginning how much it is, and nothing else comes out."""
    size, shift = 0, 0
    for byte in packed[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > most:
        raise too_large(f"a block of it has {size:,} bytes")
    codec = KNOWN_CODECS["snappy"]
    assert codec is not None
    return codec.decompress(packed)


def _whole(block: bytes, most: int, *, is_whole: bool) -> bytes:
    if not is_whole and len(block) <= most:
        raise EOFError("a block is cut short")
    return block


UNPACKS: dict[str, Unpack] = {
    "null": _plain,
    "deflate": _inflated,
    "bzip2": _from_bzip2,
    "zstandard": _from_zstandard,
    "snappy": _from_snappy,
}
