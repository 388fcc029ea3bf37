"""Handing a job over on the request path: who is waited for, and what a drop costs."""

import pytest

from headgate.catalog.entities import Kind
from headgate.catalog.purging import PurgeTerms
from headgate.catalog.relations import find_relation
from headgate.errors import StorageUnavailable
from headgate.model.names import Identifier
from headgate.purge.deleter import Progress
from headgate.purge.job_states import State
from headgate.purge.ledger import Failed
from tests.unit.catalog.lakes import Node, World, new_table
from tests.unit.catalog.purges import TERMS
from tests.unit.purge.scripted import DROP, TABLE, Purging

TABLE_NAME = Identifier(("a",), "t")
SYNCHRONOUS = PurgeTerms("synchronous")


async def test_a_drop_is_not_kept_waiting(node: Node) -> None:
    """It is answered while nothing is deleted yet."""
    purging = Purging(node)
    purging.deleter.gate.clear()
    await purging.drop()

    assert purging.deleter.steps == 0
    assert await node.head(TABLE) == 404
    assert (await node.get("namespaces/a/tables")).json["identifiers"] == []
    assert (await node.post("namespaces/a/tables", new_table())).status == 200


async def test_a_synchronous_purge_is_over_when_the_drop_is_answered(node: Node) -> None:
    """Deleted means gone."""
    purging = Purging(node, promised=SYNCHRONOUS)
    await node.table()
    answer = await node.delete(DROP)

    assert answer.status == 204
    assert await purging.live() == []
    assert purging.names() == ["table dropped", "purge started", "purge completed"]


async def test_a_synchronous_purge_that_fails_is_told_and_tried_again(
    world: World, node: Node
) -> None:
    """The table is dropped all the same; the answer names the job that does the rest."""
    purging = Purging(node, promised=SYNCHRONOUS)
    purging.deleter.scripts = [[Progress("data", failed=[Failed("/w/x", "it is stuck")])]]
    await node.table()
    answer = await node.delete(DROP)
    [live] = await purging.live()
    status, _, message = answer.error

    assert status == 500
    assert "Table a.t is dropped, but not all of its files are deleted" in message
    assert "/w/x: it is stuck" in message
    assert f"job {live.id}" in message
    assert await node.head(TABLE) == 404
    world.rig.clock.advance(2 * TERMS.backoff_base_ms)
    await purging.look()
    assert await purging.live() == []


async def test_a_synchronous_purge_that_another_one_has_is_not_claimed_to_be_done(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was faster than the request."""
    purging = Purging(node, promised=SYNCHRONOUS)

    async def nothing(_live: object) -> None:
        return None

    monkeypatch.setattr(purging.workers, "_run", nothing)
    await node.table()
    answer = await node.delete(DROP)

    assert answer.error[0] == 500
    assert "another server works on it" in answer.error[2]


async def test_nobody_begins_before_a_grace_period_is_over(node: Node) -> None:
    """Whatever the purger is, the drop is answered at once."""
    purging = Purging(node, promised=SYNCHRONOUS._replace(grace_ms=1_000))
    live = await purging.drop()
    await purging.workers.idle()

    assert purging.deleter.tasks == []
    assert await purging.row(live) is None
    assert live.job.not_before_ms == live.job.created_ms + 1_000


async def test_who_wants_the_place_of_a_table_that_can_come_back_is_told_at_once(
    world: World, node: Node
) -> None:
    """It would wait in vain."""
    purging = Purging(node, promised=PurgeTerms(grace_ms=10_000_000))
    place = f"{world.warehouse}/x"
    await purging.drop(location=place)
    began = world.rig.clock.seconds()
    answer = await node.post("namespaces/a/tables", new_table("new", location=place))

    assert answer.status == 409
    assert "it can still be brought back" in answer.error[2]
    assert world.rig.clock.seconds() == began


async def test_a_job_says_who_dropped_the_table_and_on_what_terms(node: Node) -> None:
    """All that is needed to do it, and to undo it."""
    purging = Purging(node)
    purging.deleter.gate.clear()
    await node.table()
    table = await find_relation(await node.opened(), TABLE_NAME, Kind.TABLE)
    answer = await node.delete(DROP, user="ann")
    assert answer.status == 204
    [live] = await purging.live()
    job = live.job

    assert (job.created_by, job.purger, job.not_before_ms, job.begun) == ("ann", "async", 0, False)
    assert (job.table_id, job.object) == (table.entry.id, table.entry.object)


@pytest.mark.parametrize("purge", ["true", "false"])
async def test_a_drop_is_one_commit_and_reads_as_little_with_purge_as_without(
    world: World, node: Node, purge: str
) -> None:
    """One read of the pointers to open the catalog, one to commit; nothing else is asked."""
    purging = Purging(node)
    await purging.workers.close()
    await node.table()
    await node.load()
    world.rig.backend.reset()
    answer = await node.delete(f"{TABLE}?purgeRequested={purge}")

    assert answer.status == 204
    assert world.rig.backend.calls == {"read_pointers": 2, "commit": 1}


@pytest.mark.parametrize("error", [StorageUnavailable("it is away"), ValueError("a mistake")])
async def test_whatever_goes_wrong_in_a_synchronous_purge_leaves_an_open_job(
    node: Node, error: Exception
) -> None:
    """With the reason in its row."""
    purging = Purging(node, promised=SYNCHRONOUS)
    purging.deleter.scripts = [[error]]
    await node.table()
    assert (await node.delete(DROP)).error[0] == 500
    [live] = await purging.live()
    row = await purging.row(live)

    assert row is not None
    assert (row.state, row.error) == (State.PENDING, str(error))
