"""Nodes that check rights, for tests. Who asks is named at each call."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headgate.access.objects import ObjectType
from headgate.access.privileges import privilege_of
from headgate.access.rules import Rule
from headgate.catalog import grants, owners, principals, roles
from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.guards import PRINCIPALS, ROOT, Guard, GuardOptions
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.objects import FoundObject, ObjectName, find_object, object_type
from headgate.catalog.openings import Opened
from headgate.catalog.polling import Polling
from headgate.catalog.principals import GROUP, USER, New, Principal, Sort, insert_creator
from headgate.catalog.privilege_checks import Wanted, terms_of
from headgate.catalog.roles import Role
from headgate.errors import Forbidden
from headgate.kernel.records import PointerKey
from headgate.model.names import Levels
from headgate.storage.gateway import StorageGateway
from headgate.testing.faults import Fault
from tests.unit.catalog.lakes import CATALOG, METALAKE, OPTIONS, TYPES, World
from tests.unit.catalog.outside import CountingStorage, FakePlanner, InlineWorkers

OWNER = "olga"
"""Who owns the metalake."""
ADMIN = "root"
"""Whom the settings name."""
POLL_SECONDS = 3_600.0  # for longer than any test
REFUSALS = 200  # more than a commit tries


class Guarded:
    """One server process that checks rights, without a port."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    async def metalake(
        self, by: str = OWNER, groups: Iterable[str] = (), *, is_fresh: bool = True
    ) -> OpenedMetalake:
        """The metalake, as it is now, for this caller."""
        caller = Caller(by, tuple(groups))
        call = Call(CatalogName(METALAKE, ""), caller, is_fresh=is_fresh)
        return await self.lake.open_metalake(call)

    async def catalog(self, by: str, groups: Iterable[str] = ()) -> Opened:
        """The catalog, as it is now, for this caller."""
        caller = Caller(by, tuple(groups))
        return await self.lake.open(Call(CatalogName(METALAKE, CATALOG), caller))

    async def may(
        self, by: str, rule: Rule, levels: Levels = (), name: str = "", groups: Iterable[str] = ()
    ) -> bool:
        """Whether this caller may, at its next request."""
        try:
            await (await self.catalog(by, groups)).require(rule, levels, name)
        except Forbidden:
            return False
        return True

    async def add(self, sort: Sort, *names: str) -> list[Principal]:
        metalake = await self.metalake()
        return [await principals.add_principal(metalake, sort, New(name)) for name in names]

    async def users(self, *names: str) -> list[Principal]:
        return await self.add(USER, *names)

    async def groups(self, *names: str) -> list[Principal]:
        return await self.add(GROUP, *names)

    async def role(self, name: str, *wanted: Wanted, by: str = OWNER) -> Role:
        return await roles.create_role(self.lake, await self.metalake(by), name, {}, wanted)

    async def load(self, name: str, by: str = OWNER) -> Role:
        return await roles.load_role(self.lake, await self.metalake(by), name)

    async def assign(self, name: str, *given: str, sort: Sort = USER) -> Principal:
        return await grants.assign_roles(await self.metalake(), sort, name, given)

    async def unassign(self, name: str, *taken: str, sort: Sort = USER) -> Principal:
        return await grants.unassign_roles(await self.metalake(), sort, name, taken)

    async def grant(self, role: str, wanted: Wanted, by: str = OWNER) -> Role:
        return await grants.grant_privileges(self.lake, await self.metalake(by), role, wanted)

    async def revoke(self, role: str, wanted: Wanted, by: str = OWNER) -> Role:
        return await grants.revoke_privileges(self.lake, await self.metalake(by), role, wanted)

    async def own(
        self, kind: str, full_name: str, owner: str, sort: Sort = USER, by: str = OWNER
    ) -> None:
        name = named(kind, full_name)
        await owners.set_owner(self.lake, await self.metalake(by), name, sort, owner)

    async def owner(self, kind: str, full_name: str, by: str = OWNER) -> tuple[str, str] | None:
        """The kind and name of the owner of an object."""
        name = named(kind, full_name)
        owned = await owners.load_owner(self.lake, await self.metalake(by), name)
        return (owned.owner.sort.word, owned.owner.name) if owned.owner else None

    async def find(self, kind: str, full_name: str) -> FoundObject:
        return await find_object(self.lake, await self.metalake(), named(kind, full_name))


async def guarded_node(world: World, *, polls: bool = False) -> Guarded:
    """Another node that checks rights, in a world that has a metalake.

    One that polls has polled once, and does so no more.
    """
    kernel = await world.rig.open(types=TYPES)
    validation = None
    if polls:
        polling = Polling(kernel, POLL_SECONDS)
        await polling.poll()
        validation = polling.validation
    guard = Guard(kernel, GuardOptions(is_on=True, admins=frozenset({ADMIN})))
    storage = CountingStorage(StorageGateway(world.storage, kernel.clock))
    return Guarded(
        Lake(
            kernel,
            storage,
            FakePlanner(),
            InlineWorkers(),
            world.new_uuid,
            OPTIONS,
            guard=guard,
            validation=validation,
        )
    )


async def give_owner(node: Guarded) -> None:
    """Let the metalake have its first user, who owns it."""
    kernel = node.lake.kernel
    realm = kernel.realm((await kernel.realms.get(METALAKE)).id)
    id = await realm.commit(PRINCIPALS, lambda draft: insert_creator(draft, OWNER))
    await realm.commit(ROOT, lambda draft: owners.own_metalake(draft, id))


def named(kind: str, full_name: str) -> ObjectName:
    return ObjectName(object_type(kind), full_name)


def rights(kind: str, full_name: str, *allowed: str, deny: Iterable[str] = ()) -> Wanted:
    """Rights on an object, as a client names them."""
    given = [(privilege_of(name), True) for name in allowed]
    taken = [(privilege_of(name), False) for name in deny]
    return Wanted(named(kind, full_name), terms_of([*given, *taken]))


def shown(role: Role) -> dict[tuple[ObjectType, str], tuple[int, int]]:
    """What a role shows: its objects with what it allows and denies there."""
    return {(one.kind, one.full_name): (one.allow, one.deny) for one in role.objects}


async def notes(node: Guarded, pointer: str) -> list[Any]:
    """What the log of a pointer says of the changes that people made, oldest first."""
    realm = (await node.metalake()).realm
    log = node.lake.kernel.log.oldest_first(PointerKey(realm.id, pointer))
    return [group.note async for commit in log for group in commit.groups if group.note]


@contextmanager
def refused_commits(world: World, after: int = 0) -> Iterator[None]:
    """The database takes so many writes, and then none any more until this is over."""
    for _ in range(after):
        world.rig.faults.schedule("commit", Fault.DELAY)
    for _ in range(REFUSALS):
        world.rig.faults.schedule("commit", Fault.UNAVAILABLE)
    try:
        yield
    finally:
        world.rig.faults._scheduled.clear()
