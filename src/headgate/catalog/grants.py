"""Giving and taking: roles to users and groups, rights to roles. Each is one commit on `grants`."""

from collections.abc import Callable, Mapping, Sequence

from headgate.access import rules
from headgate.catalog.assignments import role_names
from headgate.catalog.entities import Entry, RoleEntity
from headgate.catalog.grant_notes import objects_told, rights_told
from headgate.catalog.guards import GRANTS, PRINCIPAL_ROLES
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import id_bytes
from headgate.catalog.objects import ObjectName, find_object
from headgate.catalog.principals import Principal, Sort, require_principal
from headgate.catalog.privilege_checks import (
    Terms,
    Wanted,
    check_bindable,
    check_consistent,
    check_securable,
    grant_of,
)
from headgate.catalog.rights import (
    ASSIGNED,
    GRANTED,
    Grant,
    decode_grant,
    encode_grant,
    pair,
    second_of,
)
from headgate.catalog.roles import (
    Resolved,
    Role,
    absent,
    describe_role,
    find_role,
    list_roles,
    may_load,
    put_grants,
    resolve,
    secured,
)
from headgate.errors import BadRequest, IllegalRole, MetadataObjectNotFound, Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.kernel.tree import Tree
from headgate.limits import OBJECTS_PER_REQUEST_MAX


async def assign_roles(
    metalake: OpenedMetalake, sort: Sort, name: str, roles: Sequence[str]
) -> Principal:
    """Give roles to a user or group; it as it is then."""
    return await _change_roles(metalake, sort, name, roles, is_given=True)


async def unassign_roles(
    metalake: OpenedMetalake, sort: Sort, name: str, roles: Sequence[str]
) -> Principal:
    """Take roles from a user or group; it as it is then. What it does not have is no matter."""
    return await _change_roles(metalake, sort, name, roles, is_given=False)


async def _change_roles(
    metalake: OpenedMetalake, sort: Sort, name: str, roles: Sequence[str], *, is_given: bool
) -> Principal:
    metalake.require(rules.ASSIGN_ROLES, names=(name,))
    principal = await require_principal(metalake, sort, name)
    ids = [(await _require_known(metalake, role)).id for role in _checked(roles)]
    do = "grant" if is_given else "revoke"

    def attempt(draft: Draft) -> list[int]:
        index = draft.index(ASSIGNED)
        for id in ids:
            key = pair(principal.id, id)
            if not is_given:
                index.remove(key)
            elif index.get(key) is None:
                index.put(key, b"")
        draft.note(metalake.call.note(do, sort.word, [name], roles=list(roles)))
        return [second_of(key) for key, _ in index.prefix(id_bytes(principal.id))]

    entity = await metalake.principals.get(principal.object, sort.entity)
    held = await metalake.commit(GRANTS, attempt)
    names = await _names_now(metalake, held, dict(zip(ids, _checked(roles), strict=True)))
    return Principal(name, principal.id, entity, sorted(names.values()))


async def _names_now(
    metalake: OpenedMetalake, held: Sequence[int], known: Mapping[int, str]
) -> Mapping[int, str]:
    """What roles are called. It is done, so that they cannot be read is no reason to say no."""
    try:
        [roles] = await metalake.realm.heads(PRINCIPAL_ROLES)
        return await role_names(roles, held)
    except Unavailable:
        return {id: name for id, name in known.items() if id in held}


async def grant_privileges(lake: Lake, metalake: OpenedMetalake, role: str, wanted: Wanted) -> Role:
    """Give rights on an object to a role; the role as it is then."""

    def change(before: Terms, terms: Terms) -> Terms:
        return Terms(before.allow | terms.allow, before.deny | terms.deny)

    return await _change_privileges(lake, metalake, role, wanted, "grant", change)


async def revoke_privileges(
    lake: Lake, metalake: OpenedMetalake, role: str, wanted: Wanted
) -> Role:
    """Take rights on an object from a role; the role as it is then. A right that is allowed stays
    if it is to be taken as denied, and the other way round."""

    def change(before: Terms, terms: Terms) -> Terms:
        return Terms(before.allow & ~terms.allow, before.deny & ~terms.deny)

    return await _change_privileges(lake, metalake, role, wanted, "revoke", change)


