"""Changes of tables and views that are worked out on what they are when they are made.

A client of Iceberg says which state its commit rests on. These say only what is to become of it,
so they are worked out anew if others were first, and never fail because of that.
"""

from collections.abc import Callable

from msgspec import Raw

from headgate.access.rules import ALTER_TABLE, ALTER_VIEW, Rule
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.long_work import work_out
from headgate.catalog.openings import Opened
from headgate.catalog.relation_commits import Change, Prepare, commit_relations
from headgate.catalog.relations import Relation, find_relation, named
from headgate.catalog.table_commits import TableChange, prepare_table
from headgate.catalog.views import prepare_view
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.json_values import Object, encode
from headgate.model.names import Identifier
from headgate.model.table_outlines import TableOutline, ViewOutline

TableUpdates = Callable[[TableOutline], list[Object]]
ViewUpdates = Callable[[ViewOutline, int], list[Object]]
"""Told the time, too."""


async def alter_table(
    lake: Lake, opened: Opened, identifier: Identifier, updates_for: TableUpdates, size: int
) -> Relation:
    """Change a table by the updates that a pure function finds right for what it is.

    `size` is how many bytes the function works on besides the table.
    """

    async def prepare(current: Opened) -> list[Change]:
        table = await find_relation(current, identifier, Kind.TABLE)
        outline = await lake.metadata.table_outline(
            lake.files(current), table.state, current.call.tenant
        )
        known = len(await lake.metadata.raw(lake.files(current), table.state))
        updates = await work_out(lambda: encode(updates_for(outline)), size + known)
        return [await prepare_table(lake, current, TableChange(identifier, b"[]", updates))]

    return await _alter(lake, opened, identifier, ALTER_TABLE, prepare)


async def alter_view(
    lake: Lake, opened: Opened, identifier: Identifier, updates_for: ViewUpdates, size: int
) -> Relation:
    """The same of a view."""

    async def prepare(current: Opened) -> list[Change]:
        view = await find_relation(current, identifier, Kind.VIEW)
        outline = await lake.metadata.view_outline(
            lake.files(current), view.state, current.call.tenant
        )
        now_ms = lake.now_ms()
        updates = await work_out(lambda: updates_for(outline, now_ms), size)
        encoded = encode(updates)
        is_large = len(encoded) > DEFINITIONS_INLINE_BYTES_MAX
        return [
            await prepare_view(lake, current, identifier, [], Raw(encoded) if is_large else updates)
        ]

    return await _alter(lake, opened, identifier, ALTER_VIEW, prepare)


async def _alter(
    lake: Lake, opened: Opened, identifier: Identifier, rule: Rule, prepare: Prepare
) -> Relation:
    await opened.require(rule, *identifier)
    permitted = opened

    async def prepare_permitted(current: Opened) -> list[Change]:
        if current is not permitted:  # by now there may be something else under this name
            await current.require(rule, *identifier)
        return list(await prepare(current))

    async with lake.lanes.enter([(opened.call.catalog, identifier)]) as waited:
        if waited:
            opened = await lake.open(opened.call)
        what = f"{rule.action} {named(identifier)}"
        [relation] = await commit_relations(lake, opened, what, prepare_permitted)
    return relation
