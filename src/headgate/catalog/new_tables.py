"""Tables that come into a catalog: created, staged for a later commit, or registered."""

from typing import Any

import msgspec

from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import found_in, read_metadata, worked_out
from headgate.catalog.namespaces import find_namespace
from headgate.catalog.openings import Opened
from headgate.catalog.placing import check_new, location_of
from headgate.catalog.relation_commits import (
    Change,
    Found,
    commit_relations,
    known_state,
    new_state,
)
from headgate.catalog.relations import Relation, check_free, entry_of, find_relation, named
from headgate.catalog.reservations import check_locations, locations_of
from headgate.limits import COLUMNS_INLINE_MAX, METADATA_INLINE_BYTES_MAX
from headgate.model import table_metadata
from headgate.model.names import Identifier, Levels, check_name
from headgate.model.table_creation import new_table
from headgate.model.table_metadata import TableMetadata


class NewTable(msgspec.Struct, frozen=True, rename="kebab"):
    """What a client says of a table it wants."""

    name: str
    schema: dict[str, Any]
    location: str | None = None
    partition_spec: dict[str, Any] | None = None
    write_order: dict[str, Any] | None = None
    stage_create: bool = False
    properties: dict[str, str] | None = None

    @property
    def is_large(self) -> bool:
        """It takes long to work out."""
        fields = self.schema.get("fields")
        return not isinstance(fields, list) or len(fields) > COLUMNS_INLINE_MAX


async def create_table(lake: Lake, opened: Opened, namespace: Levels, new: NewTable) -> Relation:
    """Make a new table with no snapshots."""
    identifier = Identifier(namespace, new.name)

    async def prepare(current: Opened) -> list[Change]:
        metadata = await _new_metadata(lake, current, identifier, new)
        return [await new_state(lake, current, identifier, metadata)]

    [table] = await commit_relations(lake, opened, f"create table {named(identifier)}", prepare)
    return table


async def stage_table(
    lake: Lake, opened: Opened, namespace: Levels, new: NewTable
) -> TableMetadata:
    """What a new table would be; nothing is stored until its creator commits it.

    On a local disk its folder is made: some clients write into it and make none themselves.
    """
    metadata = await _new_metadata(lake, opened, Identifier(namespace, new.name), new)
    await check_locations(opened, locations_of(metadata.location, metadata.properties))
    await lake.files(opened).prepare(f"{metadata.location}/metadata")
    return metadata


async def register_table(
    lake: Lake, opened: Opened, identifier: Identifier, file: str, *, overwrite: bool
) -> Relation:
    """Let a table that lies in storage enter the catalog as it is."""

    async def prepare(current: Opened) -> list[Change]:
        before = await _overwritten(current, identifier) if overwrite else None
        if before is None:
            await check_new(current, identifier, Kind.TABLE)
        current.check_allowed([file])
        raw = await read_metadata(lake.files(current), file)
        is_large = len(raw) > METADATA_INLINE_BYTES_MAX
        with found_in(file):
            metadata = await worked_out(is_large, _verified, raw)
        return [await known_state(lake, current, identifier, Found(file, raw, metadata), before)]

    [table] = await commit_relations(lake, opened, f"register table {named(identifier)}", prepare)
    return table


async def _overwritten(opened: Opened, identifier: Identifier) -> Relation | None:
    """The table that a registration takes the place of, if there is one."""
    check_name(identifier.name)
    await find_namespace(opened, identifier.namespace)
    entry = await opened.look(lambda names: entry_of(names, identifier))
    if entry is None:
        return None
    if entry.kind is not Kind.TABLE:
        check_free(entry, identifier, Kind.TABLE)
    return await find_relation(opened, identifier, Kind.TABLE)


async def _new_metadata(
    lake: Lake, opened: Opened, identifier: Identifier, new: NewTable
) -> TableMetadata:
    await check_new(opened, identifier, Kind.TABLE)
    location = await location_of(lake, opened, identifier, new.location)
    uuid, now_ms = lake.new_uuid(), lake.now_ms()

    def work(new: NewTable) -> TableMetadata:
        return new_table(
            new.schema,
            new.partition_spec,
            new.write_order,
            new.properties or {},
            location=location,
            uuid=uuid,
            now_ms=now_ms,
        )

    return await worked_out(new.is_large, work, new)


def _verified(raw: bytes) -> TableMetadata:
    """Metadata that somebody else wrote: whatever its length, all of it is looked at."""
    metadata = table_metadata.parse(raw)
    table_metadata.verify(metadata)
    return metadata
