"""Jobs that are looked at: under way and ended, newest first, in pages."""

from collections.abc import Mapping, Sequence

import pytest

from headgate.catalog.purging import TASKS, LiveJob
from headgate.errors import BadRequest, JobNotFound, MetalakeNotFound
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Versioned
from headgate.purge import inspecting
from headgate.purge.finishing import finish
from headgate.purge.inspecting import Inspector, JobPage, Wanted, check_state, job_id
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, claimed, succeeded
from headgate.purge.ledger import Failed
from headgate.purge.steering import Steering
from tests.unit.catalog.dropping import drop
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World
from tests.unit.purge.rows import write_row

ALL = Wanted()


async def dropped(node: Node, *names: str) -> list[int]:
    """Tables that were dropped one after the other; the ids of their jobs."""
    jobs = []
    for name in names:
        await node.table(name)
        jobs.append(await drop(node, name, 0))
    return jobs


async def ended(node: Node, job: int) -> None:
    """Let a job end."""
    found = await Inspector(node.kernel).find(job)
    row = claimed(found.row, "host:1", node.kernel.clock.wall_ms())
    found = await write_row(node, job, succeeded(row, row.updated_ms))
    assert found.row is not None
    assert await finish(node.kernel, found.live, found.row)


def ids(page: JobPage) -> list[int]:
    return [int(one.id) for one in page.jobs]


async def test_jobs_are_listed_newest_first(node: Node) -> None:
    """Those under way and those that ended in one list, each once."""
    inspector = Inspector(node.kernel)
    first, second, third = await dropped(node, "t1", "t2", "t3")
    await ended(node, second)
    page = await inspector.page(ALL, 10)

    assert ids(page) == [third, second, first]
    assert [one.state for one in page.jobs] == ["PENDING", "SUCCEEDED", "PENDING"]
    assert [one.table for one in page.jobs] == [("a", "t3"), ("a", "t2"), ("a", "t1")]
    assert page.next is None


async def test_a_long_list_comes_in_pages(node: Node) -> None:
    """Nothing is told twice, and nothing is left out, also while jobs come and end."""
    inspector = Inspector(node.kernel)
    jobs = await dropped(node, *(f"t{n}" for n in range(7)))
    for job in jobs[1::2]:
        await ended(node, job)
    seen: list[int] = []
    after: int | None = None
    while True:
        page = await inspector.page(ALL, 2, after)
        seen += ids(page)
        if page.next is None:
            break
        after = int(page.next)
        [new] = await dropped(node, f"new{after}")
        assert new > after

    assert seen == jobs[::-1]


async def test_only_so_many_are_told_at_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are asked for."""
    monkeypatch.setattr(inspecting, "JOBS_MAX", 2)
    jobs = await dropped(node, "t1", "t2", "t3")
    page = await Inspector(node.kernel).page(ALL, 1_000)

    assert ids(page) == jobs[:0:-1]
    assert page.next == str(jobs[1])


async def test_jobs_are_chosen_by_where_they_are_and_how(node: Node) -> None:
    """Metalake, catalog and state; what is empty does not matter."""
    inspector = Inspector(node.kernel)
    first, second, third = await dropped(node, "t1", "t2", "t3")
    await write_row(node, second, JobRow(State.RUNNING))
    await ended(node, third)

    async def found(*wanted: str) -> list[int]:
        return ids(await inspector.page(Wanted(*wanted), 10))

    assert await found(METALAKE, CATALOG) == [third, second, first]
    assert await found("", CATALOG, "RUNNING") == [second]
    assert await found("", "", "PENDING") == [first]
    assert await found("", "", "SUCCEEDED") == [third]
    assert await found("", "other") == []
    with pytest.raises(MetalakeNotFound, match="`headgate realm list` shows those that do"):
        await found("other")


async def test_jobs_of_a_metalake_that_is_switched_off_are_shown(node: Node) -> None:
    """Nobody works on them, and operators wonder why."""
    [job] = await dropped(node, "t")
    await node.kernel.realms.deactivate(METALAKE)
    inspector = Inspector(node.kernel)

    assert ids(await inspector.page(ALL, 10)) == [job]
    assert (await inspector.find(job)).live.metalake == METALAKE


async def test_one_job_is_found_while_it_lives_and_after(node: Node) -> None:
    """With all that its row says; what it was is not forgotten when it ends."""
    inspector = Inspector(node.kernel)
    [job] = await dropped(node, "t")
    waiting = await inspector.find(job)
    ledger = (Failed("file:/x", "denied"),)
    await write_row(node, job, JobRow(State.DEAD_LETTER, error="no", failed=1, ledger=ledger))
    dead = await inspector.find(job)
    await write_row(node, job, JobRow(State.RUNNING))
    await ended(node, job)
    gone = await inspector.find(job)

    assert (waiting.row, waiting.has_ended) == (None, False)
    assert dead.view.ledger[0].path == "file:/x"
    assert (gone.state, gone.has_ended) == ("SUCCEEDED", True)
    assert gone.view.table == ("a", "t")


async def test_a_job_that_is_not_there_is_told_with_what_to_do(node: Node) -> None:
    """Also one that was, whose table came back."""
    await node.table()
    job = await drop(node)
    inspector = Inspector(node.kernel)
    found = await inspector.find(job)
    await Steering(node.kernel, inspector).undrop(await node.opened(), found, None)

    for id in (job, 1, (1 << 63) - 1):
        with pytest.raises(JobNotFound, match=f"{id}: .*`headgate jobs list` shows"):
            await inspector.find(id)


async def test_a_job_that_ends_between_two_looks_is_not_taken_for_a_new_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is gone by the time it is read; the history knows better."""
    [job] = await dropped(node, "t")
    inspector = Inspector(node.kernel)
    looks = inspector._queue.live_jobs

    async def live_jobs(*, switched_off: bool = False) -> list[LiveJob]:
        found = await looks(switched_off=switched_off)
        if found:
            await ended(node, job)
        return found

    monkeypatch.setattr(inspector._queue, "live_jobs", live_jobs)
    page = await inspector.page(Wanted(state="PENDING"), 10)
    assert page.jobs == []
    assert (await inspector.find(job)).state == "SUCCEEDED"


