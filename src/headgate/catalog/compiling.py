"""From what is kept of users, groups, roles and grants to what one caller may do."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from headgate.access.decisions import NOTHING, Access, Weight
from headgate.access.objects import ObjectType
from headgate.access.rules import Standing
from headgate.catalog.calls import Caller
from headgate.catalog.entities import Entry
from headgate.catalog.naming import GROUPS, ROLES, ROOT, USERS, Names, id_bytes
from headgate.catalog.rights import ASSIGNED, GRANTED, decode_grant, second_of
from headgate.catalog.stored_names import IDS, NAMES
from headgate.errors import Forbidden
from headgate.kernel.index import HeadView, Index, after_prefix, look
from headgate.kernel.tree import Missing, Tree

METALAKE_MARK = "metalake"
"""The id of a metalake's entity, among the marks of `root`."""
OWNER_MARK = "owner"
"""The id of its owner, so that it is known without the entity."""
DISABLED = "disabled"
"""Ids of users who are switched off, under `principals`."""

RoleGrants = Mapping[int, tuple[int, int]]
"""Object id -> what a role allows and denies on it."""


class KnownRoles(NamedTuple):
    """What was read of roles before, from the same heads."""

    get: Callable[[int], RoleGrants | None]
    put: Callable[[int, RoleGrants], None]


class Rights(NamedTuple):
    """The heads that rights are compiled from."""

    metalake: int
    root: HeadView
    principals: HeadView
    roles: HeadView
    grants: HeadView

    @property
    def owner(self) -> int:
        """The owner of the metalake; 0 if nobody owns it."""
        return self.root.head.marks.get(OWNER_MARK, 0)


class Compiled(NamedTuple):
    """What a caller may do, and what that follows from."""

    access: Access
    assigned: frozenset[int]
    """All roles it was given, also such that do not exist."""
    why: str = ""
    """Why it may do nothing at all."""


_NOBODY = Access(0, frozenset(), frozenset(), {}, Weight())


async def compile_access(
    rights: Rights, caller: Caller, known: KnownRoles, *, is_admin: bool
) -> Compiled:
    """What this caller may do. All of its roles are read together."""
    user, groups = await look(
        rights.principals.index(NAMES), lambda tree: _principals(Names(tree), caller)
    )
    is_disabled = user is not None and await _is_there(rights.principals.index(DISABLED), user.id)
    is_heir = is_admin and await _is_orphan(rights)
    if is_disabled or (user is None and not is_heir):
        why = "it is switched off" if is_disabled else "it is no user of it"
        itself = frozenset([user.id]) if user is not None else frozenset[int]()
        return Compiled(_NOBODY._replace(principals=itself), frozenset(), why)
    principals = frozenset(entry.id for entry in (user, *groups) if entry is not None)
    assigned = frozenset(await _assigned(rights, principals))
    alive = frozenset(await _alive(rights, assigned))
    roles = await _load_roles(rights, alive, known)
    allowing = alive if caller.roles is None else await _chosen(rights, caller, alive)
    grants = _merged(roles, alive, allowing)
    allowed, denied = grants.get(rights.metalake, NOTHING)
    is_owner = is_heir or (rights.owner != 0 and rights.owner in principals)
    standing = Standing.SERVICE_ADMIN if is_admin else Standing(0)
    access = Access(
        user.id if user else 0,
        principals,
        alive,
        grants,
        Weight(int(ObjectType.METALAKE) if is_owner else 0, allowed, denied),
        int(standing | Standing.MEMBER),
        _denied(grants),
    )
    return Compiled(access, assigned)


def _principals(names: Names, caller: Caller) -> tuple[Entry | None, list[Entry]]:
    user = names.find(ROOT, USERS, caller.name)
    if user is not None and user.id < caller.since:
        user = None  # it was added for another one, who was dropped
    since = dict(caller.groups_since)
    found = ((names.find(ROOT, GROUPS, name), since.get(name, 0)) for name in caller.groups)
    return user, [entry for entry, drop in found if entry is not None and entry.id >= drop]


