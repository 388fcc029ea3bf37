"""Who has which roles: read, and forgotten when one of both is gone.

What is forgotten was out of use before, because nothing that is gone has rights or gives any. So
if it cannot be done now, what is left does no harm.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from headgate.catalog.guards import GRANTS
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import id_bytes, place_of
from headgate.catalog.rights import ASSIGNED, GRANTED, second_of
from headgate.catalog.stored_names import IDS
from headgate.catalog.walks import unhurried
from headgate.errors import HeadgateError
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.kernel.tree import Tree
from headgate.limits import BATCH_ENTRIES_MAX

FORGOTTEN_PER_COMMIT = BATCH_ENTRIES_MAX // 8  # privileges, and assignments, of what is gone


async def roles_of(grants: HeadView, principal: int) -> list[int]:
    """The ids of all roles that a user or group was given, also such that are no more."""
    keys = grants.index(ASSIGNED).prefix(id_bytes(principal))
    return [second_of(key) async for key, _ in keys]


async def roles_by_principal(grants: HeadView) -> dict[int, list[int]]:
    """The same for all users and groups, in one walk."""
    found: dict[int, list[int]] = {}
    async for key, _ in unhurried(grants.index(ASSIGNED).scan()):
        found.setdefault(int.from_bytes(key[:8], "big"), []).append(second_of(key))
    return found


async def role_names(roles: HeadView, ids: Iterable[int]) -> dict[int, str]:
    """What these roles are called; those that are no more are not in the answer."""
    wanted = sorted(set(ids))

    def find(tree: Tree) -> dict[int, str]:
        tree.need(map(id_bytes, wanted))
        places = ((id, place_of(tree, id)) for id in wanted)
        return {id: place.name for id, place in places if place is not None}

    return await look(roles.index(IDS), find)


async def forget_principal(metalake: OpenedMetalake, id: int) -> None:
    """Take all roles from a user or group that is gone."""
    await _forget(metalake, lambda draft: _remove_some(draft, ASSIGNED, id))


async def forget_role(metalake: OpenedMetalake, id: int) -> None:
    """Take its rights from a role that is gone, and the role from all who have it."""
    assigned = unhurried(metalake.grants.index(ASSIGNED).scan())
    held = [key async for key, _ in assigned if second_of(key) == id]

    def attempt(draft: Draft, some: Sequence[bytes]) -> bool:
        for key in some:
            draft.index(ASSIGNED).remove(key)
        return _remove_some(draft, GRANTED, id)

    for at in range(0, len(held) or 1, FORGOTTEN_PER_COMMIT):
        await _forget(metalake, partial(attempt, some=held[at : at + FORGOTTEN_PER_COMMIT]))


async def _forget(metalake: OpenedMetalake, attempt: Callable[[Draft], bool]) -> None:
    """Commit until an attempt says that nothing is left: one commit is not to take long."""
    with suppress(HeadgateError):
        while await metalake.commit(GRANTS, attempt):
            pass


def _remove_some(draft: Draft, index: str, first: int) -> bool:
    """Remove entries of a user, group or role; whether some may be left."""
    entries = draft.index(index)
    some = islice(entries.prefix(id_bytes(first)), FORGOTTEN_PER_COMMIT)
    keys = [key for key, _ in some]
    for key in keys:
        entries.remove(key)
    return len(keys) == FORGOTTEN_PER_COMMIT
