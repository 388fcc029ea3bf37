"""Staged tables hold their places: before keys are handed out, for their creator, for a while."""

import asyncio
from typing import Any

import pytest

from headgate.catalog import staged_places
from headgate.catalog.claimants import staged_at
from headgate.catalog.guards import GuardOptions
from headgate.catalog.stored_names import LOCATIONS, STAGED
from headgate.kernel.index import look
from headgate.limits import STAGED_AFTER_KEYS_MS, STAGED_WITHOUT_KEYS_MS
from headgate.testing.kernels import Held
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import (
    CATALOG,
    Answer,
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
    staged_commit,
)

TABLES = "namespaces/a/tables"
ON = GuardOptions(is_on=True, admins=frozenset({ADMIN}))


async def stage(node: Node, name: str = "t", user: str = "ann", **more: Any) -> Any:
    """What a client is told of a table that it stages."""
    return (await node.made(TABLES, new_table(name, stage_create=True, **more), user=user))[
        "metadata"
    ]


async def create(node: Node, name: str, location: str, user: str = "bob") -> Answer:
    return await node.post(TABLES, new_table(name, location=location), user=user)


async def held(node: Node) -> int:
    """How many locations are held for staged tables."""
    head = (await node.opened()).head
    values = await look(head.index(LOCATIONS), lambda tree: [value for _, value in tree.scan()])
    return sum(staged_at(value) is not None for value in values)


async def records(node: Node) -> int:
    """How many entries there are of staged tables, and of who has them."""
    head = (await node.opened()).head
    return len(await look(head.index(STAGED), lambda tree: list(tree.scan())))


@pytest.mark.parametrize("below", ["", "/in/it"])
async def test_what_somebody_staged_is_taken(world: World, node: Node, below: str) -> None:
    """Nobody else stages, creates or moves one there, above it or below it."""
    staged = await stage(node, location=f"{world.warehouse}/x/y")
    place = f"{world.warehouse}/x/y{below}"
    await node.table("other")
    other = f"{TABLES}/other"
    moved = [{"action": "set-location", "location": place}]
    writing = [set_properties(write_data_path=place)]

    answers = [
        await create(node, "u", place),
        await create(node, "u", f"{world.warehouse}/x"),
        await node.post(TABLES, new_table("u", location=place, stage_create=True), user="bob"),
        await node.post("namespaces/a/views", new_view("u", location=place), user="bob"),
        await node.post(f"{TABLES}/t", staged_commit(staged, place), user="bob"),
        await node.post(other, commit(moved), user="bob"),
        await node.post(other, commit(writing), user="bob"),
    ]

    assert [one.status for one in answers] == [409, 409, 409, 409, 409, 400, 400]
    assert all(one.error[2].startswith("Location is taken") for one in answers)


@pytest.mark.parametrize("place", ["x", "x/y/z"])
async def test_a_creator_stages_nothing_above_or_below_what_it_staged(
    world: World, node: Node, place: str
) -> None:
    """Keys for the first are good for as long as that is held; at the same place it begins anew."""
    await stage(node, location=f"{world.warehouse}/x/y")
    body = new_table("u", location=f"{world.warehouse}/{place}", stage_create=True)
    refused = await node.post(TABLES, body, user="ann")

    assert (refused.status, await held(node)) == (409, 1)
    await stage(node, "u", location=f"{world.warehouse}/x/y")
    assert await held(node) == 1


@pytest.mark.parametrize("way", ["table", "transaction"])
async def test_its_creator_commits_it(world: World, node: Node, way: str) -> None:
    """The table has the place from then on, and nothing is left of what was staged."""
    staged = await stage(node, properties={"write.data.path": f"{world.warehouse}/data"})
    assert (await held(node), await records(node)) == (2, 2)
    body = staged_commit(staged)
    if way == "table":
        made = await node.post(f"{TABLES}/t", body, user="ann")
    else:
        body["identifier"] = {"namespace": ["a"], "name": "t"}
        made = await node.post("transactions/commit", {"table-changes": [body]}, user="ann")

    assert made.status in {200, 204}
    assert (await held(node), await records(node)) == (0, 0)
    assert (await create(node, "u", staged["location"], user="ann")).status == 409