async def _is_orphan(rights: Rights) -> bool:
    """Whether nobody owns the metalake any more: then those who may make metalakes do."""
    return not rights.owner or not await _is_there(rights.principals.index(IDS), rights.owner)


async def _is_there(index: Index, id: int) -> bool:
    return await index.get(id_bytes(id)) is not None


async def _assigned(rights: Rights, principals: Iterable[int]) -> set[int]:
    found = await _scanned(rights.grants.index(ASSIGNED), principals)
    return {second_of(key) for pairs in found.values() for key, _ in pairs}


async def _alive(rights: Rights, roles: Iterable[int]) -> list[int]:
    """Those that exist: what is left of others grants nothing."""

    def find(tree: Tree) -> list[int]:
        tree.need(map(id_bytes, roles))
        return [role for role in roles if tree.get(id_bytes(role)) is not None]

    return await look(rights.roles.index(IDS), find)


async def _load_roles(
    rights: Rights, roles: Iterable[int], known: KnownRoles
) -> dict[int, RoleGrants]:
    """What these roles grant; those that are not known are read together."""
    found = {role: grants for role in roles if (grants := known.get(role)) is not None}
    wanted = [role for role in roles if role not in found]
    for role, pairs in (await _scanned(rights.grants.index(GRANTED), wanted)).items():
        found[role] = _decoded(pairs)
        known.put(role, found[role])
    return found


def _decoded(pairs: Iterable[tuple[bytes, bytes]]) -> RoleGrants:
    """Of very many objects few differ in what is granted: those that do not share it."""
    shared: dict[bytes, tuple[int, int]] = {}
    grants: dict[int, tuple[int, int]] = {}
    for key, value in pairs:
        terms = shared.get(value)
        if terms is None:
            grant = decode_grant(value)
            terms = shared[value] = (grant.allow, grant.deny)
        grants[second_of(key)] = terms
    return grants


async def _scanned(index: Index, ids: Iterable[int]) -> dict[int, list[tuple[bytes, bytes]]]:
    """All entries whose keys begin with these ids. What is missing for any is fetched at once."""
    left, found = list(ids), dict[int, list[tuple[bytes, bytes]]]()
    while left:
        missing: dict[int, None] = {}
        for id in left:
            prefix = id_bytes(id)
            try:
                found[id] = list(index.tree.scan(prefix, after_prefix(prefix)))
            except Missing as error:
                missing |= dict.fromkeys(error.ids)
        left = [id for id in left if id not in found]
        if missing:
            await index.shelf.fetch(Missing(tuple(missing)))
    return found


async def _chosen(rights: Rights, caller: Caller, held: frozenset[int]) -> frozenset[int]:
    """The roles that a caller wants to use now, each of which it must have."""
    names = caller.roles or ()
    entries = await look(
        rights.roles.index(NAMES),
        lambda tree: [Names(tree).find(ROOT, ROLES, name) for name in names],
    )
    for name, entry in zip(names, entries, strict=True):
        if entry is None or entry.id not in held:
            raise Forbidden(
                f"User '{caller.name}' is not authorized to use the role '{name[:80]}'",
                why="it does not have it",
                fix="Name roles that it has",
            )
    return frozenset(entry.id for entry in entries if entry is not None)


def _merged(
    known: Mapping[int, RoleGrants], roles: frozenset[int], allowing: frozenset[int]
) -> RoleGrants:
    """All roles together. What is denied by any counts, whichever are used."""
    if len(roles) == 1 and roles == allowing:
        return known[next(iter(roles))]
    merged: dict[int, tuple[int, int]] = {}
    for role in roles:
        mask = -1 if role in allowing else 0  # of one that is not used only denials count
        for id, terms in known[role].items():
            allow, deny = merged.get(id, NOTHING)
            new = (allow | terms[0] & mask, deny | terms[1])
            merged[id] = terms if new == terms else new
    return merged


def _denied(grants: RoleGrants) -> int:
    denied = 0
    for _, deny in grants.values():
        denied |= deny
    return denied
