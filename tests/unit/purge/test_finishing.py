"""The end of a job: three steps, each of which may be repeated, by anybody."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from headgate.catalog.claimants import is_left
from headgate.catalog.purging import PURGE, PURGED, PURGES, TASKS
from headgate.catalog.stored_names import LOCATIONS
from headgate.kernel.index import look
from headgate.purge.finishing import decode_finished, finish
from headgate.purge.history import finished_job
from headgate.purge.job_states import State
from headgate.purge.jobs import cancelled, claimed, new_row, succeeded
from headgate.purge.ledger import Failed
from headgate.testing.faults import Crashed
from headgate.testing.kernels import history
from tests.unit.catalog.lakes import Node, World
from tests.unit.purge.rows import write_row
from tests.unit.purge.scripted import Purging

DONE = msgspec.structs.replace(
    succeeded(claimed(None, "host:1", 1_000), 4_000), deleted=7, missing=1, bytes=70, expected=8
)
HOUR_MS = 3_600_000


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node whose workers have stopped."""
    purging = Purging(node)
    await purging.workers.close()
    return purging


async def left(node: Node, index: str) -> int:
    """How many entries an index of the catalog has."""
    opened = await node.opened()
    return len(await look(opened.head.index(index), lambda tree: list(tree.scan())))


async def test_a_finished_job_is_in_the_history_with_all_that_it_did(purging: Purging) -> None:
    """And nowhere else: its place is free and its table's last state is discarded."""
    live = await purging.drop()
    await write_row(purging.node, live.id, DONE)
    assert await finish(purging.node.kernel, live, DONE)
    ended = await finished_job(purging.node.kernel, live.id)

    assert ended is not None
    was, row = ended
    assert (was.job, was.id, was.catalog_name) == (live.job, live.id, "main")
    assert (row.state, row.deleted, row.missing, row.bytes) == (State.SUCCEEDED, 7, 1, 70)
    assert (row.attempts, row.elapsed_ms, row.updated_ms) == (1, 3_000, 4_000)
    assert await purging.row(live) is None
    assert [await left(purging.node, index) for index in (PURGE, LOCATIONS)] == [0, 0]
    assert (await purging.node.opened()).head.head.marks[PURGES] == 0


async def test_the_change_log_tells_of_the_drop_and_of_the_end(purging: Purging) -> None:
    """The drop says what was asked for, the end what was done."""
    live = await purging.drop()
    await purging.node.table("kept")
    await purging.node.delete("namespaces/a/tables/kept")
    await finish(purging.node.kernel, live, DONE)
    opened = await purging.node.opened()
    commits = await history(purging.node.kernel, opened.realm, opened.pointer)
    notes: list[Any] = [group.note for commit in commits for group in commit.groups]

    drops = [note for note in notes if note["do"] == "drop"]
    assert [note["purge"] for note in drops] == [True, False]
    assert {key: notes[-1][key] for key in ("do", "kind", "files", "bytes", "elapsed_ms")} == {
        "do": "purge",
        "kind": "table",
        "files": 7,
        "bytes": 70,
        "elapsed_ms": 3_000,
    }


@pytest.mark.parametrize("verb", ["commit", "delete", "read_pointers"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("skip", range(3))
async def test_a_worker_that_dies_at_any_step_is_followed_by_another(
    world: World, purging: Purging, verb: str, when: str, skip: int
) -> None:
    """All three steps are done in the end, and the history has the job once."""
    live = await purging.drop()
    await write_row(purging.node, live.id, DONE)
    world.rig.faults.crash_at(f"{when}_{verb}", skip=skip)
    with suppress(Crashed, asyncio.CancelledError):
        await finish(purging.node.kernel, live, DONE)
    world.rig.faults._crashes.clear()

    other = await world.node()
    other.purges.wake()
    await other.purges.idle()
    await finish(other.kernel, live, DONE)
    assert await purging.live() == []
    assert await purging.row(live) is None
    assert await left(other, LOCATIONS) == 0
    assert await jobs_kept(other) == [live.id]


async def test_several_may_finish_a_job_at_once(world: World, purging: Purging) -> None:
    """Exactly one of them is told that it was the one."""
    live = await purging.drop()
    await write_row(purging.node, live.id, DONE)
    nodes = [await world.node() for _ in range(4)]
    ended = await asyncio.gather(*(finish(node.kernel, live, DONE) for node in nodes))

    assert sorted(ended) == [False, False, False, True]
    assert await jobs_kept(purging.node) == [live.id]


async def test_a_cancelled_job_leaves_its_place_to_its_schema_and_says_why(
    purging: Purging,
) -> None:
    """What is left on its ledger is kept as far as there is room."""
    live = await purging.drop()
    failed = tuple(Failed(f"/w/{number}", "stuck " * 100) for number in range(500))
    row = msgspec.structs.replace(new_row(), failed=500, ledger=failed)
    await finish(purging.node.kernel, live, cancelled(row, "ann", 5_000))
    ended = await finished_job(purging.node.kernel, live.id)

    assert ended is not None
    assert (ended[1].state, ended[1].error) == (State.CANCELLED, "cancelled by ann")
    assert ended[1].failed == 500
    assert 0 < len(ended[1].ledger) < 500
    head = (await purging.node.opened()).head
    kept = await look(head.index(LOCATIONS), lambda tree: [value for _, value in tree.scan()])
    assert list(map(is_left, kept)) == [True]
    assert await left(purging.node, PURGE) == 0


async def test_files_with_long_names_do_not_keep_a_job_from_its_end(purging: Purging) -> None:
    """An entry of the history is no longer than an index can hold."""
    live = await purging.drop()
    failed = tuple(Failed(f"/w/{number:03}/{'x' * 1_500}", "stuck") for number in range(20))
    row = msgspec.structs.replace(new_row(), failed=20, ledger=failed)
    await finish(purging.node.kernel, live, cancelled(row, "ann", 5_000))
    ended = await finished_job(purging.node.kernel, live.id)

    assert ended is not None
    assert ended[1].ledger == failed[:2]
    assert await left(purging.node, PURGE) == 0


async def test_who_does_not_know_how_long_jobs_are_kept_forgets_none(purging: Purging) -> None:
    """An operator who cancels a job has other settings than the servers."""
    node = purging.node
    old, new = await purging.drop(), await purging.drop("new")
    await finish(node.kernel, old, DONE)
    await finish(node.kernel, new, DONE)

    assert await jobs_kept(node) == [old.id, new.id]


async def test_old_jobs_are_forgotten_with_what_is_left_of_their_rows(purging: Purging) -> None:
    """A row that came back by a claim that was late goes with its job's history."""
    node = purging.node
    old, new = await purging.drop(), await purging.drop("new")
    now_ms = node.kernel.clock.wall_ms()
    row = msgspec.structs.replace(DONE, updated_ms=now_ms - 25 * HOUR_MS)
    await finish(node.kernel, old, row, 24)
    await node.kernel.store.insert(old.realm, old.id, claimed(None, "late", 1), 99)
    await finish(node.kernel, new, msgspec.structs.replace(DONE, updated_ms=now_ms), 24)

    assert await jobs_kept(node) == [new.id]
    assert await purging.row(old) is None


async def jobs_kept(node: Node) -> list[int]:
    """The ids of all jobs in the history."""
    [head] = await (await node.opened()).realm.heads(TASKS)
    entries = [entry async for entry in head.index(PURGED).scan()]
    assert all(decode_finished(value).job.table.name for _, value in entries)
    return [int.from_bytes(key, "big") for key, _ in entries]
