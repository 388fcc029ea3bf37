"""Who has which roles: read, and forgotten when one of both is gone.

What is forgotten was out of use before, because nothing that is gone has rights or gives any. So
if it cannot be done now, what is left does no harm.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

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

    def attempt(draft: Draft) -> None:
        _remove_all(draft, ASSIGNED, id)

    await _forget(metalake, attempt)


async def forget_role(metalake: OpenedMetalake, id: int) -> None:
    """Take its rights from a role that is gone, and the role from all who have it."""
    assigned = unhurried(metalake.grants.index(ASSIGNED).scan())
    held = [key async for key, _ in assigned if second_of(key) == id]

    def attempt(draft: Draft) -> None:
        _remove_all(draft, GRANTED, id)
        for key in held:
            draft.index(ASSIGNED).remove(key)

    await _forget(metalake, attempt)


async def _forget(metalake: OpenedMetalake, attempt: Callable[[Draft], None]) -> None:
    with suppress(HeadgateError):
        await metalake.commit(GRANTS, attempt)


def _remove_all(draft: Draft, index: str, first: int) -> None:
    entries = draft.index(index)
    for key in [key for key, _ in entries.prefix(id_bytes(first))]:
        entries.remove(key)
