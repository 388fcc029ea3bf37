"""Purges of a server that died: those that live go on with them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headgate.catalog import purge_rounds, relation_commits
from headgate.catalog.purge_rounds import make_rounds
from headgate.limits import PURGE_ROUND_SECONDS
from headgate.testing.kernels import turns
from tests.unit.catalog.lakes import Node, World, new_table

DROP = "namespaces/a/tables/t?purgeRequested=true"
MIDDLE = 500


@pytest.fixture
async def living(world: World) -> AsyncIterator[Node]:
    """A node that looks for purges each time that the same while has passed."""
    node = await world.node()
    rounds = asyncio.create_task(make_rounds(node.lake, lambda: MIDDLE))
    yield node
    rounds.cancel()
    await asyncio.gather(rounds, return_exceptions=True)


async def die_after_drop(node: Node, place: str) -> None:
    """Drop a table, and stop before any of its files is deleted."""
    await node.table(location=place)
    await node.delete(DROP)
    await node.lake.purges.close()


async def next_round(world: World) -> None:
    """Let all who wait for their next round begin it, and end it."""
    world.rig.clock.advance(PURGE_ROUND_SECONDS * 1_000)
    await turns(5)
    async with asyncio.timeout(10):
        await world.rig.clock.until_asleep(PURGE_ROUND_SECONDS)


async def test_a_purge_of_a_dead_node_is_finished_by_a_living_one(
    world: World, node: Node, living: Node
) -> None:
    """It looks now and then: nobody has to restart anything."""
    await world.rig.clock.until_asleep(PURGE_ROUND_SECONDS)
    await die_after_drop(node, f"{world.warehouse}/x")
    assert len(world.files()) == 1

    await next_round(world)
    await living.lake.purges.idle()
    assert world.files() == set()


async def test_a_round_that_fails_is_followed_by_others(
    world: World,
    node: Node,
    living: Node,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log says what is the matter, and the next round does the work."""
    await world.rig.clock.until_asleep(PURGE_ROUND_SECONDS)
    await die_after_drop(node, f"{world.warehouse}/x")
    with monkeypatch.context() as broken:
        broken.setattr(purge_rounds, "list_catalogs", None)
        await next_round(world)
    assert "looking for purges failed" in caplog.text
    assert len(world.files()) == 1

    await next_round(world)
    await living.lake.purges.idle()
    assert world.files() == set()


async def test_who_wants_the_place_of_a_dead_purge_finishes_it(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are deleted by the node that is asked, and then the place is given."""
    # Time flies here while threads delete files.
    monkeypatch.setattr(relation_commits, "PURGE_WAIT_SECONDS", 1e9)
    place = f"{world.warehouse}/x"
    await die_after_drop(node, place)
    other = await world.node()
    answer = await other.post("namespaces/a/tables", new_table("new", location=place))

    assert answer.status == 200
    assert world.files() == {answer.json["metadata-location"]}
