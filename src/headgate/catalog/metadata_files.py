"""Metadata files of tables and views: their names, and how they are read and written."""

import asyncio
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO

import zstandard

from headgate.catalog.ports import Files
from headgate.errors import BadMetadata
from headgate.limits import (
    GZIP_INLINE_BYTES_MAX,
    MEMO_BYTES_MAX,
    MEMO_COMPRESSED_BYTES_MAX,
    METADATA_EXPANSION_MAX,
    METADATA_FILE_BYTES_MAX,
    METADATA_UNPACKED_BYTES_MIN,
)

CODEC = "write.metadata.compression-codec"
METADATA_PATH = "write.metadata.path"
_VERSION = re.compile(r"(\d{1,9})-")
_FILE_NAME = re.compile(
    r"\d{5,}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(\.gz)?\.metadata\.json"
)
_GZIP_MAGIC = b"\x1f\x8b"
UNZIPPED_AT_ONCE_BYTES = 1 << 20  # zlib puts longer ones together while it holds Python's lock


async def read_metadata(files: Files, location: str) -> bytes:
    """The JSON in a metadata file, which may be compressed whatever its name is."""
    data = await files.read(location)
    if not data.startswith(_GZIP_MAGIC):
        return data
    return await asyncio.to_thread(unzipped, data, location)


def unzipped(data: bytes, location: str) -> bytes:
    """The JSON in a metadata file that was read."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return _unzip(data)
    except (OSError, EOFError, zlib.error) as error:
        raise BadMetadata(
            f"Invalid metadata file: {location}",
            why=f"it cannot be decompressed: {error}",
            fix="Name a complete metadata file",
        ) from error


@contextmanager
def found_in(location: str) -> Iterator[None]:
    """Let what is wrong with metadata be said of the file that it was read from."""
    try:
        yield
    except BadMetadata as error:
        raise type(error)(
            f"Invalid metadata file: {location}",
            why=f"{error.what}: {error.why}" if error.why else error.what,
            fix=error.fix or "Name a complete metadata file",
        ) from error


async def write_metadata(files: Files, location: str, data: bytes) -> None:
    """Write a metadata file; its name says whether it is compressed."""
    if _is_zipped(location):
        large = len(data) > GZIP_INLINE_BYTES_MAX
        data = await asyncio.to_thread(_zip, data) if large else _zip(data)
    await files.write(location, data)


def next_file(location: str, properties: Mapping[str, str], previous: str | None, uuid: str) -> str:
    """The name of the next metadata file of a table or view."""
    folder = properties.get(METADATA_PATH, "").rstrip("/") or f"{location.rstrip('/')}/metadata"
    codec = properties.get(CODEC, "none").lower()
    if codec not in {"none", "gzip"}:
        raise BadMetadata(
            f"Invalid property {CODEC}: {codec}", why="it is unknown", fix="Use none or gzip"
        )
    zipped = ".gz" if codec == "gzip" else ""
    return f"{folder}/{_version_after(previous):05d}-{uuid}{zipped}.metadata.json"


def is_metadata_file(name: str) -> bool:
    """Whether a file is named as `next_file` names metadata files."""
    return _FILE_NAME.fullmatch(name) is not None


def memo(data: bytes) -> bytes:
    """The content to keep in the database: all of it if it is small, nothing if it is not."""
    if len(data) <= MEMO_COMPRESSED_BYTES_MAX:
        return data
    if len(data) > MEMO_BYTES_MAX:
        return b""
    return data if len(zstandard.compress(data, 1)) <= MEMO_COMPRESSED_BYTES_MAX else b""


def _version_after(previous: str | None) -> int:
    if previous is None:
        return 0
    found = _VERSION.match(previous.rpartition("/")[2])
    return int(found[1]) + 1 if found else 0


def _is_zipped(location: str) -> bool:
    return location.endswith((".gz.metadata.json", ".metadata.json.gz"))


def _zip(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _unzip(data: bytes) -> bytes:
    """The content, refused if it is larger than any metadata file may be, or than anybody packs
    into so little.

    It grows in one place: parts that are put together in the end take its memory twice.
    """
    unzipper = zlib.decompressobj(wbits=31)
    content = BytesIO()
    rest = data
    allowance = max(METADATA_UNPACKED_BYTES_MIN, METADATA_EXPANSION_MAX * len(data))
    most = min(METADATA_FILE_BYTES_MAX, allowance)
    while not unzipper.eof and content.tell() <= most:
        piece = unzipper.decompress(rest, UNZIPPED_AT_ONCE_BYTES)
        if not piece:
            break
        content.write(piece)
        rest = unzipper.unconsumed_tail
    if not unzipper.eof or content.tell() > most:
        raise EOFError("it is cut short, or too large")
    return content.getvalue()
