"""What operators do to jobs: try again, give up, undo; while workers go on."""

from typing import Any

import pytest

from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog, find_catalog
from headgate.catalog.claimants import is_left
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.purging import PURGES, begin_job
from headgate.catalog.stored_names import LOCATIONS
from headgate.errors import BackendUnavailable, Conflict, JobNotFound
from headgate.kernel.index import look
from headgate.kernel.records import PointerKey
from headgate.limits import RESOLVE_TRIES_MAX
from headgate.model.names import Identifier
from headgate.purge.claims import Claims
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, JobTerms, claimed, postponed
from headgate.purge.ledger import Failed
from headgate.purge.steering import Steering
from headgate.testing.faults import Fault
from tests.unit.catalog.dropping import HOUR_MS, drop
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World, new_table
from tests.unit.purge.rows import write_row

FAILED = JobRow(
    State.DEAD_LETTER,
    attempts=5,
    error="denied",
    failed=1,
    ledger=(Failed("file:/x", "denied"),),
    deleted=7,
)


@pytest.fixture
def inspector(node: Node) -> Inspector:
    return Inspector(node.kernel)


@pytest.fixture
def steering(node: Node, inspector: Inspector) -> Steering:
    return Steering(node.kernel, inspector)


@pytest.fixture
async def job(node: Node) -> int:
    """The purge of a table that was dropped without a grace period."""
    await node.table()
    return await drop(node, grace_ms=0)


async def rows(node: Node, job: int) -> int:
    realm = (await node.opened()).realm.id
    return len(await node.kernel.store.read_versioned(realm, [job]))


async def is_claimed(node: Node, job: int) -> bool:
    """Whether a worker gets the job now."""
    live = (await Inspector(node.kernel).find(job)).live
    return await Claims(node.kernel, JobTerms(), "host:2").claim(live) is not None


async def test_a_job_that_failed_too_often_is_tried_again_at_once(
    node: Node, steering: Steering, job: int
) -> None:
    """As if it were new; what it did and what failed is not forgotten."""
    await write_row(node, job, FAILED)
    assert not await is_claimed(node, job)
    tried = (await steering.retry(job)).view

    assert (tried.state, tried.attempts, tried.next_attempt_ms) == ("PENDING", 0, None)
    assert (tried.files_deleted, tried.ledger[0].path, tried.error) == (7, "file:/x", "denied")
    assert await is_claimed(node, job)


async def test_a_job_that_waits_for_its_next_attempt_need_not(
    node: Node, steering: Steering, job: int
) -> None:
    """An operator knows that what was in the way is gone."""
    now_ms = node.kernel.clock.wall_ms()
    row = postponed(claimed(None, "host:1", now_ms), "away", now_ms, JobTerms(), 0.5)
    await write_row(node, job, row)
    assert not await is_claimed(node, job)
    await steering.retry(job)

    assert await is_claimed(node, job)


async def test_a_job_that_was_never_tried_is_due_anyway(
    node: Node, steering: Steering, job: int
) -> None:
    """Nothing is written for it."""
    assert (await steering.retry(job)).state == "PENDING"
    assert await rows(node, job) == 0


async def test_a_job_that_runs_is_not_tried_again(node: Node, steering: Steering, job: int) -> None:
    """Two workers would have it."""
    await write_row(node, job, claimed(None, "host:1", 1))

    with pytest.raises(Conflict, match="a worker has it"):
        await steering.retry(job)


async def test_a_grace_period_is_not_cut_short_by_mistake(node: Node, steering: Steering) -> None:
    """Until its end the table can come back; that was promised."""
    await node.table()
    job = await drop(node, grace_ms=HOUR_MS)

    with pytest.raises(Conflict, match="its grace period is not over"):
        await steering.retry(job)


async def test_a_grace_period_ends_early_if_an_operator_says_so(
    node: Node, steering: Steering, inspector: Inspector
) -> None:
    """By one commit, which says who it was; then any worker begins, and nothing comes back."""
    await node.table()
    job = await drop(node, grace_ms=HOUR_MS)
    assert not await is_claimed(node, job)
    tried = (await steering.end_grace(job, "olga")).view
    opened = await node.opened()
    log = node.kernel.log.oldest_first(PointerKey(opened.realm.id, opened.pointer))
    notes: list[Any] = [group.note async for commit in log for group in commit.groups]

    assert (tried.state, tried.can_undrop) == ("PENDING", False)
    assert (notes[-1]["do"], notes[-1]["job"], notes[-1]["by"]) == ("end-grace", str(job), "olga")
    with pytest.raises(Conflict, match="are being deleted"):
        await steering.undrop(opened, await inspector.find(job), None)
    assert await is_claimed(node, job)


