"""Views: created, registered, replaced, and taken out of the catalog."""

from typing import Any

from msgspec import Raw

from headgate.access.rules import ALTER_VIEW, CREATE_VIEW, DROP_VIEW
from headgate.catalog.calls import Done
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.catalog.placing import check_new, location_of
from headgate.catalog.registrations import registered_version
from headgate.catalog.relation_commits import (
    Change,
    commit_relations,
    known_state,
    new_state,
    same_state,
)
from headgate.catalog.relations import (
    Relation,
    done_before,
    drop_relation,
    find_permitted,
    find_relation,
    named,
)
from headgate.catalog.versions import Terms, Version, new_version
from headgate.kernel.draft import Draft
from headgate.limits import VERIFIED_INLINE_BYTES_MAX
from headgate.model import view_requirements, view_updates
from headgate.model.json_values import encode
from headgate.model.names import Identifier
from headgate.model.view_creation import new_view


async def drop_view(lake: Lake, opened: Opened, identifier: Identifier) -> None:
    """Take a view out of the catalog. Its metadata files stay: another catalog may know them."""
    what = f"drop view {named(identifier)}"
    if await done_before(lake, opened, identifier, what) is not None:
        return
    meant = await find_permitted(opened, DROP_VIEW, identifier)

    def attempt(draft: Draft) -> Done:
        return Done([drop_relation(draft, opened.call, identifier, Kind.VIEW, meant).id])

    await lake.commit(opened, what, attempt)


async def create_view(
    lake: Lake,
    opened: Opened,
    identifier: Identifier,
    location: str | None,
    request: dict[str, Any] | bytes,
) -> Relation:
    """Make a new view. Its request is bytes if it is too large to be read here."""
    await opened.require(CREATE_VIEW, identifier.namespace)

    async def prepare(current: Opened) -> list[Change]:
        if current is not opened:  # by now there may be another namespace of this name
            await current.require(CREATE_VIEW, identifier.namespace)
        await check_new(current, identifier, Kind.VIEW)
        place = await location_of(lake, current, identifier, location)
        terms = lake.terms(None)
        if isinstance(request, bytes):
            tenant = current.call.tenant
            version = await lake.large.create(Kind.VIEW, request, place, terms, tenant)
        else:
            view = new_view(request, location=place, uuid=terms.uuid, now_ms=terms.now_ms)
            version = new_version(view, terms)
        return [await new_state(lake, current, identifier, version, None)]

    [view] = await commit_relations(lake, opened, f"create view {named(identifier)}", prepare)
    return view


async def register_view(lake: Lake, opened: Opened, identifier: Identifier, file: str) -> Relation:
    """Let a view that lies in storage enter the catalog as it is."""
    await opened.require(CREATE_VIEW, identifier.namespace)

    async def prepare(current: Opened) -> list[Change]:
        if current is not opened:  # by now there may be another namespace of this name
            await current.require(CREATE_VIEW, identifier.namespace)
        await check_new(current, identifier, Kind.VIEW)
        version = await registered_version(lake, current, Kind.VIEW, identifier.namespace, file)
        return [await known_state(lake, current, identifier, version, None)]

    [view] = await commit_relations(lake, opened, f"register view {named(identifier)}", prepare)
    return view


async def update_view(
    lake: Lake,
    opened: Opened,
    identifier: Identifier,
    requirements: list[Any] | Raw,
    updates: list[Any] | Raw,
) -> Relation:
    """Change a view; what others changed meanwhile is kept where the two do not clash.

    Requirements and updates are raw if they are too large to be read here.
    """
    await opened.require(ALTER_VIEW, *identifier)

    permitted = opened

    async def prepare(current: Opened) -> list[Change]:
        if current is not permitted:  # by now there may be another view under this name
            await current.require(ALTER_VIEW, *identifier)
        return [await prepare_view(lake, current, identifier, requirements, updates)]

    async with lake.lanes.enter([(opened.call.catalog, identifier)]) as waited:
        if waited:
            opened = await lake.open(opened.call)
        [view] = await commit_relations(lake, opened, f"update view {named(identifier)}", prepare)
    return view


async def prepare_view(
    lake: Lake,
    opened: Opened,
    identifier: Identifier,
    requirements: list[Any] | Raw,
    updates: list[Any] | Raw,
) -> Change:
    """Work a change out on the present state of a view, for a commit."""
    before = await find_relation(opened, identifier, Kind.VIEW)
    terms = lake.terms(before.entity)
    present = await lake.metadata.present(lake.files(opened), before.state)
    is_large = len(present.raw) > VERIFIED_INLINE_BYTES_MAX
    if is_large or isinstance(requirements, Raw) or isinstance(updates, Raw):
        wanted = encode(requirements), encode(updates)
        tenant = opened.call.tenant
        version = await lake.large.commit(Kind.VIEW, present, *wanted, terms, tenant)
    else:
        version = await _changed(lake, before, requirements, updates, terms)
    if version is None:
        return same_state(identifier, before)
    return await new_state(lake, opened, identifier, version, before)


async def _changed(
    lake: Lake, before: Relation, requirements: list[Any], updates: list[Any], terms: Terms
) -> Version | None:
    files = lake.files(before.opened)
    old = await lake.metadata.view(files, before.state)
    view_requirements.check(old, requirements)
    new = view_updates.apply(old, updates, now_ms=terms.now_ms)
    return None if new is old else new_version(new, terms)
