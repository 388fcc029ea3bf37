"""Who may read the change log: it names everything that is in a metalake."""

from typing import NamedTuple

from headgate.access.decisions import permits
from headgate.access.rules import READ_CHANGES
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import is_there
from headgate.errors import Forbidden, MetalakeNotFound, RealmNotFound


class Readable(NamedTuple):
    """Whose changes somebody may read."""

    realm: str
    """The id of the metalake that was asked for; empty if all were."""
    realms: frozenset[str] | None = None
    """The ids of those that may be read, of all; None if there is no other."""

    def has(self, realm: str) -> bool:
        """Whether changes of this realm may be read."""
        return self.realms is None or realm in self.realms


async def readable_changes(lake: Lake, call: Call) -> Readable:
    """What the caller may read of the metalake it names, or of all if it names none.

    Service admins read everything; owners what is theirs.
    """
    guard = lake.openings.guard
    [identities] = await lake.kernel.pointers.read([IDENTITIES_KEY])
    call = call._replace(caller=await guard.confirmed(call.caller, identities))
    access = guard.outsider(call.caller)
    is_admin = not access.is_checked or permits(READ_CHANGES, access.base, access.standing)
    if call.catalog.metalake:
        return Readable(await _one(lake, call, is_admin=is_admin))
    own = frozenset() if is_admin else await _own(lake, call)
    if not own:
        lake.openings.judge.check(READ_CHANGES, access, access.base, call, ())
        return Readable("")
    return Readable("", own)


async def _one(lake: Lake, call: Call, *, is_admin: bool) -> str:
    """The id of one metalake whose changes may be read."""
    if not is_admin:
        opened = await lake.open_metalake(call, inactive=True)
        opened.require(READ_CHANGES)
        return opened.realm.id
    access = lake.openings.guard.outsider(call.caller)
    lake.openings.judge.check(READ_CHANGES, access, access.base, call, ())
    name = call.catalog.metalake
    try:
        return (await lake.kernel.realms.get(name)).id
    except RealmNotFound:
        raise MetalakeNotFound(f"Metalake does not exist: {name}") from None


async def _own(lake: Lake, call: Call) -> frozenset[str]:
    """The metalakes that the caller owns."""
    found = []
    for realm in await lake.kernel.realms.list():
        if not is_there(realm):
            continue
        named = call._replace(catalog=CatalogName(realm.name, ""))
        try:
            opened = await lake.open_metalake(named, inactive=True)
        except (Forbidden, MetalakeNotFound):
            continue  # it is somebody else's, or gone by now
        if opened.may(READ_CHANGES):
            found.append(realm.id)
    return frozenset(found)
