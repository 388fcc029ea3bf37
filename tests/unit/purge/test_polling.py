"""Purges of a server that died: those that live go on with them."""

import pytest

from headgate.catalog import relation_commits
from headgate.purge.queue import Queue
from headgate.testing.kernels import turns
from tests.unit.catalog.lakes import Node, World, new_table
from tests.unit.catalog.purges import TERMS

DROP = "namespaces/a/tables/t?purgeRequested=true"
POLL_SECONDS = TERMS.poll_ms / 1_000


@pytest.fixture
async def living(world: World, node: Node) -> Node:
    """Another node, which looks for jobs each time that the same while has passed."""
    living = await world.node()
    living.purges.start()
    await world.rig.clock.until_asleep(POLL_SECONDS)
    return living


async def die_after_drop(node: Node, place: str) -> None:
    """Drop a table, and stop before any of its files is deleted."""
    await node.table(location=place)
    await node.delete(DROP)
    await node.purges.close()


async def next_look(world: World, living: Node) -> None:
    """Let all who wait for their next look make it, and do what they find."""
    world.rig.clock.advance(TERMS.poll_ms)
    await turns(5)
    await living.purges.idle()


async def test_a_job_of_a_dead_node_is_finished_by_a_living_one(
    world: World, node: Node, living: Node
) -> None:
    """It looks now and then: nobody has to restart anything."""
    await die_after_drop(node, f"{world.warehouse}/x")
    assert len(world.files()) == 1

    await next_look(world, living)
    assert world.files() == set()


async def test_a_look_that_fails_is_followed_by_others(
    world: World,
    node: Node,
    living: Node,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log says what is the matter, and the next look does the work."""
    await die_after_drop(node, f"{world.warehouse}/x")
    with monkeypatch.context() as broken:
        broken.setattr(Queue, "live_jobs", None)
        await next_look(world, living)
    assert "looking for purges failed" in caplog.text
    assert len(world.files()) == 1

    await next_look(world, living)
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
