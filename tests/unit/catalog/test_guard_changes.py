"""Rights that change: who is compiled again, and that nobody gets those of other heads."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.catalog import guards
from headgate.catalog.calls import Caller
from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.guards import GRANTS, PRINCIPALS, ROLE, Guard, GuardOptions
from headgate.catalog.principals import (
    USER,
    insert_creator,
    remove_principal,
)
from headgate.catalog.rights import ASSIGNED, pair
from headgate.catalog.rights_changes import Changed
from headgate.catalog.roles import delete_role
from headgate.errors import ObjectNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.pointers import Vector
from headgate.testing.faults import Fault
from tests.unit.catalog.guarded import Guarded, guarded_node, rights
from tests.unit.catalog.lakes import CATALOG, Node, World
from tests.unit.catalog.staff import COARSE, FINE, READER, guard_of, may


async def _assign(node: Guarded) -> None:
    await node.assign("ann", "writer")


async def _unassign(node: Guarded) -> None:
    await node.unassign("ann", "reader")


async def _grant(node: Guarded) -> None:
    await node.grant("reader", rights("catalog", CATALOG, "create_table"))


async def _delete_role(node: Guarded) -> None:
    await delete_role(await node.metalake(), "reader")


async def _drop_user(node: Guarded) -> None:
    await remove_principal(await node.metalake(), USER, "ann")


async def _group(node: Guarded) -> None:
    await node.groups("guests")


async def _stranger(node: Guarded) -> None:
    await node.users("eve")


async def _strange_role(node: Guarded) -> None:
    await node.role("other", READER)
    await node.assign("dan", "other")


async def _owner(node: Guarded) -> None:
    await node.own("metalake", "default", "dan")


ALL = {"ann", "bob", "dan"}
CHANGES: dict[str, tuple[Callable[[Guarded], Awaitable[None]], set[str]]] = {
    "a role is given": (_assign, {"ann"}),
    "a role is taken": (_unassign, {"ann"}),
    "a role may more": (_grant, {"ann"}),
    "a role is deleted": (_delete_role, {"ann"}),
    "a user is removed": (_drop_user, {"ann"}),
    "a group comes that bob is in": (_group, {"bob"}),
    "a user comes": (_stranger, set()),
    "a role comes and is given": (_strange_role, {"dan"}),
    "the metalake is given away": (_owner, ALL),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", [FINE, COARSE], ids=["fine", "coarse"])
async def test_who_is_compiled_again(
    world: World, staffed: Guarded, options: GuardOptions, change: str
) -> None:
    """Fine: whom the change concerns. Coarse: all. Both are as right as a node that is new."""
    await staffed.users("dan")
    node = Guarded((await world.node(guard=options)).lake)
    callers = [Caller("ann"), Caller("bob", ("guests",)), Caller("dan")]
    for caller in callers:
        await may(node, caller.name, *caller.groups)
    make, concerned = CHANGES[change]
    await make(staffed)

    again = set()
    fresh = await guarded_node(world)
    for caller in callers:
        before = guard_of(node).compiled
        now = await may(node, caller.name, *caller.groups)
        assert now == await may(fresh, caller.name, *caller.groups)
        if guard_of(node).compiled > before:
            again.add(caller.name)
    assert again == (concerned if options.is_fine else ALL)


async def test_a_role_that_did_not_change_is_not_read_again(world: World, staffed: Guarded) -> None:
    """Neither for another user of it, nor after a change of another role."""
    await may(staffed, "ann")
    guard = guard_of(staffed)
    [held] = [key for key in tuple(guard.cache.keys()) if key[1] == ROLE]
    await staffed.grant("writer", rights("catalog", CATALOG, "select_table"))
    await staffed.assign("bob", "reader")
    hits = guard.cache.statistics().hits
    assert await may(staffed, "bob") == "read"

    assert held in set(guard.cache.keys())
    assert guard.cache.statistics().hits == hits + 1


async def test_commits_to_a_catalog_compile_nothing_again(node: Node, staffed: Guarded) -> None:
    """Its head is not among what rights are compiled from."""
    await may(staffed, "ann")
    before = guard_of(staffed).compiled
    await node.table("u")

    assert await may(staffed, "ann") == "read"
    assert guard_of(staffed).compiled == before


async def test_heads_that_cannot_be_compared_make_all_compiled_again(
    staffed: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a node knew before it slept for long may be swept away."""

    async def too_old(*_: object) -> Changed:
        raise ObjectNotFound("the old head is gone")

    monkeypatch.setattr("headgate.catalog.guards.changed_rights", too_old)
    await may(staffed, "ann")
    await staffed.users("eve")
    before = guard_of(staffed).compiled

    assert await may(staffed, "ann") == "read"
    assert guard_of(staffed).compiled == before + 1


async def test_rights_of_many_states_at_a_time_are_never_mixed_up(
    world: World, staffed: Guarded
) -> None:
    """Requests that read different heads each get what follows from their own."""
    users, states = await _history(staffed)
    asked = [(at, user) for at in range(len(states)) for user in users]
    guard = Guard(await world.rig.open(types=CATALOG_TYPES, cache_bytes=0), FINE)
    realm = (await staffed.metalake()).realm.id

    async def check(at: int, user: str) -> None:
        state, holders = states[at]
        access = (await guard.rights_of(Caller(user), realm, state)).access
        assert bool(access.roles) == (user in holders), (at, user)

    for _ in range(10_000):  # whatever is fetched has to be waited for
        world.rig.faults.schedule("fetch", Fault.DELAY)
    for seed in range(2):
        random.Random(seed).shuffle(asked)
        await asyncio.gather(*(check(*one) for one in asked))
    assert guard.reused > 0


