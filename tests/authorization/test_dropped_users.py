"""A kept user or group that has the name of a dropped one: another one, in every metalake."""

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.identity_groups import change_members, create_group, drop_group
from headgate.catalog.identity_users import create_user, drop_user
from headgate.catalog.owners import give_metalake
from headgate.catalog.principals import GROUP, USER
from headgate.kernel.kernel import Kernel
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode, GuardedWorld
from tests.unit.catalog.keeping import Keeper
from tests.unit.catalog.lakes import CATALOG

TABLE = "namespaces/a/tables/t"
METALAKE = "/api/metalakes/default"


def keeping(kernel: Kernel, options: GuardOptions) -> Guard:
    """A guard that knows kept users."""
    return Guard(kernel, options, Keeper(kernel).identities)


@pytest.fixture
async def node(world: GuardedWorld) -> GuardedNode:
    """A node that knows kept users, on which Bob is one; he may read a table."""
    node = await world.guarded(make=keeping)
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await clerk.create(T.TABLE, "a", "t")
    await keep(node, "bob")
    await clerk.add(USER, "bob")
    await clerk.create_role("r")
    await clerk.assign(USER, "bob", "r")
    await clerk.grant("r", (), Right.USE_CATALOG | Right.USE_SCHEMA | Right.SELECT_TABLE)
    return node


async def keep(node: GuardedNode, name: str) -> None:
    await create_user(node.kernel, Keeper(node.kernel).passwords, name)


async def replace(node: GuardedNode, name: str) -> None:
    """The user goes, and another one gets the name."""
    await drop_user(node.kernel, name)
    await keep(node, name)


async def status(node: GuardedNode, path: str = TABLE) -> int:
    return (await node.ask("GET", path, user="bob")).status


async def test_who_gets_the_name_of_a_dropped_user_is_no_user_of_its_metalakes(
    world: GuardedWorld, node: GuardedNode
) -> None:
    """At the next request, on every node."""
    other = await world.guarded(make=keeping)
    assert [await status(one) for one in (node, other)] == [200, 200]
    await replace(node, "bob")

    assert [await status(one) for one in (node, other)] == [403, 403]
    assert await status(other, METALAKE) == 403


async def test_it_is_added_with_no_rights_of_the_former(
    world: GuardedWorld, node: GuardedNode
) -> None:
    """Neither roles nor what that one owned; and then like any other."""
    clerk = Clerk(node)
    clerk.expect("bob")
    await clerk.node.must(
        "PUT", f"{METALAKE}/owners/schema/main.a", {"name": "bob", "type": "USER"}
    )
    await replace(node, "bob")
    await node.must("POST", f"{METALAKE}/users", {"name": "bob"})

    assert (await status(node, METALAKE), await status(node)) == (200, 403)
    user = await node.must("GET", f"{METALAKE}/users/bob")
    assert user["user"]["roles"] == []
    assert "owner" not in await node.must("GET", f"{METALAKE}/owners/schema/main.a")
    roles = {"roleNames": ["r"]}
    await node.must("PUT", f"{METALAKE}/permissions/users/bob/grant", roles)
    assert await status(node) == 200
    again = await node.ask("POST", f"{METALAKE}/users", {"name": "bob"})
    assert again.status == 409


async def test_a_user_that_is_kept_later_than_it_was_added_has_its_rights(
    node: GuardedNode,
) -> None:
    """Nobody of its name was dropped."""
    clerk = Clerk(node)
    await clerk.add(USER, "ann")
    await node.must("PUT", f"{METALAKE}/permissions/users/ann/grant", {"roleNames": ["r"]})
    await keep(node, "ann")

    assert (await node.ask("GET", TABLE, user="ann")).status == 200


async def test_who_is_vouched_for_by_others_has_its_rights_after_a_drop(node: GuardedNode) -> None:
    """A name that an identity provider gives is not the name of a kept user."""
    await drop_user(node.kernel, "bob")

    assert await status(node) == 200


async def test_an_operator_gives_a_metalake_to_the_new_user(node: GuardedNode) -> None:
    """Though the former was a user of it."""
    await replace(node, "bob")
    await give_metalake(await node.metalake(), "bob")

    assert (await status(node), CATALOG) == (200, "main")


async def test_a_former_user_that_owns_the_metalake_is_not_replaced(node: GuardedNode) -> None:
    """The metalake would have no owner: it gets another one first."""
    clerk = Clerk(node)
    clerk.expect("bob")
    owner = {"name": "bob", "type": "USER"}
    await clerk.node.must("PUT", f"{METALAKE}/owners/metalake/default", owner)
    await replace(node, "bob")

    refused = await node.ask("POST", f"{METALAKE}/users", {"name": "bob"})
    assert (refused.status, "it owns the metalake" in refused.json["message"]) == (400, True)


async def test_a_warm_request_of_a_kept_user_is_one_read(node: GuardedNode) -> None:
    """What is known of drops comes with what is known of the user."""
    await replace(node, "bob")
    await node.must("POST", f"{METALAKE}/users", {"name": "bob"})
    await node.must("PUT", f"{METALAKE}/permissions/users/bob/grant", {"roleNames": ["r"]})
    for _ in range(2):
        heard = await node.ask("GET", TABLE, user="bob")

    assert (heard.status, heard.reads) == (200, 1)


async def test_a_group_that_gets_the_name_of_a_dropped_one_has_none_of_its_roles(
    node: GuardedNode,
) -> None:
    """Until it is added to the metalake anew; a group that a token names is not a kept one."""
    clerk = Clerk(node)
    clerk.expect("bob")
    await node.must("PUT", f"{METALAKE}/permissions/users/bob/revoke", {"roleNames": ["r"]})
    await clerk.add(GROUP, "staff")
    await node.must("PUT", f"{METALAKE}/permissions/groups/staff/grant", {"roleNames": ["r"]})
    for expected in (200, 403):
        await create_group(node.kernel, "staff")
        await change_members(node.kernel, "staff", add=["bob"])
        assert await status(node) == expected
        await drop_group(node.kernel, "staff", force=True)
    assert (await node.ask("GET", TABLE, user="bob/staff")).status == 200
    await create_group(node.kernel, "staff")
    await change_members(node.kernel, "staff", add=["bob"])
    await node.must("POST", f"{METALAKE}/groups", {"name": "staff"})
    assert await status(node) == 403
    await node.must("PUT", f"{METALAKE}/permissions/groups/staff/grant", {"roleNames": ["r"]})
    assert await status(node) == 200
