"""Commits to tables, one or several at once."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headgate.access.rules import ALTER_TABLE, CREATE_TABLE, LOAD_CATALOG, LOAD_SCHEMA
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace
from headgate.catalog.openings import Opened
from headgate.catalog.relation_commits import Change, commit_relations, new_state, same_state
from headgate.catalog.relations import Relation, absent, check_free, entry_of, find_relation
from headgate.catalog.versions import changed_table, new_version
from headgate.clock import Clock
from headgate.errors import BadRequest, HeadgateError, TableNotFound
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX, MEMO_BYTES_MAX, METADATA_INLINE_BYTES_MAX
from headgate.model.json_values import Json
from headgate.model.names import Identifier, check_name
from headgate.model.physical import physical_name
from headgate.model.table_actions import (
    AddSchema,
    AddSortOrder,
    AddSpec,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    TableUpdate,
    decode_updates,
)
from headgate.model.table_requirements import TableRequirement, decode_requirements, is_create

TRANSACTION_MEMOS_BYTES_MAX = MEMO_BYTES_MAX
TURN_SECONDS = 0.002  # that a transaction takes before others have their turn
_DEFINING = (
    AddSchema | SetCurrentSchema | AddSpec | SetDefaultSpec | AddSortOrder | SetDefaultSortOrder
)


class TableChange(NamedTuple):
    """What a client wants of one table, as it wrote it."""

    identifier: Identifier
    requirements: Json
    updates: Json


class _Wanted(NamedTuple):
    """The same, read if it is not too large for that."""

    change: TableChange
    requirements: Sequence[TableRequirement]
    updates: Sequence[TableUpdate]
    is_read: bool = True

    @property
    def identifier(self) -> Identifier:
        return self.change.identifier


class _Turn:
    """Work that is interrupted now and then. Changes differ: by time, not by their number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._end = clock.seconds() + TURN_SECONDS

    async def end_in_time(self) -> None:
        """Let others work if this has taken long enough."""
        if self._clock.seconds() >= self._end:
            await asyncio.sleep(0)
            self._end = self._clock.seconds() + TURN_SECONDS


async def commit_table(lake: Lake, opened: Opened, change: TableChange) -> Relation:
    """Change a table, or create it; the table as it is afterwards."""
    what = f"update table {_name(change)}"
    [table] = await _commit_all(lake, opened, [await _read_for(opened, change)], what)
    return table


async def prepare_table(lake: Lake, opened: Opened, change: TableChange) -> Change:
    """Work a change out on the present state of its table, for a commit."""
    return await _prepare(lake, opened, _read(change))


async def commit_transaction(lake: Lake, opened: Opened, changes: Sequence[TableChange]) -> None:
    """Change tables, all or none."""
    if len({change.identifier for change in changes}) != len(changes):
        await opened.require(LOAD_CATALOG)
        raise BadRequest(
            "Invalid transaction", why="it names a table twice", fix="Join the changes of a table"
        )
    turn, wanted = _Turn(lake.kernel.clock), []
    for change in changes:
        wanted.append(await _read_for(opened, change))
        await turn.end_in_time()
    names = ", ".join(map(_name, changes))
    await _commit_all(lake, opened, wanted, f"transaction on {names}")


async def _commit_all(
    lake: Lake, opened: Opened, wanted: Sequence[_Wanted], what: str
) -> list[Relation]:
    await _authorize(opened, wanted)
    permitted = opened

    async def prepare(current: Opened) -> list[Change]:
        if current is not permitted:  # by now there may be other tables under these names
            await _authorize(current, wanted)
        turn, prepared = _Turn(lake.kernel.clock), []
        for one in wanted:
            prepared.append(await _prepare(lake, current, one))
            await turn.end_in_time()
        return _with_few_memos(prepared)

    lanes = [(opened.call.catalog, one.identifier) for one in wanted]
    async with lake.lanes.enter(lanes) as waited:
        if waited:
            opened = await lake.open(opened.call)
        return await commit_relations(lake, opened, what, prepare)


async def _authorize(opened: Opened, wanted: Sequence[_Wanted]) -> None:
    """Refuse to change tables that the caller may not change, or create."""
    if not opened.access.is_checked:
        return
    for one in wanted:
        if not one.is_read or is_create(one.requirements):
            await _authorize_creation(opened, one.identifier)
        else:
            await opened.require(ALTER_TABLE, *one.identifier)


async def _authorize_creation(opened: Opened, identifier: Identifier) -> None:
    """Refuse to create a table, or to change it if it is there, in words that do not tell which."""
    is_there = await opened.look(partial(entry_of, identifier=identifier)) is not None
    if not is_there or not await opened.may(ALTER_TABLE, *identifier):
        await opened.require(CREATE_TABLE, identifier.namespace)
    if is_there:
        await opened.require(ALTER_TABLE, *identifier)