async def test_what_has_no_grace_period_is_just_tried_again(
    node: Node, steering: Steering, job: int
) -> None:
    """No commit is made for it; what runs or has ended is refused as ever."""
    before = (await node.opened()).head.id
    await write_row(node, job, FAILED)
    assert (await steering.end_grace(job, "olga")).view.attempts == 0
    assert (await node.opened()).head.id == before

    await write_row(node, job, claimed(None, "host:1", 1))
    with pytest.raises(Conflict, match="a worker has it"):
        await steering.end_grace(job, "olga")
    await steering.cancel(job, "olga")
    with pytest.raises(Conflict, match="What is left of its files is in "):
        await steering.end_grace(job, "olga")


@pytest.mark.parametrize("row", [None, FAILED], ids=["pending", "dead letter"])
async def test_a_job_that_nobody_works_on_is_given_up_at_once(
    row: JobRow | None, node: Node, world: World, steering: Steering, inspector: Inspector, job: int
) -> None:
    """Its files and its place stay with its schema, its row is gone, the history knows who."""
    if row is not None:
        await write_row(node, job, row)
    before = world.files()
    told = (await steering.cancel(job, "olga")).view
    kept = await inspector.find(job)
    head = (await node.opened()).head

    assert (told.state, told.error) == ("CANCELLED", "cancelled by olga")
    assert (kept.has_ended, kept.state, kept.view.error) == (True, "CANCELLED", "cancelled by olga")
    assert world.files() == before
    assert await rows(node, job) == 0
    assert head.head.marks[PURGES] == 0
    held = await look(head.index(LOCATIONS), lambda tree: [value for _, value in tree.scan()])
    assert list(map(is_left, held)) == [True]


async def test_the_change_log_tells_who_gave_a_purge_up(
    node: Node, steering: Steering, job: int
) -> None:
    """Of which table, and by which job."""
    await steering.cancel(job, "olga")
    opened = await node.opened()
    log = node.kernel.log.oldest_first(PointerKey(opened.realm.id, opened.pointer))
    notes: list[Any] = [group.note async for commit in log for group in commit.groups]

    assert notes[-1]["do"] == "cancel-purge"
    assert (notes[-1]["kind"], notes[-1]["name"]) == ("table", [["a"], "t"])
    assert (notes[-1]["job"], notes[-1]["by"]) == (str(job), "olga")


async def test_a_job_that_runs_keeps_its_place_until_its_worker_has_stopped(
    node: Node, steering: Steering, inspector: Inspector, job: int
) -> None:
    """It may delete until it notices; another table there would lose files."""
    live = (await inspector.find(job)).live
    lease = await Claims(node.kernel, JobTerms(), "host:1").claim(live)
    assert lease is not None
    await steering.cancel(job, "olga")
    found = await inspector.find(job)
    head = (await node.opened()).head

    assert (found.state, found.has_ended) == ("CANCELLED", False)
    assert await look(head.index(LOCATIONS), lambda tree: list(tree.scan())) != []
    with pytest.raises(Conflict):
        await steering.cancel(job, "olga")


async def test_what_has_ended_stays_as_it_is(node: Node, steering: Steering, job: int) -> None:
    """It is neither tried again nor given up, and its table does not come back."""
    await steering.cancel(job, "olga")
    found = await Inspector(node.kernel).find(job)
    location = found.live.job.metadata_location

    with pytest.raises(Conflict, match="it has ended and is CANCELLED"):
        await steering.retry(job)
    with pytest.raises(Conflict, match="it has ended and is CANCELLED"):
        await steering.cancel(job, "olga")
    with pytest.raises(Conflict, match=f"Register it again if its files are all there: {location}"):
        await steering.undrop(await node.opened(), found, None)


async def test_files_that_are_deleted_do_not_come_back(
    node: Node, steering: Steering, inspector: Inspector, job: int
) -> None:
    """Also while the job is still being finished."""
    found = await write_row(node, job, JobRow(State.SUCCEEDED))

    with pytest.raises(Conflict, match="its files are deleted"):
        await steering.undrop(await node.opened(), found, None)


