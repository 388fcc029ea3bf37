"""Commits to tables, one or several at once."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import worked_out
from headgate.catalog.namespaces import find_namespace
from headgate.catalog.openings import Opened
from headgate.catalog.relation_commits import Change, commit_relations, new_state, same_state
from headgate.catalog.relations import Relation, absent, check_free, entry_of, find_relation
from headgate.errors import BadMetadata, BadRequest, InvalidInput, RequirementFailed
from headgate.model import table_requirements, table_updates
from headgate.model.locations import is_within
from headgate.model.names import Identifier, check_name
from headgate.model.physical import physical_name
from headgate.model.table_actions import TableUpdate
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_requirements import TableRequirement, is_create
from headgate.model.table_updates import already_applied, expired_files

DELETE_OLD_FILES = "write.metadata.delete-after-commit.enabled"


class TableChange(NamedTuple):
    """What a client wants of one table."""

    identifier: Identifier
    requirements: Sequence[TableRequirement]
    updates: Sequence[TableUpdate]


async def commit_table(lake: Lake, opened: Opened, change: TableChange) -> Relation:
    """Change a table, or create it; the table as it is afterwards."""
    [table] = await _commit_all(lake, opened, [change], f"update table {_name(change)}")
    return table


async def commit_transaction(lake: Lake, opened: Opened, changes: Sequence[TableChange]) -> None:
    """Change tables, all or none."""
    names = ", ".join(map(_name, changes))
    await _commit_all(lake, opened, changes, f"transaction on {names}")


async def _commit_all(
    lake: Lake, opened: Opened, changes: Sequence[TableChange], what: str
) -> list[Relation]:
    identifiers = [change.identifier for change in changes]
    if len(set(identifiers)) != len(identifiers):
        raise BadRequest(
            "Invalid transaction", why="it names a table twice", fix="Join the changes of a table"
        )

    async def prepare(current: Opened) -> list[Change]:
        return [await _prepare(lake, current, change) for change in changes]

    lanes = [(opened.call.catalog, identifier) for identifier in identifiers]
    async with lake.lanes.enter(lanes) as waited:
        if waited:
            opened = await lake.open(opened.call)
        return await commit_relations(lake, opened, what, prepare)


async def _prepare(lake: Lake, opened: Opened, change: TableChange) -> Change:
    """Work a change out on the present state of its table."""
    before = await _find(opened, change)
    old = None
    if before is not None:
        files = lake.files(opened)
        old = await lake.metadata.table(files, before.entry.object, before.entity)
    try:
        table_requirements.check(old, change.requirements)
        new = await _apply(lake, change, before, old)
    except (RequirementFailed, BadMetadata):
        if old is None or not already_applied(old, change.updates):
            raise
        new = old  # the same commit was made before, and its answer was lost
    if before is not None and new is old:
        return same_state(change.identifier, before, new)
    made = await new_state(lake, opened, change.identifier, new, before)
    return made._replace(expired=_expired(old, new, made.entity.reserved))


async def _apply(
    lake: Lake, change: TableChange, before: Relation | None, old: TableMetadata | None
) -> TableMetadata:
    apply = partial(
        table_updates.apply,
        now_ms=lake.now_ms(),
        previous_location=before.entity.metadata_location if before else None,
        new_uuid=lake.new_uuid(),
    )
    is_large = before is not None and before.entity.is_large
    return await worked_out(is_large, lambda updates: apply(old, updates), change.updates)


async def _find(opened: Opened, change: TableChange) -> Relation | None:
    """The table to be changed, None if it is to be created."""
    entry = await opened.look(lambda names: entry_of(names, change.identifier))
    if is_create(change.requirements):
        check_name(change.identifier.name)
        await find_namespace(opened, change.identifier.namespace)
        if entry is None or entry.kind is not Kind.TABLE:
            check_free(entry, change.identifier, Kind.TABLE)
            return None
    elif entry is None:
        raise absent(change.identifier, Kind.TABLE)
    return await find_relation(opened, change.identifier, Kind.TABLE)


def _expired(old: TableMetadata | None, new: TableMetadata, reserved: Sequence[str]) -> list[str]:
    """Metadata files that fell out of the table's log and lie within the table.

    The log of a registered table may name files of others.
    """
    if new.properties.get(DELETE_OLD_FILES, "false").lower() != "true":
        return []
    own = []
    for file in expired_files(old, new):
        with suppress(InvalidInput):  # no location at all
            if any(is_within(file, location) for location in reserved):
                own.append(file)
    return own


def _name(change: TableChange) -> str:
    """Names the table as no other is named."""
    return physical_name((*change.identifier.namespace, change.identifier.name))