async def test_a_stage_is_one_commit_and_its_creation_another(world: World, node: Node) -> None:
    """No more than that, however it ends."""
    before = await seq(node)
    staged = await stage(node)
    assert await seq(node) == before + 1
    await node.made(f"{TABLES}/t", staged_commit(staged), user="ann")
    assert await seq(node) == before + 2
    await node.table("u")
    assert await seq(node) == before + 3


async def seq(node: Node) -> int:
    return (await node.opened()).head.head.seq


async def test_a_request_that_is_repeated_is_answered_again(world: World, node: Node) -> None:
    """Without a location each gets one of its own; the same one is the same caller's again."""
    one, other = await stage(node), await stage(node)
    assert one["location"] != other["location"]
    place = f"{world.warehouse}/x"
    for _ in range(3):
        assert (await stage(node, location=place))["location"] == place
    wider = {"write.data.path": f"{world.warehouse}/y"}
    last = await stage(node, location=place, properties=wider)

    assert await held(node) == 4
    await node.made(f"{TABLES}/t", staged_commit(last), user="ann")
    assert (await create(node, "u", place)).status == 409
    assert await held(node) == 2


async def test_what_is_not_committed_in_time_is_free(world: World, node: Node) -> None:
    """Another one gets the place; whoever staged it comes too late, and is told."""
    place = f"{world.warehouse}/x"
    staged = await stage(node, location=place)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS - 60_000)
    assert (await create(node, "u", place)).status == 409
    await world.rig.pass_time(60_000)

    assert (await create(node, "u", place)).status == 200
    assert (await node.post(f"{TABLES}/t", staged_commit(staged), user="ann")).status == 409
    assert (await held(node), await records(node)) == (0, 0)


async def test_a_stage_holds_its_place_an_hour_longer_than_its_keys_live(
    world: World, node: Node
) -> None:
    """As long as the setting says, not as long as any setting could."""
    node.storage.counts["credential-seconds"] = 900
    place = f"{world.warehouse}/x"
    await stage(node, location=place)
    await world.rig.pass_time(900_000 + STAGED_AFTER_KEYS_MS - 60_000)
    assert (await create(node, "u", place)).status == 409
    await world.rig.pass_time(60_000)

    assert (await create(node, "u", place)).status == 200


async def test_a_stage_keeps_the_expiry_that_it_was_made_with(world: World, node: Node) -> None:
    """Keys that were handed out live on when the setting is another one, and so does the hold:
    also if the same caller stages there again."""
    place, other = f"{world.warehouse}/x", f"{world.warehouse}/y"
    node.storage.counts["credential-seconds"] = 43_200
    await stage(node, location=place)
    await stage(node, location=other)
    node.storage.counts["credential-seconds"] = 900
    await stage(node, location=place)
    await world.rig.pass_time(43_200_000 + STAGED_AFTER_KEYS_MS - 60_000)
    for held_still in (place, other):
        assert (await create(node, "u", held_still)).status == 409
    await world.rig.pass_time(60_000)

    assert (await create(node, "u", place)).status == 200
    assert (await create(node, "v", other)).status == 200


async def test_who_is_late_gets_the_place_if_nobody_else_did(world: World, node: Node) -> None:
    """A query may write for longer than its keys live."""
    staged = await stage(node)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)

    assert (await node.post(f"{TABLES}/t", staged_commit(staged), user="ann")).status == 200


