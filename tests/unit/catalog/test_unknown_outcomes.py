"""The answer of the database is lost: nothing is deleted on doubt, and never is a lie told."""

import pytest

from headgate.kernel.commit import CommitOptions
from headgate.testing.faults import Fault
from tests.unit.catalog.lakes import (
    Answer,
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
)

SHORT = CommitOptions(timeout_seconds=0.0)
"""The outcome is looked up once, and then nobody waits any longer."""


@pytest.fixture
async def hasty(world: World, node: Node) -> Node:
    """A node that gives up at once."""
    for name in ("t", "u"):
        await node.table(name)
    await node.view()
    return await world.node(commit=SHORT)


WAYS = ["create", "commit", "transaction", "view", "new view"]


async def write(node: Node, way: str) -> Answer:
    body = commit([set_properties(k="v")])
    both = [commit([set_properties(k="v")], table=name) for name in ("t", "u")]
    match way:
        case "create":
            return await node.post("namespaces/a/tables", new_table("n"))
        case "commit":
            return await node.post("namespaces/a/tables/t", body)
        case "transaction":
            return await node.post("transactions/commit", {"table-changes": both})
        case "view":
            return await node.post("namespaces/a/views/v", body)
        case _:
            return await node.post("namespaces/a/views", new_view("n"))


def lose(world: World, fault: Fault, times: int) -> None:
    for _ in range(times):
        world.rig.faults.schedule("commit", fault)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
async def test_nobody_knows_so_the_files_stay(
    world: World, hasty: Node, way: str, fault: Fault
) -> None:
    """500 with a type that says so; whether it was made or not, no file is missing."""
    files = world.files()
    lose(world, fault, 20)
    answer = await write(hasty, way)
    world.rig.faults._scheduled.clear()

    assert answer.error[:2] == (500, "CommitStateUnknownException")
    assert "retry-after" not in answer.headers
    assert len(world.files() - files) == (2 if way == "transaction" else 1)
    reader = await world.node()
    for path in ("tables/t", "tables/u", "views/v"):
        assert (await reader.get(f"namespaces/a/{path}")).status == 200


@pytest.mark.parametrize("way", WAYS)
async def test_a_lost_answer_that_is_found_out_is_a_success(
    world: World, node: Node, hasty: Node, way: str
) -> None:
    """The swap is sent again and looked up: it was made, once."""
    lose(world, Fault.LOST_AFTER, 1)
    answer = await write(hasty, way)

    assert answer.status in {200, 204}
    if way == "commit":
        assert await node.load() == {**answer.json, "config": {}}


@pytest.mark.parametrize("way", WAYS)
async def test_what_certainly_failed_leaves_no_file(world: World, hasty: Node, way: str) -> None:
    """503 with Retry-After: it may be sent again."""
    before = await world.state()
    lose(world, Fault.UNAVAILABLE, 50)
    answer = await write(hasty, way)
    world.rig.faults._scheduled.clear()

    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"] == "1"
    assert await world.state() == before
