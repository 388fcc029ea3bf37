"""What was read and parsed of metadata files.

A metadata file never changes, and every state of a table is an object with an id of its own in its
realm. So what was read or parsed is kept by these two and is right for ever.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import msgspec

from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.large_metadata import LargeMetadata, Present
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.ports import Files
from headgate.catalog.versions import Version
from headgate.kernel.cache import Cache, CacheStatistics, LoadedParts, PartKey
from headgate.limits import METADATA_INLINE_BYTES_MAX, VERIFIED_INLINE_BYTES_MAX
from headgate.model import table_metadata, view_metadata
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_outlines import (
    Outline,
    TableOutline,
    ViewOutline,
    table_outline,
    view_outline,
)
from headgate.model.view_metadata import ViewMetadata
from headgate.workers.turns import Tenant

_RAW, _PARSED, _REFS, _KEY, _OUTLINE = "raw", "parsed", "refs", "key", "outline"
_KEY_BYTES = 100

P = TypeVar("P")
V = TypeVar("V", TableOutline, ViewOutline)
_table_outlines = msgspec.msgpack.Decoder(TableOutline)
_view_outlines = msgspec.msgpack.Decoder(ViewOutline)


class State(NamedTuple):
    """A state of a table or view: an object of its realm."""

    realm: str
    object: int
    entity: TableEntity


class MetadataCache:
    """Contents of metadata files, read once and parsed once."""

    def __init__(self, cache_bytes: int, large: LargeMetadata) -> None:
        self._cache = Cache(cache_bytes)
        self._cache_bytes = cache_bytes
        self._huge: tuple[PartKey, bytes] | None = None
        """The last one that is larger than the cache: to read it again takes longest of all."""
        self._large = large

    @property
    def statistics(self) -> CacheStatistics:
        """What is kept, and how often that was of use."""
        return self._cache.statistics()

    async def raw(self, files: Files, state: State) -> bytes:
        """The metadata of this state, as JSON."""
        if state.entity.metadata:
            return state.entity.metadata
        key = state.realm, state.object, _RAW
        if self._huge is not None and self._huge[0] == key:
            return self._huge[1]

        async def load(_: list[PartKey]) -> LoadedParts:
            data = await read_metadata(files, state.entity.metadata_location)
            self._keep_huge(key, data)
            return {key: (data, len(data))}

        return cast(bytes, (await self._cache.load([key], load))[key])

    async def present(self, files: Files, state: State) -> Present:
        """The metadata of this state, for a worker process."""
        key = cast("str | None", self._cache.find((state.realm, state.object, _KEY)))
        name = key or f"{state.realm} {state.object}"
        return Present(name, await self.raw(files, state))

    async def table(self, files: Files, state: State) -> TableMetadata:
        """The metadata of this state of a table, parsed."""
        return await self._parsed(files, state, table_metadata.parse)

    async def view(self, files: Files, state: State) -> ViewMetadata:
        """The metadata of this state of a view, parsed."""
        return await self._parsed(files, state, view_metadata.parse)

    async def refs(self, files: Files, state: State, tenant: Tenant) -> bytes:
        """The metadata of this state with only those snapshots that a branch or tag names."""
        key = state.realm, state.object, _REFS

        async def load(_: list[PartKey]) -> LoadedParts:
            present = await self.present(files, state)
            if len(present.raw) > METADATA_INLINE_BYTES_MAX:
                data = await self._large.refs(present, tenant)
            else:
                data = table_metadata.encode_refs(await self.table(files, state))
            return {key: (data, len(data))}

        return cast(bytes, (await self._cache.load([key], load, flight=tenant))[key])

    async def table_outline(self, files: Files, state: State, tenant: Tenant) -> TableOutline:
        """What a table is in this state, without its history."""
        return await self._outline(
            files, state, tenant, Kind.TABLE, _table_outlines, METADATA_INLINE_BYTES_MAX
        )

    async def view_outline(self, files: Files, state: State, tenant: Tenant) -> ViewOutline:
        """What a view is in this state, without its history."""
        return await self._outline(
            files, state, tenant, Kind.VIEW, _view_outlines, VERIFIED_INLINE_BYTES_MAX
        )

    def keep(self, realm: str, object: int, version: Version) -> None:
        """Put what was just written into the cache."""
        key, raw = (realm, object, _RAW), version.raw
        self._cache.put(key, raw, len(raw))
        self._keep_huge(key, raw)
        if version.parsed is not None:
            self._cache.put((realm, object, _PARSED), version.parsed, 2 * len(raw))
        if version.key:
            self._cache.put((realm, object, _KEY), version.key, _KEY_BYTES)

    def _keep_huge(self, key: PartKey, raw: bytes) -> None:
        if 0 < self._cache_bytes < len(raw):
            self._huge = key, raw

    async def _parsed(self, files: Files, state: State, parse: Callable[[bytes], P]) -> P:
        key = state.realm, state.object, _PARSED

        async def load(_: list[PartKey]) -> LoadedParts:
            data = await self.raw(files, state)
            return {key: (parse(data), 2 * len(data))}

        return cast(P, (await self._cache.load([key], load))[key])

    async def _outline(
        self,
        files: Files,
        state: State,
        tenant: Tenant,
        kind: Kind,
        decoder: msgspec.msgpack.Decoder[V],
        inline_bytes_max: int,
    ) -> V:
        key = state.realm, state.object, _OUTLINE

        async def load(_: list[PartKey]) -> LoadedParts:
            present = await self.present(files, state)
            if len(present.raw) > inline_bytes_max:
                packed = await self._large.outline(kind, present, tenant)
                return {key: (decoder.decode(packed), 2 * len(packed))}
            if kind is Kind.TABLE:
                outline: Outline = table_outline(await self.table(files, state))
            else:
                outline = view_outline(await self.view(files, state))
            return {key: (outline, 2 * len(msgspec.msgpack.encode(outline)))}

        return cast(V, (await self._cache.load([key], load, flight=tenant))[key])