async def test_tables_that_nobody_commits_are_cleared_away(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few with each that is staged, whoever staged them."""
    monkeypatch.setattr(staged_places, "STAGED_EXPIRED_PER_COMMIT", 3)
    for user in ("ann", "bob", "eve"):
        for _ in range(2):
            await stage(node, user=user)
    assert (await held(node), await records(node)) == (6, 9)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    left = []
    for _ in range(2):
        await stage(node, user="dan")
        left.append(await held(node))

    assert left == [4, 2]
    assert await records(node) == 3


async def test_nobody_stages_without_end(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """One who has too many is refused until some are committed; others are not."""
    monkeypatch.setattr(staged_places, "STAGED_PER_PRINCIPAL_MAX", 2)
    staged = [await stage(node, name) for name in ("t", "u")]
    new = new_table("v", stage_create=True)
    refused = await node.post(TABLES, new, user="ann")

    assert refused.error[:2] == (400, "BadRequestException")
    assert "staged 2 tables" in refused.error[2]
    await stage(node, "v", user="bob")
    await node.made(f"{TABLES}/t", staged_commit(staged[0]), user="ann")
    await stage(node, "v")
    assert await held(node) == 3


async def test_two_nodes_stage_at_one_place(world: World, node: Node) -> None:
    """Each saw that it was free; one of them gets it, and the other no keys."""
    other = await world.node()
    place = f"{world.warehouse}/x"
    wanted = new_table(location=place, stage_create=True)
    gate = Held(world.rig)
    late = asyncio.create_task(node.post(TABLES, wanted, user="ann"))
    await gate.reached.wait()
    early = await other.post(TABLES, wanted, user="bob")
    gate.let_go.set()

    assert (early.status, (await late).status) == (200, 409)
    assert await held(node) == 1


async def test_a_namespace_that_comes_meanwhile_does_not_take_a_staged_place(
    world: World, node: Node
) -> None:
    """Who wrote there commits it, also who owns nothing; the namespace is used all the same."""
    server = await guarded(world)
    place = f"file:{world.warehouse}/a/x"
    new = new_table("t", location=place, stage_create=True)
    staged = (await server.made(TABLES, new, user="ann"))["metadata"]
    await server.made("namespaces", {"namespace": ["a", "x"]}, user=OWNER)

    assert (await create(server, "u", place, user=OWNER)).status == 409
    assert (await server.post(f"{TABLES}/t", staged_commit(staged), user="ann")).status == 200
    await server.made("namespaces/a%1Fx/tables", new_table("t"), user="ann")


async def test_a_dropped_table_leaves_its_place_to_its_schema_when_a_stage_ends(
    world: World, node: Node
) -> None:
    """Who staged one at its place did not change whose files are there."""
    place = f"{world.warehouse}/a/t"
    await node.table(location=place)
    await node.delete(f"{TABLES}/t")
    await stage(node, location=place)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await stage(node, "u")
    server = await guarded(world)
    below = new_table("x", location=f"{place}/x")

    assert (await server.post("namespaces/a%1Fb/tables", below, user="ann")).status == 403
    assert (await server.post(TABLES, below, user="ann")).status == 200


@pytest.mark.parametrize("way", ["create", "stage"])
async def test_what_a_dropped_table_left_is_for_its_schema_below_an_expired_stage(
    world: World, node: Node, way: str
) -> None:
    """Also while the expired one is not cleared away: a later schema of the same name has no
    claim."""
    server = await guarded(world)
    own = "namespaces/a%1Fb"
    made = await server.made(f"{own}/tables", new_table("t"), user="ann")
    place = made["metadata"]["location"]
    await server.delete(f"{own}/tables/t", user=OWNER)
    new = new_table("t", location=place, stage_create=True)
    await server.made(f"{own}/tables", new, user="ann")
    await server.delete(own, user=OWNER)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await server.made("namespaces", {"namespace": ["a", "b"]}, user="ann")
    wanted = new_table("t", location=place, stage_create=way == "stage")

    assert (await server.post(f"{own}/tables", wanted, user="ann")).status == 409
    assert (await server.post(f"{own}/tables", wanted, user=OWNER)).status == 200


async def guarded(world: World) -> Node:
    """A server that checks rights; ann may create tables, and owns nothing."""
    server = await world.node(guard=ON)
    lake = Guarded(server.lake)
    await give_owner(lake)
    await lake.users("ann")
    allowed = ("use_catalog", "use_schema", "create_table", "create_schema")
    await lake.role("maker", rights("catalog", CATALOG, *allowed))
    await lake.assign("ann", "maker")
    answer = await server.post("namespaces", {"namespace": ["a", "b"]}, user=OWNER)
    assert answer.status == 200
    return server
