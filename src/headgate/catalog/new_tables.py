"""Tables that come into a catalog: created, staged for a later commit, or registered."""

from typing import NamedTuple

from headgate.access.rules import CREATE_TABLE, DROP_TABLE
from headgate.catalog.claimants import NOBODY, Claimant
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace, id_of_namespace, require_namespace
from headgate.catalog.naming import NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.own_places import check_locations, chooses_freely
from headgate.catalog.placing import check_new, location_of
from headgate.catalog.registrations import registered_version
from headgate.catalog.relation_commits import Change, commit_relations, known_state, new_state
from headgate.catalog.relations import Relation, check_free, entry_of, find_relation, named
from headgate.catalog.reservations import stage
from headgate.catalog.schema_places import check_apart
from headgate.catalog.staged_places import hold_ms
from headgate.catalog.versions import (
    NewTable,
    Version,
    first_table,
    new_version,
)
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier, Levels, check_name


class LargeTable(NamedTuple):
    """A request for a table that is too large to be read here."""

    name: str
    location: str | None
    request: bytes


async def create_table(
    lake: Lake, opened: Opened, namespace: Levels, new: NewTable | LargeTable
) -> Relation:
    """Make a new table with no snapshots."""
    await opened.require(CREATE_TABLE, namespace)
    identifier = Identifier(namespace, new.name)

    async def prepare(current: Opened) -> list[Change]:
        if current is not opened:  # by now there may be another namespace of this name
            await current.require(CREATE_TABLE, namespace)
        version = await _first_version(lake, current, identifier, new)
        return [await new_state(lake, current, identifier, version, None)]

    [table] = await commit_relations(lake, opened, f"create table {named(identifier)}", prepare)
    return table


async def stage_table(
    lake: Lake, opened: Opened, namespace: Levels, new: NewTable | LargeTable
) -> Version:
    """What a new table would be; only its place is taken until its creator commits it, or for a
    while if it does not.

    On a local disk its folder is made: some clients write into it and make none themselves.
    """
    await opened.require(CREATE_TABLE, namespace)
    identifier = Identifier(namespace, new.name)
    version = await _first_version(lake, opened, identifier, new)
    wanted = version.facts.reserved
    await check_locations(lake, opened, namespace, wanted)
    meant = await id_of_namespace(opened, namespace)
    is_free, principal = chooses_freely(opened), opened.call.principal
    held_ms = hold_ms(lake.storage, wanted)

    def attempt(draft: Draft) -> None:
        schema = require_namespace(NamesDraft(draft), namespace, meant)
        claimant = Claimant(NOBODY, schema.id, is_free, principal, draft.now_ms)
        check_apart(draft, opened.catalog.warehouse, wanted, claimant)
        stage(draft, wanted, claimant, held_ms)

    await opened.realm.commit(opened.pointer, attempt)
    await lake.files(opened).prepare(f"{version.facts.location}/metadata")
    return version


async def register_table(
    lake: Lake, opened: Opened, identifier: Identifier, file: str, *, overwrite: bool
) -> Relation:
    """Let a table that lies in storage enter the catalog as it is."""
    await opened.require(CREATE_TABLE, identifier.namespace)

    async def prepare(current: Opened) -> list[Change]:
        if current is not opened:  # by now there may be another namespace of this name
            await current.require(CREATE_TABLE, identifier.namespace)
        before = await _overwritten(current, identifier) if overwrite else None
        if before is not None:
            await current.require(DROP_TABLE, *identifier)
        if before is None:
            await check_new(current, identifier, Kind.TABLE)
        version = await registered_version(
            lake, current, Kind.TABLE, identifier.namespace, file, before
        )
        return [await known_state(lake, current, identifier, version, before)]

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


async def _first_version(
    lake: Lake, opened: Opened, identifier: Identifier, new: NewTable | LargeTable
) -> Version:
    await check_new(opened, identifier, Kind.TABLE)
    location = await location_of(lake, opened, identifier, new.location)
    terms = lake.terms(None)
    if isinstance(new, LargeTable):
        tenant = opened.call.tenant
        return await lake.large.create(Kind.TABLE, new.request, location, terms, tenant)
    return new_version(first_table(new, location, terms), terms)
