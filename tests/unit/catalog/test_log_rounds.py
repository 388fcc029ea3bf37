"""Old commits are cut from all logs, and nothing else is harmed."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.catalog.log_rounds import LogRounds
from headgate.errors import LogCut, NoNodeId
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import commit_at
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import LOG_ROUND_SECONDS
from headgate.testing.faults import Crashed
from headgate.testing.kernels import (
    entries,
    history,
    open_kernel_on,
    putting,
    putting_all,
    snapshot,
    turns,
)
from tests.seeds import draw_seed
from tests.unit.catalog.aging import DAYS, POINTERS, RETENTION, AgingStore, aging_store

MIDDLE = 500
BOTH = pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)


@pytest.fixture
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AgingStore]:
    """A store that was just made, in memory if nothing else is said."""
    is_file = getattr(request, "param", "memory") == "sqlite"
    store = AgingStore(lambda: SqliteBackend(tmp_path / "x.db")) if is_file else aging_store()
    await store.open()
    yield store
    await store.kernel.close()


@BOTH
async def test_logs_begin_at_the_cut_and_all_else_is_whole(store: AgingStore) -> None:
    """Only commits are deleted, and only those that are too old; every later one reads on."""
    await store.live()
    before, state = await store.logs(), await snapshot(store.backend)
    present = [await entries(store.realm, pointer) for pointer in POINTERS]
    rounds = LogRounds(store.kernel, RETENTION)
    await rounds.make_one()
    after = await store.logs()

    for pointer in POINTERS:
        ids = [commit.id for commit in before[pointer]]
        kept = store.expected(ids)
        assert 10 < len(ids) - len(kept) < 20
        assert after[pointer] == before[pointer][-len(kept) :]
    cut = {commit.id for name in POINTERS for commit in before[name]} - {
        commit.id for name in POINTERS for commit in after[name]
    }
    rows = (await snapshot(store.backend)).rows
    gone = [state.rows[key] for key in state.rows.keys() - rows.keys()]
    assert {row.id for row in gone if row.realm == store.realm.id} == cut
    assert {row.type for row in gone} == {"head"}
    assert {row.realm for row in gone} == {store.realm.id, SYSTEM_REALM}
    assert rounds.commits_cut == len(gone)
    fresh = await store.another(1)
    handle = fresh.realm(store.realm.id)
    assert [await entries(handle, pointer) for pointer in POINTERS] == present
    assert {name: await history(fresh, handle, name) for name in POINTERS} == after
    await fresh.close()


@BOTH
async def test_who_follows_from_before_the_cut_is_told_and_who_is_behind_it_misses_nothing(
    store: AgingStore,
) -> None:
    """From the last commit that was cut on, a position is good."""
    await store.live()
    ids = await store.ids()
    await LogRounds(store.kernel, RETENTION).make_one()
    kept = store.expected(ids)
    log, key, begin = store.kernel.log, store.key(), len(ids) - len(kept)

    for after in ids[: begin - 1]:
        with pytest.raises(LogCut, match=f"oldest kept commit is {kept[0]}"):
            await log.ids_behind(key, after)
    for at in range(begin - 1, len(ids)):
        assert list(await log.ids_behind(key, ids[at])) == ids[at + 1 :]


@BOTH
async def test_commits_go_on_during_a_round(store: AgingStore) -> None:
    """None of them is lost, whoever makes it, and the log has no hole."""
    await store.live()
    other = await store.another(1)
    before = await store.ids()
    left = store.expected(before)
    done = False

    async def commit(kernel: Kernel, name: bytes) -> int:
        made = 0
        while not done or made < 30:
            await kernel.realm(store.realm.id).commit("root", putting(name, b"%d" % made))
            made += 1
        return made

    async def cut() -> None:
        nonlocal done
        await LogRounds(store.kernel, RETENTION).make_one()
        done = True

    one, two, _ = await asyncio.gather(commit(store.kernel, b"one"), commit(other, b"two"), cut())
    commits = await history(store.kernel, store.realm, "root")
    ids = [commit.id for commit in commits]

    assert ids[: len(left)] == left
    assert len(ids) == len(left) + one + two
    assert [commit.seq for commit in commits] == list(range(commits[0].seq, len(before) + 1)) + [
        len(before) + 1 + more for more in range(one + two)
    ]
    found = await entries(store.realm, "root")
    assert (found[b"one"], found[b"two"]) == (b"%d" % (one - 1), b"%d" % (two - 1))
    await other.close()


async def test_a_round_that_is_broken_off_leaves_a_log_that_begins_later() -> None:
    """After any number of rows, in whatever order they went; the next round ends the work."""
    seed = draw_seed("rows deleted before the end")
    for rows in range(0, 60, 3):
        store = aging_store(seed + rows)
        await store.open()
        await store.live(commits=70, days=200)
        ids = await store.ids()
        store.dying.rows_left = rows
        with pytest.raises(Crashed):
            await LogRounds(store.kernel, RETENTION).make_one()
        store.dying.rows_left = None

        fresh = await store.another(1)
        handle = fresh.realm(store.realm.id)
        for pointer in POINTERS:
            commits = await history(fresh, handle, pointer)
            assert [commit.seq for commit in commits] == list(range(commits[0].seq, len(ids) + 1))
        half = [commit.id for commit in await history(fresh, handle, "root")]
        if half != ids:
            with pytest.raises(LogCut, match=f"{half[0]}"):
                await fresh.log.ids_behind(store.key(), ids[0])
        await LogRounds(fresh, RETENTION).make_one()
        heads = (await snapshot(store.backend)).ids(store.realm.id, "head")
        assert heads == {
            commit.id for name in POINTERS for commit in await history(fresh, handle, name)
        }, "no old commit is left behind the cut"
        assert [commit.id for commit in await history(fresh, handle, "root")] == store.expected(ids)
        await fresh.close()
        await store.kernel.close()


async def test_the_only_commit_of_a_pointer_is_kept(store: AgingStore) -> None:
    """However old it is: it is what the pointer holds."""
    await store.realm.commit("root", putting(b"k", b"v"))
    ids = await store.ids()
    await store.pass_days(1_000)
    rounds = LogRounds(store.kernel, 1)
    await rounds.make_one()
    await rounds.make_one()

    assert await store.ids() == ids
    assert await entries(store.realm, "root") == {b"k": b"v"}


async def test_what_is_current_after_a_long_silence_is_all_that_is_left(store: AgingStore) -> None:
    """And new commits follow it."""
    await store.live(commits=25, days=1)
    ids = await store.ids()
    await store.pass_days(RETENTION + 1)
    rounds = LogRounds(store.kernel, RETENTION)
    await rounds.make_one()
    assert await store.ids() == ids[-1:]
    store.backend.reset()
    await rounds.make_one()
    assert set(store.backend.calls) == {"scan_pointers", "read_pointers"}, "it is known to be cut"
    await store.live(commits=2, days=0.1)
    await rounds.make_one()

    assert (await store.ids())[0] == ids[-1]
    assert len(await store.ids()) == 3


async def test_nothing_is_cut_while_no_id_can_be_made(store: AgingStore) -> None:
    """The clock of such a node may be ahead by more than the retention."""
    await store.live()
    before = await store.logs()
    store.kernel.ids.use(None)
    with pytest.raises(NoNodeId):
        await LogRounds(store.kernel, RETENTION).make_one()

    assert await store.logs() == before


async def test_what_was_current_a_moment_ago_is_kept(store: AgingStore) -> None:
    """Somebody may have read the pointer before it moved, and looks for the commit only now."""
    await store.live(commits=2, days=1)
    [_, current] = await store.ids()
    await store.pass_days(RETENTION + 1)
    await store.realm.commit("root", putting(b"new"))
    await LogRounds(store.kernel, RETENTION).make_one()
    fresh = await store.another(1)
    old = await open_head(fresh.store, store.realm.id, current)

    assert [key async for key, _ in old.index("names").scan()] == [b"0", b"1"]
    assert len(await store.ids()) == 2
    await fresh.close()


async def test_the_commits_of_a_day_can_be_looked_up_with_the_shortest_retention(
    store: AgingStore,
) -> None:
    """That is how the outcome of a commit is found whose answer was lost."""
    await store.live(commits=90, days=3)
    ids = await store.ids()
    await LogRounds(store.kernel, 1).make_one()
    kept = store.expected(ids, 1)
    assert 28 < len(kept) < 33

    for seq in range(len(ids) - len(kept) + 1, len(ids) + 1):
        found = await commit_at(store.kernel.store, store.realm.id, ids[-1], seq)
        assert found == ids[seq - 1]


async def test_nothing_is_cut_if_all_is_to_be_kept(store: AgingStore) -> None:
    """A retention of 0 means for ever."""
    await store.live(commits=5)
    before = await snapshot(store.backend)
    rounds = LogRounds(store.kernel, 0)
    await rounds.make_one()

    assert await snapshot(store.backend) == before
    assert rounds.commits_cut == 0


async def test_rounds_of_many_days_keep_what_one_would() -> None:
    """With commits of any number on any day, and whatever was remembered of earlier rounds."""
    seed = draw_seed("days of a log")
    chance = random.Random(seed)
    store = aging_store()
    await store.open()
    rounds, ids = LogRounds(store.kernel, RETENTION), list[int]()
    for _ in range(4 * RETENTION):
        for _ in range(chance.choice((0, 0, 1, 2, 5, 30))):
            await store.realm.commit("root", putting(b"k", b"%d" % len(ids)))
            [head] = await store.realm.heads("root")
            ids.append(head.id)
            await store.pass_days(0.01)
        await store.pass_days(chance.choice((0.1, 0.9, 3)))
        await rounds.make_one()
        if ids:
            assert await store.ids() == store.expected(ids)
    assert rounds.commits_cut > 100
    await store.kernel.close()


async def test_a_round_does_not_walk_again_through_what_is_kept() -> None:
    """The first walks back to the cut; later ones begin near to it."""
    store = aging_store()
    await store.open()
    await store.live(commits=1_500, days=DAYS)
    forgetful = open_kernel_on(store.backend, clock=store.clock, seed=1, cache_bytes=0)
    await forgetful.open()
    rounds = LogRounds(forgetful, RETENTION)
    reads = []
    for _ in range(3):
        store.backend.reset()
        await rounds.make_one()
        reads.append(store.backend.calls["fetch"])
        await store.pass_days(1 / 24)

    assert reads[0] > 3 * 1_500 * RETENTION / DAYS / 20
    assert max(reads[1:]) < 3 * 10
    store.backend.reset()
    await rounds.make_one()
    assert store.backend.calls["delete"] > 0
    await forgetful.close()
    await store.kernel.close()


@BOTH
async def test_two_nodes_may_cut_at_once(store: AgingStore) -> None:
    """Each finds deleted what the other was faster with."""
    await store.live(commits=90, days=200)
    ids = await store.ids()
    other = await store.another(1)
    cutting = [LogRounds(kernel, RETENTION).make_one() for kernel in (store.kernel, other)]
    await asyncio.gather(*cutting)
    await other.close()

    assert await store.ids() == store.expected(ids)
    assert (await snapshot(store.backend)).ids(store.realm.id, "head") == {
        commit.id for log in (await store.logs()).values() for commit in log
    }


async def test_what_did_not_fit_into_a_commit_goes_with_it(store: AgingStore) -> None:
    """Only the commit leads there."""
    many = {b"%06d" % number: b"" for number in range(3_000)}
    await store.realm.commit("root", putting_all(many))
    await store.pass_days(RETENTION + 1)
    for number in range(2):
        await store.realm.commit("root", putting(b"%d" % number))
    assert len((await snapshot(store.backend)).ids(store.realm.id, "changes")) == 1
    await store.pass_days(RETENTION + 1)
    await LogRounds(store.kernel, RETENTION).make_one()

    assert (await snapshot(store.backend)).ids(store.realm.id, "changes") == set()
    assert len(await store.ids()) == 1
    assert len(await entries(store.realm, "root")) == 3_002


async def test_a_log_that_cannot_be_read_does_not_stop_the_others(
    store: AgingStore, caplog: pytest.LogCaptureFixture
) -> None:
    """What is the matter with it is logged."""
    await store.live()
    ids = {pointer: await store.ids(pointer) for pointer in POINTERS}
    [row] = await store.backend.fetch(store.realm.id, [ids["catalogs"][-21]])
    await store.backend.delete(store.realm.id, [row.id])
    await store.backend.write([row._replace(value=b"rubbish")])
    store.kernel.store.forget(store.realm.id, [row.id])
    await LogRounds(store.kernel, RETENTION).make_one()

    assert "old commits of" in caplog.text
    assert "catalogs" in caplog.text
    for pointer in ("root", "grants"):
        assert await store.ids(pointer) == store.expected(ids[pointer])


async def test_a_round_leaves_the_cache_to_others(store: AgingStore) -> None:
    """What was in it stays, and old commits do not come in."""
    await store.live()
    fresh = await store.another(1, cache_bytes=1 << 20)
    await entries(fresh.realm(store.realm.id), "root")
    before = fresh.cache.statistics().entries
    await LogRounds(fresh, RETENTION).make_one()
    current = (await store.ids())[-1]

    assert fresh.store.find(store.realm.id, current) is not None
    assert fresh.cache.statistics().entries == before
    await fresh.close()


async def test_rounds_begin_after_a_pause_and_come_every_hour(
    store: AgingStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that fails is followed by others."""
    await store.live()
    ids = await store.ids()
    rounds = LogRounds(store.kernel, RETENTION)
    made = asyncio.create_task(rounds.make_for_ever(lambda: MIDDLE))
    async with asyncio.timeout(10):
        await store.clock.until_asleep(LOG_ROUND_SECONDS / 2)
        with monkeypatch.context() as broken:
            broken.setattr(store.kernel.log, "pointers", None)
            store.clock.advance(LOG_ROUND_SECONDS / 2 * 1_000)
            await store.clock.until_asleep(LOG_ROUND_SECONDS)
        assert "cutting old commits failed" in caplog.text
        assert await store.ids() == ids
        store.clock.advance(LOG_ROUND_SECONDS * 1_000)
        await turns(1)
        await store.clock.until_asleep(LOG_ROUND_SECONDS)
    made.cancel()

    assert await store.ids() == store.expected(ids)
