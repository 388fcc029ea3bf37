"""Views: created, registered, replaced, and taken out of the catalog."""

from typing import Any

from headgate.catalog.calls import Done
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import found_in, read_metadata, worked_out
from headgate.catalog.openings import Opened
from headgate.catalog.placing import check_new, location_of
from headgate.catalog.relation_commits import (
    Change,
    Found,
    commit_relations,
    known_state,
    new_state,
    same_state,
)
from headgate.catalog.relations import Relation, drop_relation, find_relation, named
from headgate.kernel.draft import Draft
from headgate.limits import METADATA_INLINE_BYTES_MAX
from headgate.model import view_metadata, view_requirements, view_updates
from headgate.model.names import Identifier
from headgate.model.view_creation import new_view


async def drop_view(lake: Lake, opened: Opened, identifier: Identifier) -> None:
    """Take a view out of the catalog. Its metadata files stay: another catalog may know them."""

    def attempt(draft: Draft) -> Done:
        return Done([drop_relation(draft, opened.call, identifier, Kind.VIEW).id])

    await lake.commit(opened, f"drop view {named(identifier)}", attempt)


async def create_view(
    lake: Lake, opened: Opened, identifier: Identifier, request: dict[str, Any]
) -> Relation:
    """Make a new view."""

    async def prepare(current: Opened) -> list[Change]:
        await check_new(current, identifier, Kind.VIEW)
        location = await location_of(lake, current, identifier, request.get("location"))
        metadata = new_view(request, location=location, uuid=lake.new_uuid(), now_ms=lake.now_ms())
        return [await new_state(lake, current, identifier, metadata)]

    [view] = await commit_relations(lake, opened, f"create view {named(identifier)}", prepare)
    return view


async def register_view(lake: Lake, opened: Opened, identifier: Identifier, file: str) -> Relation:
    """Let a view that lies in storage enter the catalog as it is."""

    async def prepare(current: Opened) -> list[Change]:
        await check_new(current, identifier, Kind.VIEW)
        current.check_allowed([file])
        raw = await read_metadata(lake.files(current), file)
        is_large = len(raw) > METADATA_INLINE_BYTES_MAX
        with found_in(file):
            metadata = await worked_out(is_large, view_metadata.parse, raw)
        return [await known_state(lake, current, identifier, Found(file, raw, metadata))]

    [view] = await commit_relations(lake, opened, f"register view {named(identifier)}", prepare)
    return view


async def update_view(
    lake: Lake, opened: Opened, identifier: Identifier, requirements: list[Any], updates: list[Any]
) -> Relation:
    """Change a view; what others changed meanwhile is kept where the two do not clash."""

    async def prepare(current: Opened) -> list[Change]:
        before = await find_relation(current, identifier, Kind.VIEW)
        files = lake.files(current)
        old = await lake.metadata.view(files, before.entry.object, before.entity)
        view_requirements.check(old, requirements)
        new = view_updates.apply(old, updates, now_ms=lake.now_ms())
        if new is old:
            return [same_state(identifier, before, old)]
        return [await new_state(lake, current, identifier, new, before)]

    async with lake.lanes.enter([(opened.call.catalog, identifier)]) as waited:
        if waited:
            opened = await lake.open(opened.call)
        [view] = await commit_relations(lake, opened, f"update view {named(identifier)}", prepare)
    return view
