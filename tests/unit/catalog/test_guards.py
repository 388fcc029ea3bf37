"""What callers may do, compiled from users, groups, roles and grants."""

import pytest

from headgate.access.rules import LOAD_CATALOG, LOAD_TABLE, Standing
from headgate.catalog.calls import ITSELF, Call
from headgate.catalog.guards import PRINCIPALS
from headgate.catalog.naming import ROOT, USERS, Names, NamesDraft
from headgate.catalog.principals import (
    GROUP,
    USER,
    New,
    add_principal,
    remove_principal,
)
from headgate.catalog.roles import delete_role
from headgate.catalog.ways import Way, way_to
from headgate.http.kernel_measures import lake_samples
from headgate.http.measures import family_of
from headgate.kernel.draft import Draft
from headgate.model.names import Levels
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, guarded_node, rights
from tests.unit.catalog.lakes import CATALOG, MAIN, Node, World
from tests.unit.catalog.staff import READER, guard_of, may


async def test_a_user_may_what_its_roles_allow(staffed: Guarded) -> None:
    """All of them together; and who has none nothing."""
    assert (await may(staffed, "ann"), await may(staffed, "bob")) == ("read", "")

    await staffed.assign("ann", "writer")
    assert await may(staffed, "ann") == "read write"


async def test_a_user_may_what_the_roles_of_its_groups_allow(staffed: Guarded) -> None:
    """As long as its request says that it is in them; groups that nobody knows do not matter."""
    await staffed.assign("staff", "writer", sort=GROUP)

    assert await may(staffed, "bob", "staff", "unknown") == "write"
    assert await may(staffed, "ann", "staff") == "read write"
    assert await may(staffed, "bob") == ""
    await staffed.unassign("staff", "writer", sort=GROUP)
    assert await may(staffed, "bob", "staff") == ""


async def test_what_any_role_denies_is_denied(staffed: Guarded) -> None:
    """Also by one that a group has."""
    await staffed.role("never", rights("schema", f"{CATALOG}.a", deny=["select_table"]))
    await staffed.assign("staff", "never", sort=GROUP)

    assert await may(staffed, "ann") == "read"
    assert await may(staffed, "ann", "staff") == ""


async def test_a_caller_may_choose_the_roles_it_uses(staffed: Guarded) -> None:
    """What is allowed comes from these, what is denied from all; only its own can be chosen."""
    await staffed.role("never", rights("catalog", CATALOG, deny=["create_table"]))
    await staffed.assign("ann", "writer")
    assert await may(staffed, "ann", roles=("writer",)) == "write"
    assert await may(staffed, "ann", roles=("reader",)) == "read"
    assert await may(staffed, "ann", roles=()) == ""

    await staffed.assign("ann", "never")
    assert await may(staffed, "ann", roles=("writer",)) == ""
    assert await may(staffed, "bob", roles=("reader",)) == "nothing"
    assert await may(staffed, "ann", roles=("none",)) == "nothing"


async def test_who_is_no_user_may_nothing(staffed: Guarded) -> None:
    """Not even by a group; and who is no user any more."""
    await staffed.assign("staff", "reader", sort=GROUP)
    assert await may(staffed, "eve", "staff") == "nothing"

    await remove_principal(await staffed.metalake(), USER, "ann")
    assert await may(staffed, "ann", "staff") == "nothing"


async def test_who_is_switched_off_may_nothing(staffed: Guarded) -> None:
    """Whatever roles it has, whatever it owns, and whatever the settings say."""
    metalake = await staffed.metalake()
    for name in ("dan", ADMIN):
        await add_principal(metalake, USER, New(name, enabled=False))
        await staffed.assign(name, "reader")

    assert await may(staffed, "dan") == "nothing"
    assert await may(staffed, ADMIN) == "nothing"


async def test_a_metalake_without_an_owner_is_the_admins(staffed: Guarded) -> None:
    """Of nobody else; and of no admin once it has an owner, who may be a group."""
    assert await may(staffed, ADMIN) == "nothing"
    realm = (await staffed.metalake()).realm

    def vanish(draft: Draft) -> None:
        names = NamesDraft(draft)
        owner = names.find(ROOT, USERS, OWNER)
        assert owner is not None
        names.remove(ROOT, USERS, OWNER, owner)

    await realm.commit(PRINCIPALS, vanish)
    assert await may(staffed, ADMIN) == "read write"
    assert await may(staffed, "bob") == ""

    await staffed.own("metalake", "default", "staff", sort=GROUP, by=ADMIN)
    assert await may(staffed, ADMIN) == "nothing"
    assert await may(staffed, "bob", "staff") == "read write"


