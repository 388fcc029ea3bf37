"""What checking rights costs the database: counted, on real databases."""

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.gravitino_operations import GRAVITINO, target
from tests.authorization.guarded import GuardedNode, GuardedWorld
from tests.authorization.iceberg_operations import ICEBERG
from tests.authorization.operations import Operation, begin
from tests.unit.catalog.lakes import CATALOG

TABLE = "namespaces/a:b/tables/t"
READING = Right.USE_CATALOG | Right.USE_SCHEMA | Right.SELECT_TABLE
COLD_POINTER_READS = 3
COLD_READS_MAX = 9
ROLES = 60
LISTED = 40


@pytest.fixture
async def clerk(stored_world: GuardedWorld) -> Clerk:
    """Nested schemas with a table and a view; Ann may read, and Olga owns everything."""
    clerk = Clerk(await stored_world.guarded())
    await begin(clerk)
    await target(clerk)
    await clerk.add(USER, "ann", "olga", "member")
    await clerk.create_role("reader")
    await clerk.assign(USER, "ann", "reader")
    await clerk.grant("reader", (), READING)
    await clerk.own((), USER, "olga")
    return clerk


async def warm_reads(node: GuardedNode, operation: Operation, user: str) -> int:
    """How often the database is read when the same was asked before."""
    for _ in range(2):
        heard = await node.ask(operation.method, operation.url, user=user)
        assert heard.status in {200, 204, 403}, heard
    return heard.reads


async def test_a_warm_request_reads_once_whoever_asks(clerk: Clerk) -> None:
    """Whether it is allowed or refused, and whatever it is about."""
    for name, operation in (*ICEBERG.items(), *GRAVITINO.items()):
        if operation.method not in {"GET", "HEAD"} or operation.before:
            continue
        for user in ("olga", "ann", "member", "stranger"):
            reads = await warm_reads(clerk.node, operation, user)
            assert 1 <= reads <= allowed(name), (name, user)


def allowed(name: str) -> int:
    """How often an operation may read when it is warm."""
    if name == "listMetalakes":
        return 3  # who asks, which there are, and each of them
    is_by_full_name = name.startswith(("getOwner", "listRolesByObject"))
    return 2 if is_by_full_name else 1  # the metalake, and the catalog that the name leads to


async def test_a_new_caller_costs_at_most_one_read_more(clerk: Clerk) -> None:
    """Its roles are looked at; nothing else has to be."""
    node = clerk.node
    await clerk.add(USER, "new")
    await clerk.assign(USER, "new", "reader")
    assert (await node.ask("GET", TABLE, user="ann")).status == 200
    first = await node.ask("GET", TABLE, user="new")
    assert first.status == 200
    assert first.reads <= 2
    assert (await node.ask("GET", TABLE, user="new")).reads == 1


async def test_a_cold_process_asks_three_times_how_things_are(
    stored_world: GuardedWorld, clerk: Clerk
) -> None:
    """Which metalakes, which catalogs, and then all at once; the rest fetches what it was told."""
    cold = await stored_world.guarded()
    first = await cold.ask("GET", TABLE, user="ann")
    assert first.status == 200
    assert first.pointer_reads == COLD_POINTER_READS
    assert first.reads <= COLD_READS_MAX
    assert (await cold.ask("GET", TABLE, user="ann")).reads == 1


async def test_many_roles_are_read_together(stored_world: GuardedWorld, clerk: Clerk) -> None:
    """The number of reads does not grow with them."""
    few = await (await stored_world.guarded()).ask("GET", TABLE, user="ann")
    await clerk.add(USER, "busy")
    await clerk.assign(USER, "busy", "reader")
    for number in range(ROLES):
        await clerk.create_role(f"role{number}")
        await clerk.grant(f"role{number}", (CATALOG, "a"), Right.SELECT_TABLE)
        await clerk.assign(USER, "busy", f"role{number}")
    many = await (await stored_world.guarded()).ask("GET", TABLE, user="busy")
    assert few.status == many.status == 200
    assert many.reads <= few.reads + 3  # pages of indexes that have grown, not roles


async def test_filtering_a_list_reads_no_more_than_the_list(clerk: Clerk) -> None:
    """Each table is decided by what the index says of it."""
    for number in range(LISTED):
        await clerk.create(T.TABLE, "a", f"t{number:02}")
    await clerk.add(USER, "some")
    await clerk.create_role("some")
    await clerk.assign(USER, "some", "some")
    await clerk.grant("some", (), Right.USE_CATALOG | Right.USE_SCHEMA)
    for number in range(0, LISTED, 2):
        await clerk.grant("some", (CATALOG, "a", f"t{number:02}"), Right.SELECT_TABLE)
    path = "namespaces/a/tables"
    everything = await clerk.node.ask("GET", path, user="olga")
    first = await clerk.node.ask("GET", path, user="some")
    assert len(everything.json["identifiers"]) == LISTED
    assert len(first.json["identifiers"]) == LISTED // 2
    assert first.reads <= 2
    assert (await clerk.node.ask("GET", path, user="some")).reads == 1
