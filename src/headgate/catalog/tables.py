"""Tables that are there: their metadata, and how they leave the catalog."""

from typing import NamedTuple

from headgate.access.rules import DROP_TABLE
from headgate.catalog.calls import Done
from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.events import TableDropped
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.openings import Opened
from headgate.catalog.purging import LiveJob, live_job, record_purge
from headgate.catalog.relations import (
    Relation,
    check_file,
    done_before,
    drop_relation,
    find_permitted,
    find_relation,
    named,
)
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier


class Unregistered(NamedTuple):
    """A table that left the catalog, with its last metadata file."""

    id: int
    metadata_location: str
    metadata: bytes


async def metadata_json(lake: Lake, relation: Relation) -> bytes:
    """The metadata of a table or view."""
    files = lake.files(relation.opened)
    return await lake.metadata.raw(files, relation.state)


async def metadata_json_of_refs(lake: Lake, table: Relation) -> bytes:
    """The metadata of a table with those snapshots only that a branch or tag names."""
    files = lake.files(table.opened)
    return await lake.metadata.refs(files, table.state, table.opened.call.tenant)


async def drop_table(lake: Lake, opened: Opened, identifier: Identifier, *, purge: bool) -> int:
    """Take a table out of the catalog; its id. With `purge` its files are deleted.

    That may take a while: whether it is waited for is up to who does it.
    """
    what = f"drop table {named(identifier)}"
    done = await done_before(lake, opened, identifier, what)
    if done is not None:
        return done.ids[0]
    meant = await find_permitted(opened, DROP_TABLE, identifier)

    recorded: list[LiveJob] = []

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, opened.call, identifier, Kind.TABLE, meant, purge=purge)
        if not purge:
            return Done([entry.id])
        job = record_purge(draft, opened.call, identifier, entry, lake.purging.terms)
        recorded[:] = [live_job(draft, opened, job)]
        return Done([entry.id, job])

    done = await lake.commit(opened, what, attempt)
    [id, *jobs] = done.ids
    if not done.repeated:
        lake.events.publish(_dropped(lake, opened, identifier, *jobs, purge=purge))
        for live in recorded:
            await lake.purging.hand_over(live)
    return id


def _dropped(
    lake: Lake, opened: Opened, identifier: Identifier, job: int = 0, *, purge: bool
) -> TableDropped:
    """What listeners are told."""
    call = opened.call
    return TableDropped(
        at_ms=lake.now_ms(),
        metalake=call.catalog.metalake,
        catalog=call.catalog.catalog,
        table=identifier,
        job=job,
        principal=call.principal,
        request=call.request,
        purge_requested=purge,
    )


async def unregister_table(lake: Lake, opened: Opened, identifier: Identifier) -> Unregistered:
    """Take a table out of the catalog and leave all its files."""
    meant = await find_permitted(opened, DROP_TABLE, identifier)
    what = f"unregister table {named(identifier)}"
    known: dict[str, bytes] = {}
    if await lake.done_before(opened, what) is None:  # read it while it can still be refused
        table = await find_relation(opened, identifier, Kind.TABLE)
        await check_file(lake, table)
        known[table.entity.metadata_location] = await metadata_json(lake, table)

    def attempt(draft: Draft) -> Done:
        entry = drop_relation(draft, opened.call, identifier, Kind.TABLE, meant)
        return Done([entry.id], [draft.fetch(entry.object, TableEntity).metadata_location])

    [id], [location], _ = await lake.commit(opened, what, attempt)
    raw = known.get(location) or await read_metadata(lake.files(opened), location)
    return Unregistered(id, location, raw)