async def test_a_list_reads_the_history_once_however_long_it_is(world: World, node: Node) -> None:
    """Jobs that nobody has begun with have no rows: each of them could have ended meanwhile."""
    inspector = Inspector(node.kernel)
    await dropped(node, "t1")
    await inspector.page(ALL, 100)
    world.rig.backend.reset()
    await inspector.page(ALL, 100)
    few = dict(world.rig.backend.calls)
    await dropped(node, *(f"u{number}" for number in range(9)))
    await inspector.page(ALL, 100)
    world.rig.backend.reset()
    page = await inspector.page(ALL, 100)

    assert len(page.jobs) == 10
    assert world.rig.backend.calls == few


async def test_jobs_that_may_not_be_seen_are_left_out(node: Node) -> None:
    """Those under way and those that ended alike; pages are as long as without them."""
    first, second, third, fourth = await dropped(node, "t1", "t2", "t3", "t4")
    await ended(node, first)
    await ended(node, second)

    async def sees(live: LiveJob) -> bool:
        return live.id in {first, third}

    inspector = Inspector(node.kernel)
    assert ids(await inspector.page(ALL, 1, None, sees)) == [third]
    assert ids(await inspector.page(ALL, 1, third, sees)) == [first]
    assert fourth > third


async def test_very_many_jobs_are_read_in_pieces(node: Node) -> None:
    """As many rows as one answer of the database may have."""
    jobs = await dropped(node, *(f"t{n}" for n in range(130)))
    for job in jobs[:5]:
        await write_row(node, job, JobRow(State.RUNNING))
    page = await Inspector(node.kernel).page(Wanted(state="RUNNING"), 3)

    assert ids(page) == jobs[4:1:-1]
    assert ids(await Inspector(node.kernel).page(ALL, 70)) == jobs[:-71:-1]
    assert len(await Inspector(node.kernel).all_live()) == 130


async def test_rows_of_tables_that_can_come_back_are_not_read_to_be_counted(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grace period of a week, in a busy catalog, is very many jobs; they have no row anyway."""
    [due] = await dropped(node, "t1")
    await node.table("t2")
    waiting = await drop(node, "t2")
    read, asked = node.kernel.store.read_versioned, list[int]()

    async def noted(realm: str, ids: Sequence[int]) -> Mapping[int, Versioned]:
        asked.extend(ids)
        return await read(realm, ids)

    monkeypatch.setattr(node.kernel.store, "read_versioned", noted)
    found = await Inspector(node.kernel).all_live()

    assert {(one.live.id, one.state) for one in found} == {(due, "PENDING"), (waiting, "PENDING")}
    assert asked == [due]


async def test_a_metalake_that_is_purged_at_this_moment_is_passed_over(node: Node) -> None:
    """Its pointers are still there, and what they lead to is not."""
    first, second = await dropped(node, "t1", "t2")
    await ended(node, first)
    gone = await node.kernel.realms.create("gone")
    await node.kernel.realm(gone.id).commit(TASKS, lambda draft: draft.mark("x", 1))
    [head] = await node.kernel.pointers.read([PointerKey(gone.id, TASKS)])
    assert head is not None
    await node.kernel.store.delete(gone.id, [head])
    inspector = Inspector(node.kernel)

    assert ids(await inspector.page(ALL, 10)) == [second, first]
    with pytest.raises(JobNotFound):
        await inspector.find(17)


def test_states_are_read_in_any_case() -> None:
    """What is misspelt is answered with the nearest one."""
    assert check_state("running") == "RUNNING"
    assert check_state("dead-letter") == "DEAD_LETTER"
    with pytest.raises(BadRequest, match="the nearest known one is PENDING"):
        check_state("pendin")
    with pytest.raises(BadRequest, match="Use one of PENDING, RUNNING, SUCCEEDED"):
        check_state("xyz")


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "abc", "٣", str(1 << 63), "1" * 5_000])
def test_what_cannot_be_an_id_is_refused(text: str) -> None:
    """With where ids are found."""
    with pytest.raises(BadRequest, match="it is no whole number of 64 bits"):
        job_id(text)


def test_an_id_is_read() -> None:
    """Up to the largest there is."""
    assert [job_id(text) for text in ("1", "9223372036854775807")] == [1, (1 << 63) - 1]
