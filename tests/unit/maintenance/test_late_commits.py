"""Commits that are made late, beside a sweep: whatever was acknowledged stays."""

import asyncio

import pytest

from headgate.errors import CommitTimedOut
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.maintenance.clocks import Surveyed
from headgate.maintenance.runs import Run
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import BETWEEN_WRITE_AND_SWAP, TwoStepBackend
from headgate.testing.kernels import Held, Rig, SteppedClock, Thing
from tests.unit.maintenance.engines import ENGINES, Happens, Meanwhile, nothing, sweep_by
from tests.unit.maintenance.stores import (
    HOUR_MS,
    POINTER,
    THINGS,
    TYPES,
    Sweeper,
    sweeper,
)
from tests.unit.maintenance.test_clocks import Ahead

GRACE_MS = 3 * HOUR_MS
REFUSED = "before this sweep began: this machine's clock is ahead"

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def storing(key: bytes) -> "Stores":
    """An attempt that stores a thing under this name."""
    return Stores(key)


class Stores:
    """An attempt that stores a thing, and how often it was run."""

    def __init__(self, key: bytes) -> None:
        self.ids: list[int] = []
        self._key = key

    def __call__(self, draft: Draft) -> int:
        self.ids.append(draft.stage(Thing(self._key.decode())))
        draft.index(THINGS).put(self._key, self.ids[-1].to_bytes(8, "big"))
        return self.ids[-1]


