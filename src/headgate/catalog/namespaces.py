"""Namespaces: created with their parents, listed level by level, dropped when empty."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from headgate.access.rules import (
    ALTER_SCHEMA,
    CREATE_SCHEMA,
    DROP_SCHEMA,
    LOAD_CATALOG,
    LOAD_SCHEMA,
)
from headgate.catalog.browsing import leading
from headgate.catalog.calls import Done
from headgate.catalog.claimants import Claimant
from headgate.catalog.entities import Entry, Kind, NamespaceEntity
from headgate.catalog.folder_index import begin_complete
from headgate.catalog.lake import Lake, LakeOptions
from headgate.catalog.naming import (
    FUNCTIONS,
    NAMESPACES,
    RELATIONS,
    ROOT,
    Names,
    NamesDraft,
)
from headgate.catalog.openings import Opened
from headgate.catalog.own_places import check_for_schema, chooses_freely
from headgate.catalog.paging import Page, Paging, list_names
from headgate.catalog.schema_places import LOCATION, settle_folder
from headgate.errors import (
    BadName,
    BadRequest,
    CommitTimedOut,
    NamespaceExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    Unprocessable,
)
from headgate.kernel.draft import Draft
from headgate.limits import RESOLVE_TRIES_MAX
from headgate.model.locations import check_allowed
from headgate.model.names import Levels, check_levels, dotted
from headgate.model.physical import physical_name
from headgate.model.separators import check_level_in_nested, check_name_in_flat

_CONTENTS = {NAMESPACES: "namespace", RELATIONS: "table or view", FUNCTIONS: "function"}


class _MovedError(Exception):
    """The namespaces above are no longer those that the caller was permitted to create in."""


class PropertyChanges(NamedTuple):
    """Which properties were set, which were removed, which were not there to be removed."""

    updated: list[str]
    removed: list[str]
    missing: list[str]


async def create_namespace(
    lake: Lake,
    opened: Opened,
    levels: Levels,
    properties: Mapping[str, str],
    comment: str = "",
) -> dict[str, str]:
    """Make a namespace and those above it that are missing, all or none; its properties."""
    try:
        check_levels(levels)
    except BadName:
        await opened.require(CREATE_SCHEMA)  # who may not know the catalog is told no more
        raise
    what = f"create namespace {physical_name(levels)}"
    for _ in range(RESOLVE_TRIES_MAX):
        await opened.require(CREATE_SCHEMA, levels[:-1])
        _check_nesting(opened, levels, lake.options)
        await _check_properties(opened, levels, properties)
        above = await opened.look(lambda names: names.path(levels[:-1]))
        new = NamespaceEntity(dict(properties), created_by=opened.call.principal, comment=comment)
        try:
            await lake.commit(opened, what, partial(_create, opened, levels, new, above))
        except _MovedError:
            opened = await lake.open(opened.call)
        else:
            return dict(properties)
    raise CommitTimedOut(
        f"Not done: {what}", why="others were first, again and again", fix="Try again"
    )


def _create(
    opened: Opened, levels: Levels, new: NamespaceEntity, above: Sequence[Entry], draft: Draft
) -> Done:
    """Make it in a commit, below those that the caller may create in."""
    names = NamesDraft(draft)
    path = names.path(levels)
    if [entry.id for entry in path[: len(levels) - 1]] != [entry.id for entry in above]:
        raise _MovedError
    if len(path) == len(levels):
        raise NamespaceExists(f"Namespace already exists: {dotted(levels)}")
    if opened.catalog.warehouse:
        begin_complete(draft)
    for depth in range(len(path), len(levels)):
        parent = path[-1].id if path else ROOT
        kept = new if depth == len(levels) - 1 else NamespaceEntity({}, created_by=new.created_by)
        object = draft.stage(msgspec.structs.replace(kept, created_ms=draft.now_ms))
        entry = Entry(Kind.NAMESPACE, draft.new_id(), object, opened.owner)
        _settle(opened, draft, entry.id, {}, kept.properties)
        names.add(parent, NAMESPACES, levels[depth], entry)
        path.append(entry)
    draft.note(opened.call.note("create", "namespace", levels))
    return Done([path[-1].id])


async def check_namespace(opened: Opened, levels: Levels) -> None:
    """Refuse a namespace that is not there, or that the caller may not see."""
    await opened.require(LOAD_SCHEMA, levels)
    await find_namespace(opened, levels)


async def load_namespace(opened: Opened, levels: Levels) -> dict[str, str]:
    """The properties of a namespace."""
    await opened.require(LOAD_SCHEMA, levels)
    return (await describe_namespace(opened, levels)).properties


async def describe_namespace(opened: Opened, levels: Levels) -> NamespaceEntity:
    """All that is kept of a namespace, for those who may know it."""
    entry = await find_namespace(opened, levels)
    return await opened.head.get(entry.object, NamespaceEntity)


async def list_namespaces(opened: Opened, parent: Levels, paging: Paging) -> Page[Levels]:
    """The direct children of a namespace, or the first level: those that the caller may see, and
    those that lead to one that it may see.

    A namespace that the caller may not see is listed for such children. If there are none, it is as
    absent.
    """
    await opened.require(LOAD_CATALOG, parent)
    above = (await find_namespace(opened, parent)).id if parent else ROOT
    is_seen = await opened.sieve(LOAD_SCHEMA, parent)
    if is_seen is None:
        return await list_names(opened, above, NAMESPACES, paging, lambda name, _: (*parent, name))
    ways = await leading(opened)

    def pick(name: str, entry: Entry) -> Levels | None:
        return (*parent, name) if is_seen(entry) or entry.id in ways else None

    if parent and above not in ways and not await opened.may(LOAD_SCHEMA, parent):
        seen = await list_names(opened, above, NAMESPACES, Paging(size=1), pick)
        if not seen.entries:
            raise no_namespace(parent)
    return await list_names(opened, above, NAMESPACES, paging, pick)


async def update_namespace(
    lake: Lake, opened: Opened, levels: Levels, updates: Mapping[str, str], removals: Iterable[str]
) -> PropertyChanges:
    """Set and remove properties of a namespace."""
    await opened.require(ALTER_SCHEMA, levels)
    removals = dict.fromkeys(removals)
    both = sorted(updates.keys() & removals.keys())
    if both:
        raise Unprocessable(
            f"Invalid property changes: {', '.join(both)}",
            why="these are both to be set and to be removed",
            fix="Name each property once",
        )
    await _check_properties(opened, levels, updates)
    meant = await id_of_namespace(opened, levels)

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft)
        entry = require_namespace(names, levels, meant)
        old = draft.fetch(entry.object, NamespaceEntity)
        kept = {name: value for name, value in old.properties.items() if name not in removals}
        after = kept | dict(updates)
        if after != old.properties:
            _settle(opened, draft, entry.id, old.properties, after)
            by = opened.call.principal
            object = draft.stage(
                msgspec.structs.replace(
                    old, properties=after, changed_ms=draft.now_ms, changed_by=by
                )
            )
            parent = names.path(levels[:-1])
            moved = msgspec.structs.replace(entry, object=object)
            names.put(parent[-1].id if parent else ROOT, NAMESPACES, levels[-1], moved)
            draft.discard(entry.object)
            draft.note(opened.call.note("alter", "namespace", levels))
        return Done([at for at, name in enumerate(removals) if name in old.properties])

    done = await lake.commit(opened, f"update namespace {physical_name(levels)}", attempt)
    removed = {name for at, name in enumerate(removals) if at in done.ids}
    return PropertyChanges(
        updated=list(updates),
        removed=[name for name in removals if name in removed],
        missing=[name for name in removals if name not in removed],
    )


async def drop_namespace(lake: Lake, opened: Opened, levels: Levels) -> None:
    """Remove a namespace that holds nothing."""
    await opened.require(DROP_SCHEMA, levels)
    meant = await id_of_namespace(opened, levels)

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft)
        gone = require_namespace(names, levels, meant)
        content = names.first_below(gone.id)
        if content is not None:
            raise NamespaceNotEmpty(
                f"Namespace {dotted(levels)} is not empty",
                why=f"it contains the {_CONTENTS.get(content[0], 'entity')} {content[1]}",
                fix="Drop its content first; there is no cascade",
            )
        old = draft.fetch(gone.object, NamespaceEntity)
        _settle(opened, draft, gone.id, old.properties, {})
        above = names.path(levels[:-1])
        names.remove(above[-1].id if above else ROOT, NAMESPACES, levels[-1], gone)
        draft.discard(gone.object)
        draft.note(opened.call.note("drop", "namespace", levels))
        return Done([gone.id])

    await lake.commit(opened, f"drop namespace {physical_name(levels)}", attempt)


async def find_namespace(opened: Opened, levels: Levels) -> Entry:
    """The namespace of this path."""
    return await opened.look(lambda names: require_namespace(names, levels))


async def id_of_namespace(opened: Opened, levels: Levels) -> int:
    """Which namespace has this path now, as a commit may find another there; 0 for none."""
    entry = await opened.look(lambda names: names.namespace(levels))
    return entry.id if entry else 0


def require_namespace(names: Names, levels: Levels, meant: int | None = None) -> Entry:
    """The namespace of this path, in a commit; if another one was meant, it is not there."""
    entry = names.namespace(levels)
    if entry is None or meant not in {None, entry.id}:
        raise no_namespace(levels)
    return entry


def no_namespace(levels: Levels) -> NamespaceNotFound:
    """What to say of a namespace that does not exist; perhaps its dots were to separate levels.

    Whether there is one with these levels is not told: the caller may not know that one.
    """
    split = tuple(part for level in levels for part in level.split("."))
    return NamespaceNotFound(
        f"Namespace does not exist: {dotted(levels)}",
        fix="If the dots separate levels: in URLs these are separated by %1F, or by what "
        "/v1/config says, and not by dots"
        if split != levels and all(split)
        else "",
    )


def _check_nesting(opened: Opened, levels: Levels, options: LakeOptions) -> None:
    if opened.catalog.nested:
        for level in levels:
            check_level_in_nested(level, options.separator)
    elif len(levels) == 1:
        check_name_in_flat(levels[0], options.separator, options.governance)
    else:
        raise BadRequest(
            f"Invalid namespace: {dotted(levels)}",
            why=f"catalog {opened.catalog.name} has no nested namespaces",
            fix=f"Use one level, or run `headgate catalog set {opened.catalog.name} nested=true`",
        )


def _settle(
    opened: Opened, draft: Draft, id: int, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    """Tell where the tables of a namespace lie from now on, if it chose that."""
    if opened.catalog.warehouse:  # else no file is ever looked for there
        is_free = chooses_freely(opened)
        claimant = Claimant(schema=id, is_free=is_free, now_ms=draft.now_ms)
        settle_folder(draft, claimant, before, after)


async def _check_properties(opened: Opened, levels: Levels, properties: Mapping[str, str]) -> None:
    location = properties.get(LOCATION)
    if location is not None and opened.catalog.warehouse:  # else no file is ever looked for there
        check_allowed(location, opened.allowed_locations)
        await check_for_schema(opened, levels, location)
