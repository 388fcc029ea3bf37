"""Kept groups: made and dropped, and who is in them."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.catalog.calls import OPERATOR
from headgate.catalog.entities import Entry, Kind
from headgate.catalog.identities import (
    GROUPS_OF,
    MEMBERS_OF,
    change_identities,
    current_head,
    note,
    note_drop,
)
from headgate.catalog.identity_entities import IdentityGroupEntity
from headgate.catalog.naming import GROUPS, ROOT, USERS, Names, NamesDraft, id_bytes, place_of
from headgate.catalog.rights import pair, second_of
from headgate.catalog.stored_names import IDS, NAMES
from headgate.errors import Conflict, GroupExists, GroupNotFound, UserNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.kernel.kernel import Kernel
from headgate.kernel.tree import Tree
from headgate.model.names import check_principal_name


class KeptGroup(NamedTuple):
    """A group and who is in it."""

    name: str
    comment: str
    members: tuple[str, ...]
    created_ms: int


async def list_groups(kernel: Kernel) -> list[KeptGroup]:
    """All kept groups, by name."""
    head = await current_head(kernel)
    named = await look(head.index(NAMES), lambda tree: list(Names(tree).below(ROOT, GROUPS)))
    return [await _shown(head, name, entry) for name, entry in named]


async def get_group(kernel: Kernel, name: str) -> KeptGroup:
    """The kept group of this name."""
    head = await current_head(kernel)
    entry = await look(head.index(NAMES), lambda tree: Names(tree).find(ROOT, GROUPS, name))
    if entry is None:
        raise _absent(name)
    return await _shown(head, name, entry)


async def create_group(kernel: Kernel, name: str, comment: str = "", *, by: str = OPERATOR) -> None:
    """Keep a new group, with nobody in it."""
    check_principal_name(name)

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        if names.find(ROOT, GROUPS, name) is not None:
            raise GroupExists(
                f"Group already exists: {name}",
                fix=f"Choose another name; `headgate group members {name}` shows who is in it",
            )
        group = IdentityGroupEntity(comment, draft.now_ms, by)
        names.add(ROOT, GROUPS, name, Entry(Kind.GROUP, draft.new_id(), draft.stage(group)))
        draft.note(note("create", "identity-group", name, by))

    await change_identities(kernel, attempt)


async def drop_group(kernel: Kernel, name: str, *, force: bool = False, by: str = OPERATOR) -> bool:
    """Forget a group, with `force` also one that has members; False if there is none."""

    def attempt(draft: Draft) -> bool:
        names = NamesDraft(draft)
        entry = names.find(ROOT, GROUPS, name)
        if entry is None:
            return False
        users = [second_of(key) for key, _ in draft.index(MEMBERS_OF).prefix(id_bytes(entry.id))]
        if users and not force:
            raise Conflict(
                f"Group {name} cannot be dropped",
                why=f"{len(users)} users are in it",
                fix="Remove them first, or drop it with force",
            )
        for user in users:
            _leave(draft, user, entry.id)
        names.remove(ROOT, GROUPS, name, entry)
        draft.discard(entry.object)
        note_drop(draft, GROUPS, name)
        draft.note(note("drop", "identity-group", name, by))
        return True

    return await change_identities(kernel, attempt)


async def change_members(
    kernel: Kernel,
    name: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    by: str = OPERATOR,
) -> None:
    """Put kept users into a group, and take others out: all or none."""

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        group = names.find(ROOT, GROUPS, name)
        if group is None:
            raise _absent(name)
        for user in add:
            _join(draft, _member(names, user), group.id)
        for user in remove:
            _leave(draft, _member(names, user), group.id)
        members = {"added": list(add), "removed": list(remove)}
        draft.note(note("alter", "identity-group", name, by, **members))

    await change_identities(kernel, attempt)


def _join(draft: Draft, user: int, group: int) -> None:
    draft.index(GROUPS_OF).put(pair(user, group), b"")
    draft.index(MEMBERS_OF).put(pair(group, user), b"")


def _leave(draft: Draft, user: int, group: int) -> None:
    draft.index(GROUPS_OF).remove(pair(user, group))
    draft.index(MEMBERS_OF).remove(pair(group, user))


def _member(names: Names, user: str) -> int:
    entry = names.find(ROOT, USERS, user)
    if entry is None:
        raise UserNotFound(
            f"User does not exist: {user}",
            why="only kept users can be in kept groups",
        )
    return entry.id


async def _shown(head: HeadView, name: str, entry: Entry) -> KeptGroup:
    group = await head.get(entry.object, IdentityGroupEntity)
    prefix = id_bytes(entry.id)
    users = [second_of(key) async for key, _ in head.index(MEMBERS_OF).prefix(prefix)]

    def named(ids: Tree) -> tuple[str, ...]:
        places = [place_of(ids, user) for user in users]
        return tuple(sorted(place.name for place in places if place is not None))

    return KeptGroup(name, group.comment, await look(head.index(IDS), named), group.created_ms)


def _absent(name: str) -> GroupNotFound:
    return GroupNotFound(f"Group does not exist: {name}", why="none of this name is kept")
