"""Views: created, registered, replaced, and taken out of the catalog."""

from contextlib import suppress
from typing import Any, NamedTuple

from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Entry, Kind, TableEntity, ViewEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import memo, next_file, read_metadata
from headgate.catalog.namespaces import find_namespace, require_namespace
from headgate.catalog.naming import NAMES, RELATIONS, NamesDraft
from headgate.catalog.new_tables import table_location
from headgate.catalog.openings import Opened
from headgate.catalog.paging import Page, Paging
from headgate.catalog.relations import (
    Relation,
    check_free,
    discard_files,
    drop_relation,
    entry_of,
    find_relation,
    list_relations,
    load_relation,
    rename_relation,
    written,
)
from headgate.catalog.reservations import check_locations, locations_of, move
from headgate.errors import CommitTimedOut
from headgate.kernel.draft import Draft
from headgate.limits import TABLE_COMMIT_TRIES_MAX
from headgate.model import view_metadata, view_requirements, view_updates
from headgate.model.names import Identifier, Levels, check_name
from headgate.model.view_creation import new_view
from headgate.model.view_metadata import ViewMetadata


class _MovedError(Exception):
    """The view is no longer in the state its change was worked out on."""


class _Content(NamedTuple):
    """A state of a view that is to be stored."""

    entity: TableEntity
    metadata: ViewMetadata
    raw: bytes
    """The content of the new metadata file; empty if none is to be written."""


async def load_view(lake: Lake, call: Call, identifier: Identifier) -> Relation:
    """A view."""
    return await load_relation(lake, call, identifier, Kind.VIEW)


async def find_view(lake: Lake, call: Call, identifier: Identifier) -> Relation:
    """A view, even one whose metadata file is missing."""
    return await find_relation(await lake.open(call), identifier, Kind.VIEW)


async def view_json(lake: Lake, view: Relation) -> bytes:
    """The metadata of a view."""
    files = lake.files(view.opened)
    return await lake.metadata.raw(files, view.entry.object, view.entity)


async def list_views(lake: Lake, call: Call, namespace: Levels, paging: Paging) -> Page[Identifier]:
    """The views of a namespace."""
    return await list_relations(lake, call, namespace, Kind.VIEW, paging)


async def rename_view(lake: Lake, call: Call, source: Identifier, target: Identifier) -> None:
    """Give a view another name."""
    await rename_relation(lake, call, source, target, Kind.VIEW)


async def drop_view(lake: Lake, call: Call, identifier: Identifier) -> None:
    """Take a view out of the catalog. Its metadata files stay: another catalog may know them."""
    opened = await lake.open(call)

    def attempt(draft: Draft) -> Done:
        return Done([drop_relation(draft, call, identifier, Kind.VIEW).id])

    await lake.commit(opened, f"drop view {identifier}", attempt)


async def create_view(
    lake: Lake, call: Call, identifier: Identifier, request: dict[str, Any]
) -> Relation:
    """Make a new view."""
    what = f"create view {identifier}"
    opened = await lake.open(call)
    if await lake.done_before(opened, what) is not None:
        return await find_relation(opened, identifier, Kind.VIEW)
    await _check_new(opened, identifier)
    location = await table_location(lake, opened, identifier, request.get("location"))
    metadata = new_view(request, location=location, uuid=lake.new_uuid(), now_ms=lake.now_ms())
    content = await _content(lake, opened, metadata, None)
    return await _store(lake, opened, identifier, content, what=what)


async def register_view(
    lake: Lake, call: Call, identifier: Identifier, metadata_location: str
) -> Relation:
    """Let a view that lies in storage enter the catalog as it is."""
    what = f"register view {identifier}"
    opened = await lake.open(call)
    if await lake.done_before(opened, what) is not None:
        return await find_relation(opened, identifier, Kind.VIEW)
    await _check_new(opened, identifier)
    opened.check_allowed([metadata_location])
    raw = await read_metadata(lake.files(opened), metadata_location)
    metadata = view_metadata.parse(raw)
    entity = _entity(lake, opened, metadata, raw, metadata_location, None)
    await check_locations(opened, entity.reserved)
    return await _store(lake, opened, identifier, _Content(entity, metadata, b""), what=what)


