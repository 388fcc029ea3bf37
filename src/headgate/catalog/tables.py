"""Tables that are there: their metadata, and how they leave the catalog."""

from headgate.catalog.calls import Done
from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.openings import Opened
from headgate.catalog.purging import record_purge
from headgate.catalog.relations import Relation, check_file, drop_relation, find_relation, named
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier


async def metadata_json(lake: Lake, relation: Relation) -> bytes:
    """The metadata of a table or view."""
    files = lake.files(relation.opened)
    return await lake.metadata.raw(files, relation.entry.object, relation.entity)


async def metadata_json_of_refs(lake: Lake, table: Relation) -> bytes:
    """The metadata of a table with those snapshots only that a branch or tag names."""
    files = lake.files(table.opened)
    return await lake.metadata.refs(files, table.entry.object, table.entity)


async def drop_table(lake: Lake, opened: Opened, identifier: Identifier, *, purge: bool) -> None:
    """Take a table out of the catalog. With `purge` its files are deleted, in the background."""

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, opened.call, identifier, Kind.TABLE, keeps_locations=purge)
        if purge:
            record_purge(draft, identifier, entry)
        return Done([entry.id])

    await lake.commit(opened, f"drop table {named(identifier)}", attempt)
    if purge:
        lake.purges.wake(opened.call.catalog)


async def unregister_table(lake: Lake, opened: Opened, identifier: Identifier) -> tuple[str, bytes]:
    """Take a table out of the catalog and leave all its files; its last metadata file."""
    what = f"unregister table {named(identifier)}"
    known: dict[str, bytes] = {}
    if await lake.done_before(opened, what) is None:  # read it while it can still be refused
        table = await find_relation(opened, identifier, Kind.TABLE)
        await check_file(lake, table)
        known[table.entity.metadata_location] = await metadata_json(lake, table)

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, opened.call, identifier, Kind.TABLE)
        return Done([entry.id], [draft.fetch(entry.object, TableEntity).metadata_location])

    [location] = (await lake.commit(opened, what, attempt)).words
    return location, known.get(location) or await read_metadata(lake.files(opened), location)
