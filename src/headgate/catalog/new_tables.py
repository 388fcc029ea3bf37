"""Tables that come into a catalog: created, staged for a later commit, or registered."""

import asyncio
from typing import Any

import msgspec

from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Entry, Kind, NamespaceEntity, TableEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import memo, next_file, read_metadata
from headgate.catalog.namespaces import LOCATION, find_namespace, require_namespace
from headgate.catalog.naming import NAMES, RELATIONS, NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.relations import (
    Relation,
    check_free,
    discard_files,
    entry_of,
    find_relation,
    written,
)
from headgate.catalog.reservations import check_locations, locations_of, release, reserve
from headgate.kernel.draft import Draft
from headgate.model import table_metadata
from headgate.model.names import Identifier, Levels, check_name
from headgate.model.physical import default_location, path_segment
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


class Staged(msgspec.Struct, frozen=True):
    """A table that exists for its creator only."""

    opened: Opened
    metadata: TableMetadata


async def create_table(lake: Lake, call: Call, namespace: Levels, new: NewTable) -> Relation:
    """Make a new table with no snapshots."""
    identifier = Identifier(namespace, new.name)
    what = f"create table {identifier}"
    opened = await lake.open(call)
    if await lake.done_before(opened, what) is not None:
        return await find_relation(opened, identifier, Kind.TABLE)
    metadata = await _new_metadata(lake, opened, identifier, new)
    raw = table_metadata.encode(metadata)
    location = next_file(metadata.location, metadata.properties, None, lake.new_uuid())
    entity = _entity(lake, opened, metadata, raw, location)
    files = lake.files(opened)
    async with written(files, {location: raw}):
        added = await _add(lake, opened, identifier, entity, what=what)
    if added is None:  # an earlier delivery of this call was made first
        await discard_files(files, [location])
        return await find_relation(await lake.open(call), identifier, Kind.TABLE)
    lake.metadata.keep(added.entry.object, raw, metadata)
    return added


async def stage_table(lake: Lake, call: Call, namespace: Levels, new: NewTable) -> Staged:
    """What a new table would be; nothing is stored until its creator commits it.

    On a local disk its folder is made: some clients write into it and make none themselves.
    """
    opened = await lake.open(call)
    metadata = await _new_metadata(lake, opened, Identifier(namespace, new.name), new)
    await lake.files(opened).prepare(f"{metadata.location}/metadata")
    return Staged(opened, metadata)


async def register_table(
    lake: Lake, call: Call, identifier: Identifier, metadata_location: str, *, overwrite: bool
) -> Relation:
    """Let a table that lies in storage enter the catalog as it is."""
    check_name(identifier.name)
    what = f"register table {identifier}"
    opened = await lake.open(call)
    if await lake.done_before(opened, what) is not None:
        return await find_relation(opened, identifier, Kind.TABLE)
    await find_namespace(opened, identifier.namespace)
    entry = await opened.look(lambda names: entry_of(names, identifier))
    if not (overwrite and entry is not None and entry.kind is Kind.TABLE):
        check_free(entry, identifier, Kind.TABLE)
    opened.check_allowed([metadata_location])
    raw = await read_metadata(lake.files(opened), metadata_location)
    metadata = await asyncio.to_thread(_verified, raw)
    entity = _entity(lake, opened, metadata, raw, metadata_location)
    opened.check_allowed(entity.reserved)
    added = await _add(lake, opened, identifier, entity, what=what, overwrite=overwrite)
    if added is None:
        return await find_relation(await lake.open(call), identifier, Kind.TABLE)
    lake.metadata.keep(added.entry.object, raw, metadata)
    return added


async def table_location(
    lake: Lake, opened: Opened, identifier: Identifier, wanted: str | None
) -> str:
    """Where a new table or view lies: where it is wanted, else in a place of its own."""
    if wanted:
        return wanted if wanted.endswith("://") else wanted.rstrip("/")
    parent = await find_namespace(opened, identifier.namespace)
    properties = (await opened.head.get(parent.object, NamespaceEntity)).properties
    unique = lake.new_uuid().replace("-", "")
    if LOCATION in properties:
        folder = properties[LOCATION].rstrip("/")
        return f"{folder}/{path_segment(identifier.name)}-{unique}"
    return default_location(opened.catalog.warehouse, identifier.namespace, identifier.name, unique)


async def _new_metadata(
    lake: Lake, opened: Opened, identifier: Identifier, new: NewTable
) -> TableMetadata:
    check_name(identifier.name)
    await find_namespace(opened, identifier.namespace)
    check_free(await opened.look(lambda names: entry_of(names, identifier)), identifier, Kind.TABLE)
    metadata = new_table(
        new.schema,
        new.partition_spec,
        new.write_order,
        new.properties or {},
        location=await table_location(lake, opened, identifier, new.location),
        uuid=lake.new_uuid(),
        now_ms=lake.now_ms(),
    )
    await check_locations(opened, locations_of(metadata.location, metadata.properties))
    return metadata


def _entity(
    lake: Lake, opened: Opened, metadata: TableMetadata, raw: bytes, metadata_location: str
) -> TableEntity:
    now_ms = lake.now_ms()
    return TableEntity(
        metadata.table_uuid,
        metadata.location,
        metadata_location,
        memo(raw),
        locations_of(metadata.location, metadata.properties),
        now_ms,
        opened.call.principal,
        now_ms,
        opened.call.principal,
    )


async def _add(
    lake: Lake,
    opened: Opened,
    identifier: Identifier,
    entity: TableEntity,
    *,
    what: str,
    overwrite: bool = False,
) -> Relation | None:
    """Put a table into the catalog; None if an earlier delivery of this call did."""
    made: list[Entry] = []

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft.index(NAMES))
        parent = require_namespace(names, identifier.namespace)
        old = names.find(parent.id, RELATIONS, identifier.name)
        if old is not None and overwrite and old.kind is Kind.TABLE:
            release(draft, draft.fetch(old.object, TableEntity).reserved)
            draft.discard(old.object)
        else:
            check_free(old, identifier, Kind.TABLE)
        entry = Entry(Kind.TABLE, draft.new_id(), draft.stage(entity))
        reserve(draft, entity.reserved, entry.id)
        names.put(parent.id, RELATIONS, identifier.name, entry)
        draft.note(
            {"do": "create", "kind": "table", "name": identifier, "by": opened.call.principal}
        )
        made[:] = [entry]
        return Done([entry.id])

    done = await lake.commit(opened, what, attempt)
    return None if done.repeated else Relation(opened, made[0], entity)


def _verified(raw: bytes) -> TableMetadata:
    """Metadata that somebody else wrote: whatever its length, all of it is looked at."""
    metadata = table_metadata.parse(raw)
    table_metadata.verify(metadata)
    return metadata
