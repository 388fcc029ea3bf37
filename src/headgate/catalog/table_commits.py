"""Commits to tables, one or several at once: prepared on what is there, made if it still is.

Everything that takes time happens before the commit: checks, new metadata, its file. The commit
itself only compares: if a table is no longer as it was, all is prepared again on what it is now.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Entry, Kind, TableEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import memo, next_file
from headgate.catalog.namespaces import find_namespace, require_namespace
from headgate.catalog.naming import NAMES, RELATIONS, NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.relations import (
    Relation,
    absent,
    check_free,
    discard_files,
    entry_of,
    find_relation,
    written,
)
from headgate.catalog.reservations import check_locations, locations_of, move
from headgate.errors import (
    BadMetadata,
    BadRequest,
    CommitTimedOut,
    InvalidInput,
    RequirementFailed,
)
from headgate.kernel.draft import Draft
from headgate.limits import TABLE_COMMIT_TRIES_MAX
from headgate.model import table_metadata, table_requirements, table_updates
from headgate.model.locations import is_within
from headgate.model.names import Identifier, check_name
from headgate.model.table_actions import TableUpdate
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_requirements import AssertCreate, TableRequirement
from headgate.model.table_updates import already_applied, expired_files

DELETE_OLD_FILES = "write.metadata.delete-after-commit.enabled"


class TableChange(NamedTuple):
    """What a client wants of one table."""

    identifier: Identifier
    requirements: Sequence[TableRequirement]
    updates: Sequence[TableUpdate]


class _Prepared(NamedTuple):
    """A change that was worked out on one state of its table."""

    identifier: Identifier
    before: Relation | None
    metadata: TableMetadata
    raw: bytes
    """The content of the new metadata file; empty if nothing changes."""
    entity: TableEntity
    expired: list[str]


class _MovedError(Exception):
    """A table is no longer in the state its change was worked out on."""


async def commit_table(lake: Lake, call: Call, change: TableChange) -> Relation:
    """Change a table, or create it; the table as it is afterwards."""
    made = await _commit_all(lake, call, [change], f"update table {change.identifier}")
    if made is None:
        return await find_relation(await lake.open(call), change.identifier, Kind.TABLE)
    return made[0]


async def commit_transaction(lake: Lake, call: Call, changes: Sequence[TableChange]) -> None:
    """Change tables, all or none."""
    names = ", ".join(str(change.identifier) for change in changes)
    await _commit_all(lake, call, changes, f"transaction on {names}")


async def _commit_all(
    lake: Lake, call: Call, changes: Sequence[TableChange], what: str
) -> list[Relation] | None:
    """The tables as they are after the commit; None if an earlier delivery of the call made it."""
    identifiers = [change.identifier for change in changes]
    if len(set(identifiers)) != len(identifiers):
        raise BadRequest(
            "Invalid transaction", why="it names a table twice", fix="Join the changes of a table"
        )
    async with lake.lanes.enter((call.catalog, identifier) for identifier in identifiers):
        for _ in range(TABLE_COMMIT_TRIES_MAX):
            opened = await lake.open(call)
            if await lake.done_before(opened, what) is not None:
                return None
            prepared = [await _prepare(lake, opened, change) for change in changes]
            with suppress(_MovedError):
                return await _commit(lake, opened, prepared, what)
    raise CommitTimedOut(
        f"The commit to {', '.join(map(str, identifiers))} was not made",
        why="others changed the same tables first, again and again",
        fix="Try again",
    )


async def _prepare(lake: Lake, opened: Opened, change: TableChange) -> _Prepared:
    """Work a change out on the present state of its table."""
    before = await _find(opened, change)
    files = lake.files(opened)
    old = None
    if before is not None:
        old = await lake.metadata.table(files, before.entry.object, before.entity)
    previous = before.entity.metadata_location if before else None
    now_ms = lake.now_ms()
    try:
        table_requirements.check(old, change.requirements)
        new = table_updates.apply(
            old,
            change.updates,
            now_ms=now_ms,
            previous_location=previous,
            new_uuid=lake.new_uuid(),
        )
    except (RequirementFailed, BadMetadata):
        if before is None or old is None or not already_applied(old, change.updates):
            raise
        new = old  # the same commit was made before, and its answer was lost
    if before is not None and new is old:
        return _Prepared(change.identifier, before, new, b"", before.entity, [])
    raw = table_metadata.encode(new)
    reserved = locations_of(new.location, new.properties)
    await check_locations(opened, reserved, before.holding if before else None)
    entity = TableEntity(
        new.table_uuid,
        new.location,
        next_file(new.location, new.properties, previous, lake.new_uuid()),
        memo(raw),
        reserved,
        before.entity.created_ms if before else now_ms,
        before.entity.created_by if before else opened.call.principal,
        now_ms,
        opened.call.principal,
    )
    expired = _own(expired_files(old, new), reserved) if _deletes_old_files(new) else []
    return _Prepared(change.identifier, before, new, raw, entity, expired)


async def _find(opened: Opened, change: TableChange) -> Relation | None:
    """The table to be changed, None if it is to be created."""
    entry = await opened.look(lambda names: entry_of(names, change.identifier))
    if any(isinstance(one, AssertCreate) for one in change.requirements):
        check_name(change.identifier.name)
        await find_namespace(opened, change.identifier.namespace)
        if entry is None or entry.kind is not Kind.TABLE:
            check_free(entry, change.identifier, Kind.TABLE)
            return None
    elif entry is None:
        raise absent(change.identifier, Kind.TABLE)
    return await find_relation(opened, change.identifier, Kind.TABLE)


async def _commit(
    lake: Lake, opened: Opened, prepared: Sequence[_Prepared], what: str
) -> list[Relation] | None:
    """Write the files and swap all tables to them; `_MovedError` if one changed meanwhile.

    None if an earlier delivery of the call did.
    """
    changed = [one for one in prepared if one.raw]
    entries: list[Entry] = []

    def attempt(draft: Draft) -> Done:
        entries[:] = [_apply(draft, one) for one in prepared]
        if changed:
            draft.note(_note(opened.call, changed))
        return Done([entries[0].id])

    files = lake.files(opened)
    contents = {one.entity.metadata_location: one.raw for one in changed}
    try:
        async with written(files, contents):
            done = await lake.commit(opened, what, attempt)
    except _MovedError:
        await discard_files(files, list(contents))
        raise
    if done.repeated:
        await discard_files(files, list(contents))
        return None
    relations = [
        Relation(opened, entry, one.entity) for entry, one in zip(entries, prepared, strict=True)
    ]
    for relation, one in zip(relations, prepared, strict=True):
        if one.raw:
            lake.metadata.keep(relation.entry.object, one.raw, one.metadata)
        if one.expired:
            await discard_files(files, one.expired)
    return relations


def _apply(draft: Draft, one: _Prepared) -> Entry:
    """Bring one table into its new state, if it still is in the old one; its new entry."""
    names = NamesDraft(draft.index(NAMES))
    before = entry_of(names, one.identifier)
    if before != (one.before.entry if one.before else None):
        raise _MovedError
    if before is not None and not one.raw:
        return before
    parent = require_namespace(names, one.identifier.namespace)
    id = before.id if before else draft.new_id()
    after = Entry(Kind.TABLE, id, draft.stage(one.entity), before.owner if before else 0)
    move(draft, one.entity.reserved, id, one.before.holding if one.before else None)
    names.put(parent.id, RELATIONS, one.identifier.name, after)
    if before is not None:
        draft.discard(before.object)
    return after


def _note(call: Call, changed: Sequence[_Prepared]) -> dict[str, object]:
    """What the change log says."""
    tables = [
        {"do": "alter" if one.before else "create", "kind": "table", "name": one.identifier}
        for one in changed
    ]
    if len(tables) == 1:
        return {**tables[0], "by": call.principal}
    return {"do": "transaction", "changes": tables, "by": call.principal}


def _own(files: Sequence[str], reserved: Sequence[str]) -> list[str]:
    """Those of these files that lie within the table: its log may come from elsewhere."""
    own = []
    for file in files:
        with suppress(InvalidInput):  # no location at all
            if any(is_within(file, location) for location in reserved):
                own.append(file)
    return own


def _deletes_old_files(metadata: TableMetadata) -> bool:
    return metadata.properties.get(DELETE_OLD_FILES, "false").lower() == "true"