def _with_few_memos(changes: Sequence[Change]) -> list[Change]:
    """Changes that can be stored in one step: what is stored is compressed in it.

    Metadata that is not kept in the database is read from its file.
    """
    few, size = [], 0
    for change in changes:
        memo_bytes = len(change.entity.metadata)
        if change.version is None or size + memo_bytes <= TRANSACTION_MEMOS_BYTES_MAX:
            few.append(change)
            size += memo_bytes
        else:
            few.append(change._replace(entity=replace(change.entity, metadata=b"")))
    return few


async def _read_for(opened: Opened, change: TableChange) -> _Wanted:
    """Who may not know whether there is such a schema is not told what is wrong with a change."""
    try:
        return _read(change)
    except HeadgateError:
        await opened.require(LOAD_SCHEMA, change.identifier.namespace)
        raise


def _read(change: TableChange) -> _Wanted:
    size = memoryview(change.requirements).nbytes + memoryview(change.updates).nbytes
    if size > DEFINITIONS_INLINE_BYTES_MAX:
        return _Wanted(change, (), (), is_read=False)
    return _Wanted(change, decode_requirements(change.requirements), decode_updates(change.updates))


async def _prepare(lake: Lake, opened: Opened, wanted: _Wanted) -> Change:
    """Work a change out on the present state of its table."""
    if not wanted.is_read:
        return await _prepare_unread(lake, opened, wanted.change)
    before = await _find(opened, wanted)
    old = None
    if before is not None:
        memo_bytes = len(before.entity.metadata)
        is_light = 0 < memo_bytes <= DEFINITIONS_INLINE_BYTES_MAX
        if not is_light and await _is_heavy(lake, before, wanted.updates):
            return await _prepare_elsewhere(lake, opened, wanted.change, before)
        files = lake.files(opened)
        old = await lake.metadata.table(files, before.state)
    terms = lake.terms(before.entity if before else None)
    new = changed_table(old, wanted.requirements, wanted.updates, terms)
    if before is not None and new is old:
        return same_state(wanted.identifier, before)
    version = new_version(new, terms, old)
    return await new_state(lake, opened, wanted.identifier, version, before)


async def _prepare_unread(lake: Lake, opened: Opened, change: TableChange) -> Change:
    """The same for a request that is too large to be read here."""
    identifier = change.identifier
    entry = await opened.look(lambda names: entry_of(names, identifier))
    if entry is not None and entry.kind is Kind.TABLE:
        before = await find_relation(opened, identifier, Kind.TABLE)
        return await _prepare_elsewhere(lake, opened, change, before)
    try:
        made = await _prepare_elsewhere(lake, opened, change, None)
    except TableNotFound:
        raise absent(identifier, Kind.TABLE) from None
    check_name(identifier.name)
    await find_namespace(opened, identifier.namespace)
    check_free(entry, identifier, Kind.TABLE)
    return made


async def _prepare_elsewhere(
    lake: Lake, opened: Opened, change: TableChange, before: Relation | None
) -> Change:
    """The same in a worker process."""
    terms = lake.terms(before.entity if before else None)
    present = None
    if before is not None:
        files = lake.files(opened)
        present = await lake.metadata.present(files, before.state)
    version = await lake.large.commit(
        Kind.TABLE, present, change.requirements, change.updates, terms, opened.call.tenant
    )
    if version is None:
        assert before is not None, "what is not there cannot stay the same"
        return same_state(change.identifier, before)
    return await new_state(lake, opened, change.identifier, version, before)


async def _is_heavy(lake: Lake, before: Relation, updates: Sequence[TableUpdate]) -> bool:
    """Whether a change takes so long that others would have to wait."""
    files = lake.files(before.opened)
    size = len(await lake.metadata.raw(files, before.state))
    return size > METADATA_INLINE_BYTES_MAX or (
        size > DEFINITIONS_INLINE_BYTES_MAX and any(isinstance(one, _DEFINING) for one in updates)
    )


async def _find(opened: Opened, wanted: _Wanted) -> Relation | None:
    """The table to be changed, None if it is to be created."""
    identifier = wanted.identifier
    entry = await opened.look(lambda names: entry_of(names, identifier))
    if is_create(wanted.requirements):
        check_name(identifier.name)
        await find_namespace(opened, identifier.namespace)
        if entry is None or entry.kind is not Kind.TABLE:
            check_free(entry, identifier, Kind.TABLE)
            return None
    elif entry is None:
        raise absent(identifier, Kind.TABLE)
    return await find_relation(opened, identifier, Kind.TABLE)


def _name(change: TableChange) -> str:
    """Names the table as no other is named."""
    return physical_name((*change.identifier.namespace, change.identifier.name))