async def update_view(
    lake: Lake, call: Call, identifier: Identifier, requirements: list[Any], updates: list[Any]
) -> Relation:
    """Change a view; what others changed meanwhile is kept where the two do not clash."""
    what = f"update view {identifier}"
    async with lake.lanes.enter([(call.catalog, identifier)]):
        for _ in range(TABLE_COMMIT_TRIES_MAX):
            opened = await lake.open(call)
            before = await find_relation(opened, identifier, Kind.VIEW)
            if await lake.done_before(opened, what) is not None:
                return before
            old = await lake.metadata.view(lake.files(opened), before.entry.object, before.entity)
            view_requirements.check(old, requirements)
            new = view_updates.apply(old, updates, now_ms=lake.now_ms())
            content = (
                _Content(before.entity, old, b"")
                if new is old
                else await _content(lake, opened, new, before)
            )
            with suppress(_MovedError):
                return await _store(lake, opened, identifier, content, what=what, before=before)
    raise CommitTimedOut(
        f"The commit to {identifier} was not made",
        why="others changed the same view first, again and again",
        fix="Try again",
    )


async def _check_new(opened: Opened, identifier: Identifier) -> None:
    check_name(identifier.name)
    await find_namespace(opened, identifier.namespace)
    entry = await opened.look(lambda names: entry_of(names, identifier))
    check_free(entry, identifier, Kind.VIEW)


async def _content(
    lake: Lake, opened: Opened, metadata: ViewMetadata, before: Relation | None
) -> _Content:
    raw = view_metadata.encode(metadata)
    previous = before.entity.metadata_location if before else None
    file = next_file(metadata.location, metadata.properties, previous, lake.new_uuid())
    entity = _entity(lake, opened, metadata, raw, file, before)
    await check_locations(opened, entity.reserved, before.holding if before else None)
    return _Content(entity, metadata, raw)


def _entity(
    lake: Lake,
    opened: Opened,
    metadata: ViewMetadata,
    raw: bytes,
    metadata_location: str,
    before: Relation | None,
) -> ViewEntity:
    now_ms = lake.now_ms()
    return ViewEntity(
        metadata.view_uuid,
        metadata.location,
        metadata_location,
        memo(raw),
        locations_of(metadata.location, metadata.properties),
        before.entity.created_ms if before else now_ms,
        before.entity.created_by if before else opened.call.principal,
        now_ms,
        opened.call.principal,
    )


async def _store(
    lake: Lake,
    opened: Opened,
    identifier: Identifier,
    content: _Content,
    *,
    what: str,
    before: Relation | None = None,
) -> Relation:
    """Put a state of a view into the catalog, if it is in the state before."""
    made: list[Entry] = []

    def attempt(draft: Draft) -> Done:
        made[:] = [_apply(draft, identifier, content.entity, before)]
        if before is None or made[0] != before.entry:
            do = "alter" if before else "create"
            draft.note({"do": do, "kind": "view", "name": identifier, "by": opened.call.principal})
        return Done([made[0].id])

    files = lake.files(opened)
    contents = {content.entity.metadata_location: content.raw} if content.raw else {}
    try:
        async with written(files, contents):
            done = await lake.commit(opened, what, attempt)
    except _MovedError:
        await discard_files(files, list(contents))
        raise
    if done.repeated:
        await discard_files(files, list(contents))
        return await find_relation(await lake.open(opened.call), identifier, Kind.VIEW)
    if content.raw:
        lake.metadata.keep(made[0].object, content.raw, content.metadata)
    return Relation(opened, made[0], content.entity)


def _apply(
    draft: Draft, identifier: Identifier, entity: TableEntity, before: Relation | None
) -> Entry:
    names = NamesDraft(draft.index(NAMES))
    old = entry_of(names, identifier)
    if before is None:
        check_free(old, identifier, Kind.VIEW)
    elif old != before.entry:
        raise _MovedError
    elif entity is before.entity:
        return old
    parent = require_namespace(names, identifier.namespace)
    id = old.id if old else draft.new_id()
    entry = Entry(Kind.VIEW, id, draft.stage(entity), old.owner if old else 0)
    move(draft, entity.reserved, id, before.holding if before else None)
    names.put(parent.id, RELATIONS, identifier.name, entry)
    if old is not None:
        draft.discard(old.object)
    return entry
