"""Tables that are there: loaded, listed, renamed, taken out of the catalog."""

from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.paging import Page, Paging
from headgate.catalog.purging import record_purge
from headgate.catalog.relations import (
    Relation,
    check_file,
    drop_relation,
    find_relation,
    list_relations,
    load_relation,
    rename_relation,
)
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier, Levels


async def load_table(lake: Lake, call: Call, identifier: Identifier) -> Relation:
    """A table, whose metadata file must not be missing."""
    return await load_relation(lake, call, identifier, Kind.TABLE)


async def find_table(lake: Lake, call: Call, identifier: Identifier) -> Relation:
    """A table, even one whose metadata file is missing."""
    return await find_relation(await lake.open(call), identifier, Kind.TABLE)


async def table_json(lake: Lake, table: Relation) -> bytes:
    """The metadata of a table."""
    files = lake.files(table.opened)
    return await lake.metadata.raw(files, table.entry.object, table.entity)


async def table_json_of_refs(lake: Lake, table: Relation) -> bytes:
    """The metadata of a table with those snapshots only that a branch or tag names."""
    files = lake.files(table.opened)
    return await lake.metadata.refs(files, table.entry.object, table.entity)


async def list_tables(
    lake: Lake, call: Call, namespace: Levels, paging: Paging
) -> Page[Identifier]:
    """The tables of a namespace."""
    return await list_relations(lake, call, namespace, Kind.TABLE, paging)


async def rename_table(lake: Lake, call: Call, source: Identifier, target: Identifier) -> None:
    """Give a table another name; its files stay where they are."""
    await rename_relation(lake, call, source, target, Kind.TABLE)


async def drop_table(lake: Lake, call: Call, identifier: Identifier, *, purge: bool) -> None:
    """Take a table out of the catalog. With `purge` its files are deleted, in the background."""
    opened = await lake.open(call)

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, call, identifier, Kind.TABLE)
        if purge:
            record_purge(draft, identifier, entry)
        return Done([entry.id])

    await lake.commit(opened, f"drop table {identifier}", attempt)
    if purge:
        lake.purges.wake(opened)


async def unregister_table(lake: Lake, call: Call, identifier: Identifier) -> tuple[str, bytes]:
    """Take a table out of the catalog and leave all its files; its last metadata file."""
    what = f"unregister table {identifier}"
    opened = await lake.open(call)
    known: dict[str, bytes] = {}
    if await lake.done_before(opened, what) is None:  # read it while it can still be refused
        table = await find_relation(opened, identifier, Kind.TABLE)
        await check_file(lake, table)
        known[table.entity.metadata_location] = await table_json(lake, table)

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, call, identifier, Kind.TABLE)
        return Done([entry.id], [draft.fetch(entry.object, TableEntity).metadata_location])

    [location] = (await lake.commit(opened, what, attempt)).words
    return location, known.get(location) or await read_metadata(lake.files(opened), location)
