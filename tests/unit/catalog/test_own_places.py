"""Only who owns a catalog chooses freely where things lie in it."""

from typing import Any

import pytest

from headgate.catalog.guards import GuardOptions
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import CATALOG, Node, World, new_table, set_properties

ON = GuardOptions(is_on=True, admins=frozenset({ADMIN}))
MAKER = rights(
    "catalog", CATALOG, "use_catalog", "use_schema", "create_table", "create_view", "create_schema"
)


@pytest.fixture
async def server(world: World, node: Node) -> Node:
    """A schema `a`, and `hr` without tables; ann may create things, and owns nothing."""
    await node.namespace("hr")
    server = await world.node(guard=ON)
    lake = Guarded(server.lake)
    await give_owner(lake)
    await lake.users("ann")
    await lake.role("maker", MAKER)
    await lake.assign("ann", "maker")
    return server


def place(world: World, *folders: str) -> str:
    return "/".join(["file:" + world.warehouse, *folders])


@pytest.mark.parametrize("staged", [False, True])
async def test_a_table_does_not_lie_where_another_schema_is_to_have_its_tables(
    world: World, server: Node, staged: bool
) -> None:
    """It would take the place of all of them. Its own schema's place is fine."""
    new = new_table("x", location=place(world, "hr"), stage_create=staged)
    before = await world.state()
    refused = await server.post("namespaces/a/tables", new, user="ann")
    assert refused.error[:2] == (403, "ForbiddenException")
    assert "only who owns the catalog chooses places outside of" in refused.error[2]
    assert await world.state() == before

    own = new_table("x", location=place(world, "a", "mine"), stage_create=staged)
    assert (await server.post("namespaces/a/tables", own, user="ann")).status == 200
    free = new_table("y", location=place(world, "hr", "y"), stage_create=staged)
    assert (await server.post("namespaces/a/tables", free, user=OWNER)).status == 200


async def test_a_table_is_not_moved_out_of_its_schema(world: World, server: Node) -> None:
    """Neither by its location nor by where it writes to."""
    assert (await server.post("namespaces/a/tables", new_table("x"), user="ann")).status == 200
    moves: list[dict[str, Any]] = [
        {"action": "set-location", "location": place(world, "hr", "x")},
        set_properties(**{"write.data.path": place(world, "hr", "x")}),
    ]
    for move in moves:
        body = {"requirements": [], "updates": [move]}
        answer = await server.post("namespaces/a/tables/x", body, user="ann")
        assert answer.status == 403


async def test_files_that_somebody_else_left_are_not_registered(world: World, server: Node) -> None:
    """Whoever registers them would own them."""
    made = await server.post("namespaces/hr/tables", new_table("t"), user=OWNER)
    file = made.json["metadata-location"]
    await server.send("DELETE", "namespaces/hr/tables/t", user=OWNER)
    body = {"name": "t", "metadata-location": file}

    assert (await server.post("namespaces/a/register", body, user="ann")).status == 403
    assert (await server.post("namespaces/a/register", body, user=OWNER)).status == 200


async def test_a_schema_does_not_say_that_it_lies_where_another_one_does(
    world: World, server: Node
) -> None:
    """Below its own place it may; and so may one in a schema that says so."""

    async def create(levels: list[str], *folders: str, user: str = "ann") -> int:
        body = {"namespace": levels, "properties": {"location": place(world, *folders)}}
        return (await server.post("namespaces", body, user=user)).status

    assert await create(["b"], "hr") == 403
    assert await create(["b"], "b", "tables") == 200
    assert await create(["b", "c"], "b", "tables", "c") == 200
    assert await create(["d"], "elsewhere", user=OWNER) == 200
    body = {"updates": {"location": place(world, "hr")}, "removals": []}
    answer = await server.post("namespaces/b/properties", body, user="ann")
    assert answer.status == 403