class Scene:
    """A store with some waste, a node that writes, another one that sweeps, and a third one."""

    def __init__(
        self, store: Sweeper, sweeping: Kernel, engine: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.store = store
        self.rig = store.rig
        self.sweeping = sweeping
        self._engine = engine
        self._monkeypatch = monkeypatch

    async def sweep(self, before_scan: Happens = nothing, before_delete: Happens = nothing) -> Run:
        """Sweep, and let this happen meanwhile."""
        meanwhile = Meanwhile(before_scan, before_delete)
        return await sweep_by(self._engine, self.sweeping, GRACE_MS, meanwhile, self._monkeypatch)

    def other(self) -> RealmHandle:
        """The realm, on the node that sweeps."""
        return self.sweeping.realm(self.store.realm.id)


@pytest.fixture(name="scene")
async def _scene(store: Sweeper, engine: str, monkeypatch: pytest.MonkeyPatch) -> Scene:
    await store.put(b"first")
    await store.waste()
    return Scene(store, await store.rig.open(types=TYPES), engine, monkeypatch)


async def test_a_node_that_was_stopped_before_its_swap_and_a_later_commit(scene: Scene) -> None:
    """The later one does not hide that the earlier one is old: nothing is deleted."""
    held = Held(scene.rig)
    late = asyncio.create_task(scene.store.put(b"late"))
    await held.reached.wait()
    await scene.rig.pass_time(2 * GRACE_MS)

    async def resume() -> None:
        held.let_go.set()
        await late
        await scene.other().commit(POINTER, storing(b"later"))

    run = await scene.sweep(before_scan=resume)

    assert run.counts.rows_deleted == 0
    assert REFUSED in run.failures[0]
    assert set(await scene.store.things()) == {b"first", b"late", b"later"}
    await scene.rig.pass_time(2 * GRACE_MS)
    assert (await scene.sweep()).failures == ()
    assert set(await scene.store.things()) == {b"first", b"late", b"later"}


async def test_a_clock_that_is_ahead_and_a_commit_of_its_own(
    store: Sweeper, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not hide the commit of a node whose clock is right, and stamps no fence."""
    await store.waste()
    ahead = await store.rig.open(types=TYPES, clock=Ahead(store.rig.clock, 5 * HOUR_MS))
    scene = Scene(store, ahead, engine, monkeypatch)

    async def commit() -> None:
        store.rig.clock.advance(10)
        await store.put(b"right")
        await scene.other().commit(POINTER, storing(b"ahead"))

    run = await scene.sweep(before_scan=commit)

    assert run.counts.rows_deleted == 0
    assert run.counts.fences == 0
    assert REFUSED in run.failures[0]
    await store.rig.pass_time(6 * HOUR_MS)
    assert set(await store.things()) == {b"right", b"ahead"}


async def test_a_stop_between_two_attempts_of_a_batch(scene: Scene) -> None:
    """Nothing old is committed under a young head."""
    stored = await scene.other().commit(POINTER, storing(b"other"))
    await scene.store.put(b"warm")
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reached.set()
        await let_go.wait()

    scene.rig.faults.crash_at("before_fetch", wait)
    first = storing(b"late")

    def second(draft: Draft) -> None:
        draft.fetch(stored, Thing)

    batch = [
        asyncio.create_task(scene.store.realm.commit(POINTER, attempt))
        for attempt in (first, second)
    ]
    await reached.wait()
    await scene.rig.pass_time(2 * GRACE_MS)

    async def resume() -> None:
        let_go.set()
        await asyncio.gather(*batch)

    run = await scene.sweep(before_scan=resume)

    assert run.failures == ()
    assert run.counts.rows_deleted > 0
    assert len(first.ids) == 2
    assert set(await scene.store.things()) == {b"first", b"other", b"warm", b"late"}


async def test_a_swap_that_arrives_after_the_last_check_is_lost(scene: Scene) -> None:
    """It is committed once more, with new ids, on top of the fence."""
    held = Held(scene.rig)
    late = asyncio.create_task(scene.store.put(b"late"))
    await held.reached.wait()
    await scene.rig.pass_time(2 * GRACE_MS)

    async def resume() -> None:
        held.let_go.set()
        await late

    run = await scene.sweep(before_delete=resume)

    assert run.failures == ()
    assert run.counts.rows_deleted > 0
    assert scene.store.kernel.committer.statistics.lost == 1
    assert set(await scene.store.things()) == {b"first", b"late"}


@pytest.mark.parametrize("is_first", [False, True])
async def test_rows_that_are_written_before_their_swap(
    engine: str, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """A sweep in between deletes them, the swap is lost, and the commit is made anew; also if it is
    the first of a pointer."""
    async with Rig() as rig:
        rig.backend = CountingBackend(TwoStepBackend(rig.memory, rig.faults))
        store = await sweeper(rig)
        if not is_first:
            await store.put(b"first")
        scene = Scene(store, await rig.open(types=TYPES), engine, monkeypatch)
        reached, let_go = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            reached.set()
            await let_go.wait()

        rig.faults.crash_at(BETWEEN_WRITE_AND_SWAP, wait)
        attempt = storing(b"late")
        late = asyncio.create_task(store.realm.commit(POINTER, attempt))
        await reached.wait()
        await rig.pass_time(2 * GRACE_MS)
        run = await scene.sweep()
        assert run.failures == ()
        assert not await rig.memory.fetch(store.realm.id, attempt.ids)
        let_go.set()
        await late

        assert set(await store.things()) == ({b"late"} if is_first else {b"first", b"late"})


async def test_a_pointer_that_was_created_meanwhile_by_a_clock_that_is_behind(
    store: Sweeper, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed to it is as old as that clock says: nothing is deleted."""
    slow = await store.rig.open(types=TYPES, clock=SteppedClock(store.rig.clock.wall_ms()))
    await store.waste()
    await store.rig.pass_time(2 * GRACE_MS)
    scene = Scene(store, store.kernel, engine, monkeypatch)
    new, attempt = f"cat/{store.kernel.ids.next()}/heads/main", storing(b"slow")
    realm = slow.realm(store.realm.id)

    async def create() -> None:
        await realm.create_pointers([new])
        await realm.commit(new, attempt)

    run = await scene.sweep(before_scan=create)

    assert run.counts.rows_deleted == 0
    assert REFUSED in run.failures[0]
    assert await store.rig.memory.fetch(store.realm.id, attempt.ids)


async def test_a_pointer_that_is_created_after_the_fences_by_a_clock_that_is_behind(
    store: Sweeper, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first commit is refused: the list of realms shows that the clock is behind."""
    slow = await store.rig.open(types=TYPES, clock=SteppedClock(store.rig.clock.wall_ms()))
    await store.waste()
    await store.rig.pass_time(2 * GRACE_MS)
    scene = Scene(store, store.kernel, engine, monkeypatch)
    new = f"cat/{store.kernel.ids.next()}/heads/main"
    realm = slow.realm(store.realm.id)

    async def create() -> None:
        await realm.create_pointers([new])
        with pytest.raises(CommitTimedOut, match="behind the newest commit"):
            await realm.commit(new, storing(b"slow"))

    run = await scene.sweep(before_delete=create)

    assert run.failures == ()
    assert run.counts.rows_deleted > 0


async def test_the_guard_of_both_engines_is_the_same(scene: Scene, engine: str) -> None:
    """Commits that were made since are looked at one by one, twenty and more of them."""
    surveyed = Surveyed(scene.rig.clock.wall_ms())
    store, realm = scene.sweeping.store, scene.store.realm.id
    await surveyed.check(store, [realm])
    scene.rig.backend.reset()
    await surveyed.check(store, [realm])
    assert scene.rig.backend.calls["fetch"] == 0  # nothing moved
    for number in range(45):
        await scene.store.put(b"%d" % number)
    scene.rig.backend.reset()
    await surveyed.check(store, [realm])

    assert scene.rig.backend.calls["fetch"] == 3