async def test_a_table_comes_back_and_its_job_leaves_nothing(
    node: Node, steering: Steering, inspector: Inspector
) -> None:
    """Also the row that a worker made a moment before it would have begun."""
    await node.table()
    job = await drop(node)
    found = await write_row(node, job, claimed(None, "host:1", 1))
    name = await steering.undrop(await node.opened(), found, Identifier(("a",), "u"))

    assert name == Identifier(("a",), "u")
    assert (await node.get("namespaces/a/tables/u")).status == 200
    assert await rows(node, job) == 0
    with pytest.raises(JobNotFound):
        await inspector.find(job)


async def test_a_purge_that_has_begun_is_not_undone(
    node: Node, steering: Steering, inspector: Inspector
) -> None:
    """The row of its worker stays."""
    await node.table()
    job = await drop(node)
    found = await write_row(node, job, claimed(None, "host:1", 1))
    opened = await node.opened()
    await opened.realm.commit(opened.pointer, lambda draft: begin_job(draft, job))
    with pytest.raises(Conflict, match="are being deleted"):
        await steering.undrop(await node.opened(), found, None)

    assert await rows(node, job) == 1


async def test_a_table_does_not_come_back_into_another_catalog(
    node: Node, steering: Steering, inspector: Inspector
) -> None:
    """One that has the name of its own, which was dropped."""
    await node.table()
    found = await inspector.find(await drop(node))
    metalake = await node.kernel.realms.get(METALAKE)
    call = (await node.opened()).call
    gone = await find_catalog(node.kernel, call.catalog)
    await remove_catalog(node.kernel, metalake, call, gone, force=True)
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, CATALOG, f"{gone.warehouse}2", {}))
    await node.namespace("a")
    with pytest.raises(Conflict, match="its catalog was dropped"):
        await steering.undrop(await node.opened(), found, None)

    assert (await inspector.find(found.live.id)).state == "PENDING"


async def test_a_job_of_a_metalake_that_is_off_is_given_up_when_it_is_on_again(
    node: Node, steering: Steering, inspector: Inspector, job: int
) -> None:
    """Until then its row says so."""
    await node.kernel.realms.deactivate(METALAKE)
    await steering.cancel(job, "olga")
    waiting = await inspector.find(job)
    await node.kernel.realms.activate(METALAKE)

    assert (waiting.state, waiting.has_ended) == ("CANCELLED", False)
    assert await is_claimed(node, job), "any worker goes on with it"


@pytest.mark.parametrize("row", [None, FAILED], ids=["insert", "update"])
@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_an_unknown_outcome_is_looked_up(
    fault: Fault, row: JobRow | None, node: Node, world: World, steering: Steering, job: int
) -> None:
    """Whether the write was made or not, in the end it was, once."""
    if row is not None:
        await write_row(node, job, row)
    world.rig.faults.schedule("insert" if row is None else "update", fault)
    found = await steering.cancel(job, "olga")

    assert (found.state, found.view.error) == ("CANCELLED", "cancelled by olga")


async def test_a_row_that_changes_all_the_time_is_not_fought_over(
    node: Node, world: World, steering: Steering, job: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some tries whoever asked is told."""
    await write_row(node, job, FAILED)
    tried = 0

    async def lost(*_: object) -> bool:
        nonlocal tried
        tried += 1
        return False

    monkeypatch.setattr(steering, "_write", lost)
    with pytest.raises(BackendUnavailable, match="a worker changed it again and again"):
        await steering.retry(job)

    assert tried == RESOLVE_TRIES_MAX


async def test_a_heartbeat_in_between_is_no_obstacle(
    node: Node, steering: Steering, job: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is read again, and then given up."""
    await write_row(node, job, claimed(None, "host:1", 1))
    write, beats = steering._write, [2]

    async def late(found: Any, row: JobRow, version: int) -> bool:
        if beats:
            await write_row(node, job, claimed(None, "host:1", beats.pop()))
        return await write(found, row, version)

    monkeypatch.setattr(steering, "_write", late)
    assert (await steering.cancel(job, "olga")).state == "CANCELLED"


async def test_after_giving_up_a_table_can_lie_there(
    node: Node, steering: Steering, job: int
) -> None:
    """The name was free before, the place is now."""
    location = (await Inspector(node.kernel).find(job)).live.job.reserved[0]
    await steering.cancel(job, "olga")

    assert (await node.post("namespaces/a/tables", new_table(location=location))).status == 200
