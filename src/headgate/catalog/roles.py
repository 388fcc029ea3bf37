"""Roles of a metalake: created with their rights, looked at, deleted.

A role is an entry under one pointer, and its rights are entries under another. Rights of an id that
no role has give nothing. So a new role's rights are written first and then its name, and when one
is deleted its name goes first: at no time is there half a role.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headgate.access import rules
from headgate.access.objects import ObjectType
from headgate.access.rules import Standing
from headgate.catalog.assignments import forget_role
from headgate.catalog.entities import Entry, Kind, RoleEntity
from headgate.catalog.grant_notes import objects_told
from headgate.catalog.guards import GRANTS, PRINCIPAL_ROLES
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import ROLES, ROOT, Names, NamesDraft, id_bytes
from headgate.catalog.objects import (
    Inside,
    find_objects,
    full_names,
    look_inside,
    open_anew,
    too_busy,
)
from headgate.catalog.openings import Heads
from headgate.catalog.privilege_checks import Wanted, check_bindable, check_securable, grant_of
from headgate.catalog.rights import GRANTED, Grant, decode_grant, encode_grant, pair, second_of
from headgate.catalog.stored_names import NAMES
from headgate.catalog.walks import names_in
from headgate.catalog.ways import scope_of
from headgate.errors import (
    BadRequest,
    HeadgateError,
    IllegalObject,
    NotFound,
    OutcomeUnknown,
    RoleExists,
    RoleNotFound,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.limits import OBJECTS_PER_REQUEST_MAX, RESOLVE_TRIES_MAX
from headgate.model.names import check_principal_name


class SecuredObject(NamedTuple):
    """What a role may and may not do on one object."""

    kind: ObjectType
    full_name: str
    allow: int
    deny: int


class Role(NamedTuple):
    """A role, as it is answered."""

    name: str
    entity: RoleEntity
    objects: list[SecuredObject]
    ground: Heads | None = None
    """All pointers that this depends on, if it was read."""


class Resolved(NamedTuple):
    """Rights that are wanted, by the id of their object."""

    id: int
    grant: Grant
    full_name: str


async def create_role(
    lake: Lake,
    metalake: OpenedMetalake,
    name: str,
    properties: Mapping[str, str],
    wanted: Sequence[Wanted],
) -> Role:
    """Make a role that its creator owns, with these rights; all of it or nothing."""
    metalake.require(rules.CREATE_ROLE, names=(name,))
    check_principal_name(name)
    resolved = await resolve(lake, metalake, wanted, IllegalObject)
    if await find_role(metalake.roles, name) is not None:
        raise _exists(name)
    id, by = lake.kernel.ids.next(), metalake.call.principal
    given = objects_told(wanted) if wanted else {}

    def attempt(draft: Draft) -> RoleEntity:
        names = NamesDraft(draft)
        if names.find(ROOT, ROLES, name) is not None:
            raise _exists(name)
        entity = RoleEntity(dict(properties), draft.now_ms, by)
        entry = Entry(Kind.ROLE, id, draft.stage(entity), metalake.owner)
        names.add(ROOT, ROLES, name, entry)
        draft.note(metalake.call.note("create", "role", [name], **given))
        return entity

    if resolved:
        grants = {one.id: one.grant for one in resolved}
        await metalake.commit(GRANTS, lambda draft: put_grants(draft, id, grants))
    try:
        entity = await metalake.commit(PRINCIPAL_ROLES, attempt)
    except OutcomeUnknown:
        raise  # it may be there, with its rights
    except HeadgateError:
        await forget_role(metalake, id)
        raise
    return Role(name, entity, secured(resolved))


async def load_role(lake: Lake, metalake: OpenedMetalake, name: str) -> Role:
    """The role of this name, with what its objects are called now."""
    for _ in range(RESOLVE_TRIES_MAX):
        entry = await find_role(metalake.roles, name)
        _require(metalake, rules.LOAD_ROLE, name, entry)
        if entry is None:
            raise absent(metalake, name)
        grants = await grants_of(metalake.grants, entry.id)
        inside = await _inside(lake, metalake, grants)
        if inside.is_same:
            entity = await metalake.roles.get(entry.object, RoleEntity)
            return await _role(lake, metalake, name, entity, grants, inside)
        metalake = await open_anew(lake, metalake)
    raise too_busy(metalake)


async def list_roles(metalake: OpenedMetalake) -> list[tuple[str, Entry]]:
    """All roles that the caller may see, by name."""
    sees_all = metalake.may(rules.LOAD_ROLE)
    return [
        (name, entry)
        async for name, entry in names_in(metalake.roles, ROLES)
        if sees_all or may_load(metalake, entry)
    ]


async def delete_role(metalake: OpenedMetalake, name: str) -> bool:
    """Remove a role with all its rights; False if it is not there."""
    known = await find_role(metalake.roles, name)
    _require(metalake, rules.DROP_ROLE, name, known)
    if known is None:
        return False

    def attempt(draft: Draft) -> bool:
        names = NamesDraft(draft)
        entry = names.find(ROOT, ROLES, name)
        if entry is None or entry.id != known.id:
            return False  # somebody was faster; another role of this name is not meant
        names.remove(ROOT, ROLES, name, entry)
        draft.discard(entry.object)
        draft.note(metalake.call.note("drop", "role", [name]))
        return True

    is_gone = await metalake.commit(PRINCIPAL_ROLES, attempt)
    if is_gone:
        await forget_role(metalake, known.id)
    return is_gone


async def resolve(
    lake: Lake, metalake: OpenedMetalake, wanted: Sequence[Wanted], missing: type[HeadgateError]
) -> list[Resolved]:
    """Rights with the ids of their objects; `missing` is raised for one that is not there.

    The caller must be permitted to grant on each of them. That is asked of all before anything else
    is said of any, so the existence of objects is told only where the caller may grant.
    """
    if len(wanted) > OBJECTS_PER_REQUEST_MAX:
        raise BadRequest(
            "Too many objects",
            why=f"there are {len(wanted):,}, and one request takes {OBJECTS_PER_REQUEST_MAX:,}",
            fix="Grant the others one by one",
        )
    for name, _ in wanted:
        check_securable(name)
    found = await find_objects(lake, metalake, [name for name, _ in wanted])
    for one in found:
        one.permit(rules.granting(one.kind))
    resolved: dict[int, Resolved] = {}
    for one, (_, terms) in zip(found, wanted, strict=True):
        check_bindable(one, terms)
        if not one.id:
            raise missing(
                f"Securable object does not exist: {one.text[:200]}",
                fix="Check its full name and its type: a table or view is named with its catalog "
                "and schemas, such as CATALOG.SCHEMA.TABLE",
            )
        if one.id in resolved:
            raise BadRequest(
                f"Invalid securable objects: {one.text[:200]}",
                why="this one is named twice",
                fix="Name each object once",
            )
        resolved[one.id] = Resolved(one.id, grant_of(one, terms), one.text)
    return list(resolved.values())


def secured(resolved: Iterable[Resolved]) -> list[SecuredObject]:
    """Rights as they are answered, each on its object as the request called it."""
    objects = (
        SecuredObject(ObjectType(grant.kind), full_name, grant.allow, grant.deny)
        for _, grant, full_name in resolved
    )
    return sorted(objects, key=lambda one: (one.kind, one.full_name))


def put_grants(draft: Draft, role: int, grants: Mapping[int, Grant]) -> None:
    """Give rights to a role, in a commit."""
    index = draft.index(GRANTED)
    index.need(pair(role, id) for id in grants)
    for id, grant in grants.items():
        index.put(pair(role, id), encode_grant(grant))


async def grants_of(grants: HeadView, role: int) -> dict[int, Grant]:
    """All rights of a role by the ids of their objects, also of such that are no more."""
    entries = grants.index(GRANTED).prefix(id_bytes(role))
    return {second_of(key): decode_grant(value) async for key, value in entries}


async def describe_role(
    lake: Lake,
    metalake: OpenedMetalake,
    name: str,
    entity: RoleEntity,
    grants: Mapping[int, Grant],
) -> Role:
    """A role that was just changed, with what its objects are called now."""
    inside = await _inside(lake, metalake, grants)
    return await _role(lake, metalake, name, entity, grants, inside)


async def find_role(roles: HeadView, name: str) -> Entry | None:
    """The entry of a role."""
    return await look(roles.index(NAMES), lambda tree: Names(tree).find(ROOT, ROLES, name))


def may_load(metalake: OpenedMetalake, entry: Entry) -> bool:
    """Whether the caller may see this role: it owns it, has it, or may see all."""
    return metalake.may(rules.LOAD_ROLE, (scope_of(entry),), _standing(metalake, entry))


def absent(metalake: OpenedMetalake, name: str) -> NotFound:
    """What to say of a role that does not exist."""
    return RoleNotFound(
        f"Role does not exist: {name}",
        why=f"metalake {metalake.name} has no role of this name",
        fix="Create it first",
    )


def _require(metalake: OpenedMetalake, rule: rules.Rule, name: str, entry: Entry | None) -> None:
    scopes = () if entry is None else (scope_of(entry),)
    metalake.require(rule, scopes, _standing(metalake, entry), (name,))


def _standing(metalake: OpenedMetalake, entry: Entry | None) -> int:
    is_held = entry is not None and entry.id in metalake.access.roles
    return int(Standing.SELF) if is_held else 0


async def _inside(lake: Lake, metalake: OpenedMetalake, grants: Mapping[int, Grant]) -> Inside:
    return await look_inside(
        lake, metalake, (one.catalog for one in grants.values() if one.catalog)
    )


async def _role(
    lake: Lake,
    metalake: OpenedMetalake,
    name: str,
    entity: RoleEntity,
    grants: Mapping[int, Grant],
    inside: Inside,
) -> Role:
    names = await full_names(lake, metalake, inside, grants)
    known = (Resolved(id, grants[id], full_name) for id, full_name in names.items())
    return Role(name, entity, secured(known), inside.ground)


def _exists(name: str) -> RoleExists:
    return RoleExists(f"Role already exists: {name}", fix="Choose another name")