async def test_an_admin_who_is_a_user_is_both(staffed: Guarded) -> None:
    """It stands out, and has the rights of its roles."""
    await staffed.users(ADMIN)
    access = (await staffed.catalog(ADMIN)).access

    assert access.standing == Standing.SERVICE_ADMIN | Standing.MEMBER
    assert await may(staffed, ADMIN) == ""


async def test_a_role_that_is_gone_grants_nothing(staffed: Guarded) -> None:
    """Nor does another one of its name, to those who had it."""
    await delete_role(await staffed.metalake(), "reader")
    assert await may(staffed, "ann") == ""

    await staffed.role("reader", READER)
    assert await may(staffed, "ann") == ""


async def test_rights_on_what_is_gone_are_worth_nothing(node: Node, staffed: Guarded) -> None:
    """Another table of the same name is another table."""
    above = rights("schema", f"{CATALOG}.a", "use_schema")
    await staffed.role("one", rights("catalog", CATALOG, "use_catalog"), above)
    await staffed.grant("one", rights("table", f"{CATALOG}.a.t", "select_table"))
    await staffed.assign("bob", "one")
    assert await may(staffed, "bob") == "read"

    await node.delete("namespaces/a/tables/t")
    await node.table()
    assert await may(staffed, "bob") == ""


async def test_the_server_itself_may_everything(staffed: Guarded) -> None:
    """Nothing is compiled for it."""
    before = guard_of(staffed).compiled
    opened = await staffed.lake.open(Call(MAIN, ITSELF))
    await opened.require(LOAD_TABLE, ("a",), "t")

    assert (opened.access.is_checked, guard_of(staffed).compiled) == (False, before)


async def test_a_warm_request_reads_once(world: World, staffed: Guarded) -> None:
    """Its own three pointers, and the five that rights depend on."""
    assert await may(staffed, "ann") == "read"
    world.rig.backend.reset()
    assert await may(staffed, "ann") == "read"

    assert dict(world.rig.backend.calls) == {"read_pointers": 1}
    assert world.rig.backend.rows["read_pointers"] == 8


async def test_all_roles_of_a_caller_are_read_together(world: World, staffed: Guarded) -> None:
    """A cold node reads as often for forty roles as for one."""
    cold = await guarded_node(world)
    world.rig.backend.reset()
    await cold.catalog("ann")
    one = dict(world.rig.backend.calls)

    names = [f"role-{number}" for number in range(40)]
    for name in names:
        await staffed.role(name, READER)
    await staffed.assign("bob", *names)
    cold = await guarded_node(world)
    world.rig.backend.reset()
    opened = await cold.catalog("bob")

    assert len(opened.access.roles) == 40
    assert dict(world.rig.backend.calls) == one


async def test_one_request_looks_up_each_way_once(
    node: Node, staffed: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it asks, and so does the next one under the same heads."""
    looked: list[tuple[str, ...]] = []

    def counted(names: Names, levels: Levels, group: bytes, name: str) -> Way:
        looked.append((*levels, name))
        return way_to(names, levels, group, name)

    monkeypatch.setattr("headgate.catalog.openings.way_to", counted)
    for user in ("ann", OWNER):
        opened = await staffed.catalog(user)
        for _ in range(3):
            await opened.require(LOAD_TABLE, ("a",), "t")
            await opened.sieve(LOAD_TABLE, ("a",))
            await opened.require(LOAD_CATALOG)
    assert sorted(looked) == [("",), ("a", ""), ("a", "t")]

    await node.table("u")
    await (await staffed.catalog("ann")).require(LOAD_TABLE, ("a",), "t")
    assert len(looked) == 4


async def test_without_authorization_nothing_is_compiled(node: Node) -> None:
    """Nor is anything read for it."""
    opened = await node.opened()

    assert (opened.access.is_checked, node.guard.compiled, node.guard.keys("1")) == (False, 0, ())
    assert len(opened.heads.keys) == 3


async def test_operators_see_how_the_cache_of_rights_does(staffed: Guarded) -> None:
    """Like other caches, but for bytes, which it does not count."""
    await may(staffed, "ann")
    before = lake_samples(staffed.lake)
    await may(staffed, "ann")
    await staffed.unassign("ann", "reader")
    await may(staffed, "ann")
    now = lake_samples(staffed.lake)

    of_access = {name for name in now if 'cache="access"' in name}
    assert all(family_of(name) for name in of_access)
    for count in ("hits", "misses", "invalidations"):
        name = f'headgate_cache_{count}_total{{cache="access"}}'
        assert now[name] > before[name], count
    assert now['headgate_cache_entries{cache="access"}'] == guard_of(staffed).cache.size()
    assert len(of_access) == 5