class Held:
    """The first call of a function waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.reached, self.let_go = asyncio.Event(), asyncio.Event()
        self._held = getattr(guards, name)
        monkeypatch.setattr(guards, name, self._call)

    async def _call(self, *given: Any, **more: Any) -> Any:
        if not self.reached.is_set():
            self.reached.set()
            await self.let_go.wait()
        return await self._held(*given, **more)


@pytest.mark.parametrize("held_up", ["changed_rights", "compile_access"])
@pytest.mark.parametrize("is_new_first", [True, False])
async def test_who_is_held_up_leaves_nothing_wrong_behind(
    staffed: Guarded, monkeypatch: pytest.MonkeyPatch, held_up: str, *, is_new_first: bool
) -> None:
    """While it compares or compiles, others go on to newer heads, and from there back to its."""
    guard, realm = guard_of(staffed), (await staffed.metalake()).realm.id
    old = await staffed.lake.kernel.pointers.read(guard.keys(realm))
    await staffed.users("eve")
    middle = await staffed.lake.kernel.pointers.read(guard.keys(realm))
    await _grant(staffed)
    new = await staffed.lake.kernel.pointers.read(guard.keys(realm))

    async def rights_by(state: Vector) -> object:
        return (await guard.rights_of(Caller("ann"), realm, state)).access.grants

    by_old = await rights_by(old)
    guard.cache.invalidate_prefix(())
    held = Held(monkeypatch, held_up)
    slow = asyncio.create_task(rights_by(middle))
    await held.reached.wait()
    by_new = await rights_by(new)
    held.let_go.set()

    assert by_new != by_old
    assert await slow == by_old
    states = [(new, by_new), (middle, by_old), (new, by_new), (old, by_old)]
    for state, right in states if is_new_first else states[1:]:
        assert await rights_by(state) == right


async def _history(node: Guarded) -> tuple[list[str], list[tuple[Vector, set[str]]]]:
    """Some users, and states in which one after the other got a role or lost it.

    There are so many entries that no head holds them all: each look at them is a fetch.
    """
    opened = await node.catalog("ann")
    realm, [reader] = opened.realm, opened.access.roles
    names = [f"user-{number}" for number in range(300)]
    ids = await realm.commit(
        PRINCIPALS, lambda draft: {name: insert_creator(draft, name) for name in names}
    )

    def fill(draft: Draft) -> None:
        for number in range(1, 300):
            draft.index(ASSIGNED).put(pair(number, number), b"")

    await realm.commit(GRANTS, fill)
    users, holders = names[::50], set[str]()
    states: list[tuple[Vector, set[str]]] = []
    for user in users * 2:
        holders ^= {user}
        change = _giving if user in holders else _taking
        await realm.commit(GRANTS, change(pair(ids[user], reader)))
        keys = guard_of(node).keys(realm.id)
        states.append((await node.lake.kernel.pointers.read(keys), set(holders)))
    return users, states


def _giving(key: bytes) -> Callable[[Draft], None]:
    return lambda draft: draft.index(ASSIGNED).put(key, b"")


def _taking(key: bytes) -> Callable[[Draft], bool]:
    return lambda draft: draft.index(ASSIGNED).remove(key)


async def test_a_lifetime_is_a_safety_net(world: World, staffed: Guarded) -> None:
    """If one is set, rights are compiled again after it, though nothing changed."""
    options = FINE._replace(cache_seconds=10, cache_entries=100)
    node = Guarded((await world.node(guard=options)).lake)
    for ms, compiled in ((0, 1), (9_999, 1), (1, 2)):
        world.rig.clock.advance(ms)
        assert await may(node, "ann") == "read"
        assert guard_of(node).compiled == compiled
    assert guard_of(node).cache.statistics().entries_max == 100


async def test_metalakes_do_not_disturb_each_other(staffed: Guarded) -> None:
    """Whoever has the same name elsewhere is somebody else."""
    guard, here = guard_of(staffed), (await staffed.metalake()).realm
    there = await _second_metalake(staffed)
    assert (await _roles_of_ann(staffed, here), await _roles_of_ann(staffed, there)) == (1, 0)
    compiled = guard.compiled
    await there.commit(PRINCIPALS, lambda draft: insert_creator(draft, "bob"))

    assert (await _roles_of_ann(staffed, here), await _roles_of_ann(staffed, there)) == (1, 0)
    assert guard.compiled == compiled


async def test_what_is_remembered_of_metalakes_is_limited(
    world: World, staffed: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a metalake whose heads are forgotten nothing that the cache holds is used."""
    monkeypatch.setattr("headgate.catalog.guards.REALMS_KNOWN_MAX", 1)
    monkeypatch.setattr("headgate.catalog.metalake_openings.OPENINGS_KNOWN_MAX", 1)
    here, there = (await staffed.metalake()).realm, await _second_metalake(staffed)
    assert await _roles_of_ann(staffed, here) == 1
    assert await _roles_of_ann(staffed, there) == 0
    await (await guarded_node(world)).unassign("ann", "reader")

    assert await _roles_of_ann(staffed, here) == 0


async def _second_metalake(node: Guarded) -> RealmHandle:
    """Another one, with another ann."""
    kernel = node.lake.kernel
    realm = kernel.realm((await kernel.realms.create("second")).id)
    await realm.commit(PRINCIPALS, lambda draft: insert_creator(draft, "ann"))
    return realm


async def _roles_of_ann(node: Guarded, realm: RealmHandle) -> int:
    """How many roles ann has there at the next request."""
    guard = guard_of(node)
    values = await node.lake.kernel.pointers.read(guard.keys(realm.id))
    return len((await guard.rights_of(Caller("ann"), realm.id, values)).access.roles)
