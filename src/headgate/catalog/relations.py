"""What tables and views have in common: one space of names, files, dropping and renaming."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from headgate.access.rules import (
    ALTER_TABLE,
    ALTER_VIEW,
    CREATE_TABLE,
    CREATE_VIEW,
    DROP_TABLE,
    DROP_VIEW,
    LOAD_SCHEMA,
    LOAD_TABLE,
    LOAD_VIEW,
    Rule,
)
from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Entry, Kind, TableEntity, ViewEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_cache import State
from headgate.catalog.metadata_files import write_metadata
from headgate.catalog.namespaces import find_namespace, id_of_namespace, require_namespace
from headgate.catalog.naming import RELATIONS, Names, NamesDraft
from headgate.catalog.openings import Heads, Opened
from headgate.catalog.paging import Page, Paging, list_names
from headgate.catalog.ports import Files
from headgate.catalog.reservations import Holding, leave
from headgate.errors import (
    AlreadyExists,
    FileMissing,
    HeadgateError,
    NotFound,
    OutcomeUnknown,
    TableExists,
    TableNotFound,
    ViewExists,
    ViewNotFound,
)
from headgate.kernel.draft import Draft
from headgate.limits import ENTRIES_KNOWN_MAX
from headgate.model.names import Identifier, Levels, check_name
from headgate.model.physical import physical_name

ENTITIES: dict[Kind, type[TableEntity]] = {Kind.TABLE: TableEntity, Kind.VIEW: ViewEntity}
_WORDS = {Kind.TABLE: "Table", Kind.VIEW: "View"}
_EXISTS: dict[Kind, type[AlreadyExists]] = {Kind.TABLE: TableExists, Kind.VIEW: ViewExists}
_LOADING = {Kind.TABLE: LOAD_TABLE, Kind.VIEW: LOAD_VIEW}
_ALTERING = {Kind.TABLE: ALTER_TABLE, Kind.VIEW: ALTER_VIEW}
_DROPPING = {Kind.TABLE: DROP_TABLE, Kind.VIEW: DROP_VIEW}
_CREATING = {Kind.TABLE: CREATE_TABLE, Kind.VIEW: CREATE_VIEW}
_ABSENT: dict[Kind, type[NotFound]] = {Kind.TABLE: TableNotFound, Kind.VIEW: ViewNotFound}


class Relation(NamedTuple):
    """A table or view as one request finds it."""

    opened: Opened
    entry: Entry
    entity: TableEntity

    @property
    def holding(self) -> Holding:
        """The locations it has."""
        return Holding(self.entry.id, self.entity.reserved)

    @property
    def state(self) -> State:
        """Its present state, as the cache of metadata knows it."""
        return State(self.opened.realm.id, self.entry.object, self.entity)


async def load_relation(lake: Lake, opened: Opened, identifier: Identifier, kind: Kind) -> Relation:
    """The table or view of this name, whose metadata file must not be missing."""
    relation = await see_relation(opened, identifier, kind)
    await check_file(lake, relation)
    return relation


async def see_relation(opened: Opened, identifier: Identifier, kind: Kind) -> Relation:
    """The table or view of this name, if the caller may see it."""
    await opened.require(_LOADING[kind], *identifier)
    return await find_relation(opened, identifier, kind)


async def find_relation(opened: Opened, identifier: Identifier, kind: Kind) -> Relation:
    """The table or view of this name, whoever asks."""
    entry = opened.entries.get(identifier)
    if entry is None:
        entry = await opened.look(lambda names: entry_of(names, identifier))
        if entry is not None and len(opened.entries) < ENTRIES_KNOWN_MAX:
            opened.entries[identifier] = entry
    if entry is None or entry.kind is not kind:
        raise absent(identifier, kind)
    return Relation(opened, entry, await opened.head.get(entry.object, ENTITIES[kind]))


async def check_file(lake: Lake, relation: Relation) -> None:
    """Refuse a table whose metadata file is gone, where that can be told cheaply."""
    files, location = lake.files(relation.opened), relation.entity.metadata_location
    missing = files.missing_now(location)
    if missing is None and lake.options.verify_metadata_files:
        missing = await files.missing(location)
    if missing:
        raise FileMissing(f"Failed to open input stream for file: {location}")


class Found(NamedTuple):
    """The ground of an answer with a table or view: its pointers, and its metadata file."""

    heads: Heads
    files: Files
    location: str

    async def holds(self) -> bool:
        """Whether the pointers are as they were, and the file is not known to be missing."""
        return await self.heads.holds() and not self.files.missing_now(self.location)


def ground_of(lake: Lake, relation: Relation) -> Found | None:
    """What an answer with this table or view rests on; None if its store has to be asked."""
    files, location = lake.files(relation.opened), relation.entity.metadata_location
    if lake.options.verify_metadata_files and files.missing_now(location) is None:
        return None
    return Found(relation.opened.heads, files, location)


async def list_relations(
    opened: Opened, namespace: Levels, kind: Kind, paging: Paging
) -> Page[Identifier]:
    """The tables or the views of a namespace that the caller may see, not of those below it."""
    await opened.require(LOAD_SCHEMA, namespace)
    parent = (await find_namespace(opened, namespace)).id
    is_seen = await opened.sieve(_LOADING[kind], namespace)

    def pick(name: str, entry: Entry) -> Identifier | None:
        if entry.kind is not kind or (is_seen is not None and not is_seen(entry)):
            return None
        return Identifier(namespace, name)

    return await list_names(opened, parent, RELATIONS, paging, pick)


async def rename_relation(
    lake: Lake, opened: Opened, source: Identifier, target: Identifier, kind: Kind
) -> None:
    """Give a table or view another name, in this or another namespace."""
    what = f"rename {_word(kind)} {named(source)} to {named(target)}"
    if await done_before(lake, opened, source, what) is not None:
        return
    meant = await find_permitted(opened, _ALTERING[kind], source)
    if target.namespace != source.namespace:  # who owns the other one would own it from then on
        await opened.require(_DROPPING[kind], *source)
        await opened.require(_CREATING[kind], target.namespace)
    check_name(target.name)
    into = await id_of_namespace(opened, target.namespace)

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft)
        entry = _meant(names, source, kind, meant)
        parent = require_namespace(names, target.namespace, into)
        taken = names.find(parent.id, RELATIONS, target.name)
        if taken is not None:
            raise _EXISTS[taken.kind](
                f"Cannot rename {source} to {target}. {_WORDS[taken.kind]} already exists"
            )
        remove_name(names, source, entry)
        names.add(parent.id, RELATIONS, target.name, entry)
        draft.note(opened.call.note("rename", _word(kind), source, to=target))
        return Done([entry.id])

    await lake.commit(opened, what, attempt)


async def done_before(lake: Lake, opened: Opened, identifier: Identifier, what: str) -> Done | None:
    """What an earlier delivery of this call did to what had this name; None if this is the first.

    What it took away has no owner who could be asked for: who may still use the schema is told.
    """
    done = await lake.done_before(opened, what)
    if done is not None:
        await opened.require(LOAD_SCHEMA, identifier.namespace)
    return done


async def find_permitted(opened: Opened, rule: Rule, identifier: Identifier) -> Entry | None:
    """What has this name, if the rule permits it to the caller; None if nothing has."""
    await opened.require(rule, *identifier)
    return await opened.look(lambda names: entry_of(names, identifier))


def drop_relation(
    draft: Draft,
    call: Call,
    identifier: Identifier,
    kind: Kind,
    meant: Entry | None,
    *,
    purge: bool = False,
) -> Entry:
    """Take a table or view out of its catalog, in a commit: the one that was permitted.

    With `purge` its locations and its last state stay, for the job that deletes its files. Without
    it the files stay, and what lies there is for nobody but its schema.
    """
    names = NamesDraft(draft)
    entry = _meant(names, identifier, kind, meant)
    if not purge:
        places = draft.fetch(entry.object, ENTITIES[kind]).reserved
        leave(draft, places, entry.id, require_namespace(names, identifier.namespace).id)
        draft.discard(entry.object)
    remove_name(names, identifier, entry)
    asked = {"purge": purge} if kind is Kind.TABLE else {}
    draft.note(call.note("drop", _word(kind), identifier, **asked))
    return entry


def _meant(names: Names, identifier: Identifier, kind: Kind, meant: Entry | None) -> Entry:
    """What has this name, unless that is another one by now than the one that was permitted."""
    entry = entry_of(names, identifier)
    if entry is None or entry.kind is not kind or (meant is not None and entry.id != meant.id):
        raise absent(identifier, kind)
    return entry


def entry_of(names: Names, identifier: Identifier) -> Entry | None:
    """The entry of this name, be it a table or a view."""
    parent = names.namespace(identifier.namespace)
    return names.find(parent.id, RELATIONS, identifier.name) if parent else None


def remove_name(names: NamesDraft, identifier: Identifier, entry: Entry) -> None:
    """Free the name of a table or view that is there."""
    parent = names.namespace(identifier.namespace)
    assert parent is not None, "it holds what is removed"
    names.remove(parent.id, RELATIONS, identifier.name, entry)


def check_free(entry: Entry | None, identifier: Identifier, kind: Kind) -> None:
    """Refuse a name that a table or view has; `kind` is what is to be created."""
    if entry is None:
        return
    if entry.kind is kind:
        raise _EXISTS[kind](f"{_WORDS[kind]} already exists: {identifier}")
    raise _EXISTS[entry.kind](f"{_WORDS[entry.kind]} with same name already exists: {identifier}")


def named(identifier: Identifier) -> str:
    """A name as no other is written: unlike in messages, dots inside of it are told apart."""
    return physical_name((*identifier.namespace, identifier.name))


def absent(identifier: Identifier, kind: Kind) -> NotFound:
    """What to say of a table or view that does not exist."""
    return _ABSENT[kind](f"{_WORDS[kind]} does not exist: {identifier}")


@asynccontextmanager
async def written(files: Files, contents: Mapping[str, bytes]) -> AsyncIterator[None]:
    """Metadata files for the commit inside, gone again if it is certain that it was not made."""
    try:
        for location, data in contents.items():
            await write_metadata(files, location, data)
        yield
    except OutcomeUnknown:
        raise  # they may be in use
    except HeadgateError:
        await discard_files(files, list(contents))
        raise


async def discard_files(files: Files, locations: list[str]) -> None:
    """Delete files nobody refers to. Where that fails they stay: orphans, and harmless."""
    with suppress(HeadgateError):
        await files.delete(locations)


def _word(kind: Kind) -> str:
    return kind.name.lower()
