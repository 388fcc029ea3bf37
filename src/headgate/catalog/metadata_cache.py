"""What was read and parsed of metadata files.

A metadata file never changes, and every state of a table is an object with an id of its own. So
what was read or parsed is kept by that id and is right for ever.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from headgate.catalog.entities import TableEntity
from headgate.catalog.large_metadata import LargeMetadata, Present
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.ports import Files
from headgate.catalog.versions import Version
from headgate.kernel.cache import Cache, CacheStatistics, Key, Loaded
from headgate.limits import METADATA_INLINE_BYTES_MAX
from headgate.model import table_metadata, view_metadata
from headgate.model.table_metadata import TableMetadata
from headgate.model.view_metadata import ViewMetadata

_RAW, _PARSED, _REFS, _KEY = "raw", "parsed", "refs", "key"
_KEY_BYTES = 100

P = TypeVar("P")


class MetadataCache:
    """Contents of metadata files, read once and parsed once."""

    def __init__(self, cache_bytes: int, large: LargeMetadata) -> None:
        self._cache = Cache(cache_bytes)
        self._large = large

    @property
    def statistics(self) -> CacheStatistics:
        """What is kept, and how often that was of use."""
        return self._cache.statistics()

    async def raw(self, files: Files, object: int, entity: TableEntity) -> bytes:
        """The metadata of this state, as JSON."""
        if entity.metadata:
            return entity.metadata

        async def load(keys: list[Key]) -> Loaded:
            data = await read_metadata(files, entity.metadata_location)
            return {keys[0]: (data, len(data))}

        found = await self._cache.load([(_RAW, object)], load)
        return cast(bytes, found[_RAW, object])

    async def present(self, files: Files, object: int, entity: TableEntity) -> Present:
        """The metadata of this state, for a worker process."""
        key = cast("str | None", self._cache.find((_KEY, object)))
        return Present(key or str(object), await self.raw(files, object, entity))

    async def table(self, files: Files, object: int, entity: TableEntity) -> TableMetadata:
        """The metadata of this state of a table, parsed."""
        return await self._parsed(files, object, entity, table_metadata.parse)

    async def view(self, files: Files, object: int, entity: TableEntity) -> ViewMetadata:
        """The metadata of this state of a view, parsed."""
        return await self._parsed(files, object, entity, view_metadata.parse)

    async def refs(self, files: Files, object: int, entity: TableEntity) -> bytes:
        """The metadata of this state with only those snapshots that a branch or tag names."""

        async def load(keys: list[Key]) -> Loaded:
            present = await self.present(files, object, entity)
            if len(present.raw) > METADATA_INLINE_BYTES_MAX:
                data = await self._large.refs(present)
            else:
                data = table_metadata.encode_refs(await self.table(files, object, entity))
            return {keys[0]: (data, len(data))}

        found = await self._cache.load([(_REFS, object)], load)
        return cast(bytes, found[_REFS, object])

    def keep(self, object: int, version: Version) -> None:
        """Put what was just written into the cache."""
        self._cache.put((_RAW, object), version.raw, len(version.raw))
        if version.parsed is not None:
            self._cache.put((_PARSED, object), version.parsed, 2 * len(version.raw))
        if version.key:
            self._cache.put((_KEY, object), version.key, _KEY_BYTES)

    async def _parsed(
        self, files: Files, object: int, entity: TableEntity, parse: Callable[[bytes], P]
    ) -> P:
        async def load(keys: list[Key]) -> Loaded:
            data = await self.raw(files, object, entity)
            return {keys[0]: (parse(data), 2 * len(data))}

        found = await self._cache.load([(_PARSED, object)], load)
        return cast(P, found[_PARSED, object])