async def _change_privileges(
    lake: Lake,
    metalake: OpenedMetalake,
    role: str,
    wanted: Wanted,
    do: str,
    change: Callable[[Terms, Terms], Terms],
) -> Role:
    name, terms = wanted
    check_securable(name)
    found = await find_object(lake, metalake, name)
    found.require(rules.granting(found.kind))
    check_bindable(found, terms)
    metalake = found.metalake
    entry = await _require_role(metalake, role)
    entity = await metalake.roles.get(entry.object, RoleEntity)

    def attempt(draft: Draft) -> dict[int, Grant]:
        index, key = draft.index(GRANTED), pair(entry.id, found.id)
        old = index.get(key)
        grant = decode_grant(old) if old is not None else grant_of(found, Terms(0, 0))
        after = change(Terms(grant.allow, grant.deny), terms)
        check_consistent(*after)
        if after == (0, 0):
            index.remove(key)
        else:
            index.put(key, encode_grant(grant_of(found, after)))
        draft.note(metalake.call.note(do, "role", [role], **rights_told(wanted)))
        return _granted(draft, entry.id)

    grants = await metalake.commit(GRANTS, attempt)
    own = {id: grant for id, grant in grants.items() if id == found.id}
    if not may_load(metalake, entry):
        grants = own  # who may not see the role sees no more of it than the object it named
    try:
        return await describe_role(lake, metalake, role, entity, grants)
    except Unavailable:  # it is done, so that its other objects cannot be named is no refusal
        return Role(role, entity, secured(Resolved(id, own[id], found.text) for id in own))


async def override_privileges(
    lake: Lake, metalake: OpenedMetalake, role: str, wanted: Sequence[Wanted]
) -> Role:
    """Let these be all rights of a role; the role as it is then."""
    metalake.require(rules.ASSIGN_ROLES, names=(role,))
    entry = await _require_role(metalake, role)
    entity = await metalake.roles.get(entry.object, RoleEntity)
    resolved = await resolve(lake, metalake, wanted, MetadataObjectNotFound)
    grants = {one.id: one.grant for one in resolved}

    def attempt(draft: Draft) -> None:
        index = draft.index(GRANTED)
        for id in _granted(draft, entry.id):
            if id not in grants:
                index.remove(pair(entry.id, id))
        put_grants(draft, entry.id, grants)
        draft.note(metalake.call.note("alter", "role", [role], **objects_told(wanted)))

    await metalake.commit(GRANTS, attempt)
    return Role(role, entity, secured(resolved))


async def roles_on(lake: Lake, metalake: OpenedMetalake, name: ObjectName) -> list[str]:
    """The roles that have rights on an object, of those that the caller may see."""
    check_securable(name)
    found = await find_object(lake, metalake, name)
    found.require(rules.LOADING[found.kind])
    metalake = found.metalake
    visible = await list_roles(metalake)

    def find(tree: Tree) -> list[str]:
        tree.need(pair(entry.id, found.id) for _, entry in visible)
        return [role for role, entry in visible if tree.get(pair(entry.id, found.id)) is not None]

    return await look(metalake.grants.index(GRANTED), find)


def _granted(draft: Draft, role: int) -> dict[int, Grant]:
    entries = draft.index(GRANTED).prefix(id_bytes(role))
    return {second_of(key): decode_grant(value) for key, value in entries}


def _checked(roles: Sequence[str]) -> list[str]:
    if not roles or len(roles) > OBJECTS_PER_REQUEST_MAX:
        raise BadRequest(
            "Cannot give or take these roles",
            why=f"there are {len(roles):,}, and one request takes 1 to {OBJECTS_PER_REQUEST_MAX:,}",
        )
    return list(dict.fromkeys(roles))


async def _require_known(metalake: OpenedMetalake, role: str) -> Entry:
    entry = await find_role(metalake.roles, role)
    if entry is None:
        raise IllegalRole(
            f"Role does not exist: {role}",
            why=f"metalake {metalake.name} has no role of this name",
            fix="Create it first",
        )
    return entry


async def _require_role(metalake: OpenedMetalake, role: str) -> Entry:
    entry = await find_role(metalake.roles, role)
    if entry is None:
        raise absent(metalake, role)
    return entry
