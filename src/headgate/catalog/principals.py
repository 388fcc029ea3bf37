"""Users and groups of a metalake: added, looked at, switched off, removed.

Who is in a group is told by whoever vouches for the caller; here it is only what roles are given to
and what can own something. Ids are never used again: whoever is added under the name of somebody
who was removed has none of the rights of that one.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from headgate.access import rules
from headgate.access.rules import Rule, Standing
from headgate.catalog.assignments import forget_principal, role_names, roles_by_principal, roles_of
from headgate.catalog.compiling import DISABLED
from headgate.catalog.entities import Entry, GroupEntity, Kind, UserEntity
from headgate.catalog.guards import PRINCIPALS
from headgate.catalog.identities import dropped_at
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import GROUPS, ROOT, USERS, Names, NamesDraft, id_bytes, place_of
from headgate.catalog.stored_names import IDS, NAMES
from headgate.catalog.walks import names_in
from headgate.errors import (
    AlreadyExists,
    BadRequest,
    GroupExists,
    GroupNotFound,
    HeadgateError,
    NotFound,
    UserExists,
    UserNotFound,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.model.names import check_principal_name

PrincipalEntity = UserEntity | GroupEntity

R = TypeVar("R")


class New(NamedTuple):
    """A user or group that is to be added."""

    name: str
    external_id: str = ""
    enabled: bool = True
    """Only of users: who is switched off is refused everywhere."""


class Sort(NamedTuple):
    """What users and groups differ in."""

    kind: Kind
    group: bytes
    """The letter of its names."""
    entity: type[PrincipalEntity]
    loading: Rule
    changing: Rule
    absent: type[NotFound]
    exists: type[AlreadyExists]

    def make(self, new: New, now_ms: int, by: str) -> PrincipalEntity:
        """What is kept of a new one."""
        if self.kind is Kind.USER:
            return UserEntity(new.enabled, new.external_id, now_ms, by)
        return GroupEntity(new.external_id, now_ms, by)

    @property
    def word(self) -> str:
        """What it is called."""
        return self.kind.name.lower()


USER = Sort(
    Kind.USER, USERS, UserEntity, rules.LOAD_USER, rules.CHANGE_USERS, UserNotFound, UserExists
)
GROUP = Sort(
    Kind.GROUP,
    GROUPS,
    GroupEntity,
    rules.LOAD_GROUP,
    rules.CHANGE_GROUPS,
    GroupNotFound,
    GroupExists,
)
SORTS = {USERS: USER, GROUPS: GROUP}


class Principal(NamedTuple):
    """A user or group, as it is answered."""

    name: str
    id: int
    entity: PrincipalEntity
    roles: list[str]
    """Those that it was given itself, not through a group."""


class Named(NamedTuple):
    """A user or group by its name."""

    name: str
    entry: Entry


async def add_principal(metalake: OpenedMetalake, sort: Sort, new: New) -> Principal:
    """Let somebody use a metalake, or make a group known so that it can have roles."""
    metalake.require(sort.changing, names=(new.name,))
    return await _add(metalake, sort, new)


async def add_users(
    metalake: OpenedMetalake, new: Sequence[New]
) -> list[Principal | HeadgateError]:
    """Let many use a metalake; what became of each. Who cannot be added hinders nobody else."""
    metalake.require(rules.CHANGE_USERS)
    return await asyncio.gather(*(_outcome(_add(metalake, USER, one)) for one in new))


async def _add(metalake: OpenedMetalake, sort: Sort, new: New) -> Principal:
    name = new.name
    check_principal_name(name)
    since, owner = await _since(metalake, sort, name), metalake.root.owner

    def attempt(draft: Draft) -> tuple[Principal, int]:
        former = NamesDraft(draft).find(ROOT, sort.group, name)
        if former is not None and former.id >= since:
            raise sort.exists(
                f"{sort.word.capitalize()} already exists: {name}", fix="Choose another name"
            )
        if former is not None:
            if former.id == owner:
                raise _owning(metalake, sort, name, "replace")
            _take_out(draft, sort, name, former)
        entity = sort.make(new, draft.now_ms, metalake.call.principal)
        draft.note(metalake.call.note("create", sort.word, [name]))
        made = Principal(name, _insert(draft, sort, name, entity), entity, [])
        return made, former.id if former else 0

    made, former = await metalake.commit(PRINCIPALS, attempt)
    if former:
        await forget_principal(metalake, former)
    return made


async def _since(metalake: OpenedMetalake, sort: Sort, name: str) -> int:
    """The id of the last drop of a kept user or group of this name, if there is another one now:
    what is older in the metalake is of the former. 0 if there is none."""
    names = metalake.identities.index(NAMES)
    if await look(names, lambda tree: Names(tree).find(ROOT, sort.group, name)) is None:
        return 0
    [since] = await dropped_at(metalake.identities, sort.group, [name])
    return since


def insert_creator(draft: Draft, name: str) -> int:
    """Make whoever creates a metalake its first user, in a commit on its principals; the id."""
    found = NamesDraft(draft).find(ROOT, USERS, name)
    if found is not None:
        return found.id  # somebody began to create it before
    return _insert(draft, USER, name, UserEntity(created_ms=draft.now_ms, created_by=name))


def _insert(draft: Draft, sort: Sort, name: str, entity: PrincipalEntity) -> int:
    id = draft.new_id()
    NamesDraft(draft).add(ROOT, sort.group, name, Entry(sort.kind, id, draft.stage(entity)))
    if isinstance(entity, UserEntity) and not entity.enabled:
        draft.index(DISABLED).put(id_bytes(id), b"")
    return id


async def load_principal(metalake: OpenedMetalake, sort: Sort, name: str) -> Principal:
    """The user or group of this name. Everybody may see itself and the groups it is in."""
    entry = await find_principal(metalake.principals, sort, name)
    is_own = entry is not None and entry.id in metalake.access.principals
    metalake.require(sort.loading, (), int(Standing.SELF) if is_own else 0, (name,))
    if entry is None:
        raise absent(metalake, sort, name)
    return await describe(metalake, sort, Named(name, entry))


async def describe(metalake: OpenedMetalake, sort: Sort, named: Named) -> Principal:
    """A user or group with the names of its roles."""
    name, entry = named
    entity = await metalake.principals.get(entry.object, sort.entity)
    roles = await roles_of(metalake.grants, entry.id)
    names = await role_names(metalake.roles, roles)
    return Principal(name, entry.id, entity, sorted(names.values()))


async def list_principals(metalake: OpenedMetalake, sort: Sort) -> list[Named]:
    """All users or groups that the caller may see, by name."""
    sees_all, own = metalake.may(sort.loading), metalake.access.principals
    return [
        Named(name, entry)
        async for name, entry in names_in(metalake.principals, sort.group)
        if sees_all or entry.id in own
    ]


async def describe_all(
    metalake: OpenedMetalake, sort: Sort, named: Iterable[Named]
) -> list[Principal]:
    """Many users or groups with the names of their roles; what is missing is read together."""
    wanted = list(named)
    entities = await metalake.principals.get_all([entry.object for _, entry in wanted], sort.entity)
    given = await roles_by_principal(metalake.grants)
    roles = {entry.id: given.get(entry.id, []) for _, entry in wanted}
    names = await role_names(metalake.roles, (id for ids in roles.values() for id in ids))
    return [
        Principal(
            name, entry.id, entity, sorted(names[id] for id in roles[entry.id] if id in names)
        )
        for (name, entry), entity in zip(wanted, entities, strict=True)
    ]


async def set_enabled(metalake: OpenedMetalake, name: str, *, enabled: bool) -> Principal:
    """Switch a user off, who is refused everywhere from then on, or on again with its rights."""
    metalake.require(rules.CHANGE_USERS, names=(name,))

    def attempt(draft: Draft) -> Entry:
        names = NamesDraft(draft)
        entry = names.find(ROOT, USERS, name)
        if entry is None:
            raise absent(metalake, USER, name)
        old = draft.fetch(entry.object, UserEntity)
        if old.enabled == enabled:
            return entry
        if not enabled and entry.id == metalake.root.owner:
            raise _owning(metalake, USER, name, "switch off")
        new = draft.stage(msgspec.structs.replace(old, enabled=enabled))
        names.put(ROOT, USERS, name, msgspec.structs.replace(entry, object=new))
        if enabled:
            draft.index(DISABLED).remove(id_bytes(entry.id))
        else:
            draft.index(DISABLED).put(id_bytes(entry.id), b"")
        draft.discard(entry.object)
        draft.note(metalake.call.note("enable" if enabled else "disable", "user", [name]))
        return msgspec.structs.replace(entry, object=new)

    entry = await metalake.commit(PRINCIPALS, attempt)
    return await describe(metalake, USER, Named(name, entry))


async def remove_principal(metalake: OpenedMetalake, sort: Sort, name: str) -> bool:
    """Take a user or group out of a metalake; False if it is not there.

    From then on it has no rights and owns nothing. The owner of the metalake stays.
    """
    metalake.require(sort.changing, names=(name,))
    return await _remove(metalake, sort, name)


async def remove_users(
    metalake: OpenedMetalake, names: Sequence[str]
) -> list[bool | HeadgateError]:
    """Take many users out of a metalake; what became of each."""
    metalake.require(rules.CHANGE_USERS)
    return await asyncio.gather(*(_outcome(_remove(metalake, USER, name)) for name in names))


async def _remove(metalake: OpenedMetalake, sort: Sort, name: str) -> bool:
    owner = metalake.root.owner

    def attempt(draft: Draft) -> Entry | None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, sort.group, name)
        if entry is None:
            return None
        if entry.id == owner:
            raise _owning(metalake, sort, name, "remove")
        _take_out(draft, sort, name, entry)
        draft.note(metalake.call.note("drop", sort.word, [name]))
        return entry

    gone = await metalake.commit(PRINCIPALS, attempt)
    if gone is not None:
        await forget_principal(metalake, gone.id)
    return gone is not None


def _take_out(draft: Draft, sort: Sort, name: str, entry: Entry) -> None:
    NamesDraft(draft).remove(ROOT, sort.group, name, entry)
    draft.index(DISABLED).remove(id_bytes(entry.id))
    draft.discard(entry.object)


async def _outcome(done: Awaitable[R]) -> R | HeadgateError:
    try:
        return await done
    except HeadgateError as error:
        return error


async def find_principal(principals: HeadView, sort: Sort, name: str) -> Entry | None:
    """The entry of a user or group."""
    return await look(
        principals.index(NAMES), lambda tree: Names(tree).find(ROOT, sort.group, name)
    )


async def require_principal(metalake: OpenedMetalake, sort: Sort, name: str) -> Entry:
    """The entry of a user or group that must be there."""
    entry = await find_principal(metalake.principals, sort, name)
    if entry is None:
        raise absent(metalake, sort, name)
    return entry


async def principal_of(principals: HeadView, id: int) -> tuple[Sort, str] | None:
    """Whether an id is of a user or a group, and its name; None if it is no more."""
    place = await look(principals.index(IDS), lambda tree: place_of(tree, id))
    return None if place is None else (SORTS[place.group], place.name)


def _owning(metalake: OpenedMetalake, sort: Sort, name: str, do: str) -> BadRequest:
    """A metalake is never left without somebody who can act for it."""
    return BadRequest(
        f"Cannot {do} {sort.word} {name} of metalake {metalake.name}",
        why="it owns the metalake",
        fix="Give the metalake another owner first",
    )


def absent(metalake: OpenedMetalake, sort: Sort, name: str) -> NotFound:
    """What to say of a user or group that does not exist."""
    word = sort.word
    return sort.absent(
        f"{word.capitalize()} does not exist: {name}",
        why=f"metalake {metalake.name} has no {word} of this name",
        fix="Add it first",
    )
