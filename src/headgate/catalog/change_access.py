"""Who may read the change log: it names everything that is in a metalake."""

from headgate.access.decisions import permits
from headgate.access.rules import READ_CHANGES
from headgate.catalog import outsiders
from headgate.catalog.calls import Call
from headgate.catalog.change_cursors import Extent
from headgate.catalog.lake import Lake
from headgate.errors import MetalakeNotFound, RealmNotFound


async def readable_changes(lake: Lake, call: Call) -> Extent:
    """What the caller may read of the metalake it names, or of all if it names none.

    Service admins read everything; owners what is theirs.
    """
    access = lake.openings.guard.outsider(await outsiders.confirm(lake, call.caller))
    is_admin = not access.is_checked or permits(READ_CHANGES, access.base, access.standing)
    if call.catalog.metalake and not is_admin:
        opened = await lake.open_metalake(call, inactive=True)
        opened.require(READ_CHANGES)
        return Extent(opened.realm.id)
    if not is_admin:
        known = await lake.metalakes.known_to(call)
        own = frozenset(one.realm.id for one in known if one.may(READ_CHANGES))
        if own:
            return Extent("", own)
    lake.openings.judge.check(READ_CHANGES, access, access.base, call, ())
    return Extent(await _realm(lake, call.catalog.metalake))


async def _realm(lake: Lake, metalake: str) -> str:
    """The id of a metalake, in whatever state it is; empty for none."""
    if not metalake:
        return ""
    try:
        return (await lake.kernel.realms.get(metalake)).id
    except RealmNotFound:
        raise MetalakeNotFound(f"Metalake does not exist: {metalake}") from None
