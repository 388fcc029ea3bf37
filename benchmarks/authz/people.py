"""Users with roles, and roles with rights: written as the server keeps them, many at once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from headgate.catalog.entities import Entry, Kind, RoleEntity, UserEntity
from headgate.catalog.guards import GRANTS, PRINCIPAL_ROLES, PRINCIPALS
from headgate.catalog.naming import ROLES, ROOT, USERS, NamesDraft
from headgate.catalog.rights import ASSIGNED, GRANTED, Grant, encode_grant, pair
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle

GRANTS_PER_COMMIT = 2_000

Rights = dict[int, Grant]
"""By the ids of the objects that they are on."""
Put = tuple[str, bytes, bytes]
"""An index, a key and its value."""


class Person(NamedTuple):
    """A user, and what each of its roles grants; no two users share a role."""

    name: str
    roles: Sequence[Rights]


async def add_people(realm: RealmHandle, people: Sequence[Person]) -> None:
    """Let these use the metalake, with their rights."""
    users = await realm.commit(PRINCIPALS, _adding_users([one.name for one in people]))
    names = [role_name(one.name, at) for one in people for at in range(len(one.roles))]
    roles = iter(await realm.commit(PRINCIPAL_ROLES, _adding_roles(names)))
    entries: list[Put] = []
    for user, person in zip(users, people, strict=True):
        for rights in person.roles:
            role = next(roles)
            entries.append((ASSIGNED, pair(user, role), b""))
            entries += ((GRANTED, pair(role, id), encode_grant(one)) for id, one in rights.items())
    for start in range(0, len(entries), GRANTS_PER_COMMIT):
        await realm.commit(GRANTS, _putting(entries[start : start + GRANTS_PER_COMMIT]))


def role_name(user: str, at: int) -> str:
    """What the role of a user at this place is called."""
    return f"{user}-{at}"


def _adding_users(users: Sequence[str]) -> Callable[[Draft], list[int]]:
    def attempt(draft: Draft) -> list[int]:
        return [_add(draft, USERS, Kind.USER, name, draft.stage(UserEntity())) for name in users]

    return attempt


def _adding_roles(roles: Sequence[str]) -> Callable[[Draft], list[int]]:
    def attempt(draft: Draft) -> list[int]:
        return [_add(draft, ROLES, Kind.ROLE, name, draft.stage(RoleEntity())) for name in roles]

    return attempt


def _add(draft: Draft, group: bytes, kind: Kind, name: str, object: int) -> int:
    entry = Entry(kind, draft.new_id(), object)
    NamesDraft(draft).add(ROOT, group, name, entry)
    return entry.id


def _putting(entries: Sequence[Put]) -> Callable[[Draft], None]:
    def attempt(draft: Draft) -> None:
        for index, key, value in entries:
            draft.index(index).put(key, value)

    return attempt
