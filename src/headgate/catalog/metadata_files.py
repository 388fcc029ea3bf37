"""Metadata files of tables and views: their names, their content, and what was read of them.

A metadata file never changes, and every state of a table is an object with an id of its own. So
what was read or parsed is kept by that id and is right for ever.
"""

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar, cast

import zstandard

from headgate.catalog.entities import TableEntity
from headgate.catalog.ports import Files
from headgate.errors import BadMetadata
from headgate.kernel.cache import Cache, Key, Loaded
from headgate.limits import (
    GZIP_INLINE_BYTES_MAX,
    MEMO_BYTES_MAX,
    MEMO_COMPRESSED_BYTES_MAX,
    METADATA_FILE_BYTES_MAX,
    METADATA_INLINE_BYTES_MAX,
)
from headgate.model import table_metadata, view_metadata
from headgate.model.table_metadata import TableMetadata
from headgate.model.view_metadata import ViewMetadata

CODEC = "write.metadata.compression-codec"
METADATA_PATH = "write.metadata.path"
_RAW, _PARSED, _REFS = "raw", "parsed", "refs"
_VERSION = re.compile(r"(\d+)-")
_GZIP_MAGIC = b"\x1f\x8b"

A = TypeVar("A")
P = TypeVar("P")


class MetadataFiles:
    """Contents of metadata files, read once and parsed once."""

    def __init__(self, cache_bytes: int) -> None:
        self._cache = Cache(cache_bytes)

    async def raw(self, files: Files, object: int, entity: TableEntity) -> bytes:
        """The metadata of this state, as JSON."""
        if entity.metadata:
            return entity.metadata

        async def load(keys: list[Key]) -> Loaded:
            data = await read_metadata(files, entity.metadata_location)
            return {keys[0]: (data, len(data))}

        found = await self._cache.load([(_RAW, object)], load)
        return cast(bytes, found[_RAW, object])

    async def table(self, files: Files, object: int, entity: TableEntity) -> TableMetadata:
        """The metadata of this state of a table, parsed."""
        return await self._parsed(files, object, entity, table_metadata.parse)

    async def view(self, files: Files, object: int, entity: TableEntity) -> ViewMetadata:
        """The metadata of this state of a view, parsed."""
        return await self._parsed(files, object, entity, view_metadata.parse)

    async def refs(self, files: Files, object: int, entity: TableEntity) -> bytes:
        """The metadata of this state with only those snapshots that a branch or tag names."""

        async def load(keys: list[Key]) -> Loaded:
            table = await self.table(files, object, entity)
            data = await worked_out(entity.is_large, table_metadata.encode_refs, table)
            return {keys[0]: (data, len(data))}

        found = await self._cache.load([(_REFS, object)], load)
        return cast(bytes, found[_REFS, object])

    def keep(self, object: int, raw: bytes, parsed: TableMetadata | ViewMetadata) -> None:
        """Put what was just written into the cache."""
        self._cache.put((_RAW, object), raw, len(raw))
        self._cache.put((_PARSED, object), parsed, 2 * len(raw))

    async def _parsed(
        self, files: Files, object: int, entity: TableEntity, parse: Callable[[bytes], P]
    ) -> P:
        async def load(keys: list[Key]) -> Loaded:
            data = await self.raw(files, object, entity)
            is_large = len(data) > METADATA_INLINE_BYTES_MAX
            return {keys[0]: (await worked_out(is_large, parse, data), 2 * len(data))}

        found = await self._cache.load([(_PARSED, object)], load)
        return cast(P, found[_PARSED, object])


async def worked_out(is_large: bool, work: Callable[[A], P], argument: A) -> P:  # noqa: FBT001  a fact
    """The result of some work on metadata; others must not wait for it if that is large.

    Python runs one thread at a time, but takes turns: the event loop is held up for moments only.
    """
    return await asyncio.to_thread(work, argument) if is_large else work(argument)


async def read_metadata(files: Files, location: str) -> bytes:
    """The JSON in a metadata file, which may be compressed whatever its name is."""
    data = await files.read(location)
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return await asyncio.to_thread(_unzip, data)
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
    """The content, refused if it is larger than any metadata file may be."""
    unzipper = zlib.decompressobj(wbits=31)
    content = unzipper.decompress(data, METADATA_FILE_BYTES_MAX)
    if unzipper.unconsumed_tail or not unzipper.eof:
        raise EOFError("it is cut short, or too large")
    return content
