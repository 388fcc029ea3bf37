"""A store with ids from the future is mended: all content stays, and it opens again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

import pytest

from headgate.errors import ClockRefused, CommitTimedOut, Conflict
from headgate.ids import time_ms
from headgate.kernel.clock_repair import NEWEST_ID, Findings
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.leases import lease_of, read_leases
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import Outcome, PointerKey
from headgate.limits import CLOCK_BEHIND_MS_MAX, LEASE_MS, RESOLVE_TRIES_MAX
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    POINTER,
    THING_TYPE,
    Rig,
    SteppedClock,
    entries,
    entropy,
    history,
    putting,
)

YEAR_MS = 365 * 86_400_000
SEEDS = count(1_000)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is right."""
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def realm(rig: Rig) -> RealmHandle:
    """A realm with a past, in which a node a year ahead committed once; no node runs any more."""
    kernel = await rig.open()
    realm = await rig.realm()
    await realm.commit(POINTER, putting(b"past"))
    await commit_ahead(rig, realm)
    await close(rig, kernel)
    rig.clock.advance(10)
    return realm


async def commit_ahead(rig: Rig, realm: RealmHandle, key: bytes = b"future") -> None:
    """Let a node commit whose clock is a year ahead; then it ends."""
    wrong = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + YEAR_MS))
    await wrong.realm(realm.id).commit(POINTER, putting(key))
    await close(rig, wrong)


async def close(rig: Rig, kernel: Kernel) -> None:
    rig.kernels.remove(kernel)
    await kernel.close()


def repairing(rig: Rig, *, writable: bool = True) -> Kernel:
    """A kernel that is opened for a repair."""
    options = KernelOptions(holder="repair", writable=writable, is_repair=True)
    return Kernel(rig.backend, rig.clock, entropy(next(SEEDS)), options, [THING_TYPE])


async def repaired(rig: Rig, *marked: PointerKey) -> Findings:
    """Find and mend what there is."""
    async with repairing(rig) as kernel:
        found = await kernel.clock_repair.find(marked)
        await kernel.clock_repair.apply(found)
    rig.clock.advance(10)
    return found


async def test_a_node_that_is_ahead_and_commits_once_stops_every_later_start(
    rig: Rig, realm: RealmHandle
) -> None:
    """The refusal names the command that mends it."""
    del realm
    with pytest.raises(ClockRefused, match="headgate maintenance repair-clock"):
        await rig.open()


async def test_a_repaired_store_opens_with_all_that_it_held(rig: Rig, realm: RealmHandle) -> None:
    """What was committed by the wrong clock is still there, and new commits have right times."""
    found = await repaired(rig)
    kernel = await rig.open()
    realm = kernel.realm(realm.id)
    await realm.commit(POINTER, putting(b"present"))

    assert [one.key for one in found.pointers] == [PointerKey(realm.id, POINTER)]
    assert set(await entries(realm)) == {b"past", b"future", b"present"}
    log = await history(kernel, realm)
    assert [one.seq for one in log] == list(range(1, len(log) + 1))
    assert time_ms(log[-3].id) > rig.clock.wall_ms() + YEAR_MS // 2
    assert all(time_ms(one.id) <= rig.clock.wall_ms() for one in log[-2:])
    assert log[-2].groups == []


async def test_the_chain_of_the_log_holds_after_a_repair(rig: Rig, realm: RealmHandle) -> None:
    """The empty commit is a link like any other."""
    await repaired(rig)
    kernel = await rig.open()
    chain = await kernel.chains.verify(PointerKey(realm.id, POINTER), {}, lambda _: None)

    assert chain.breaks == []


async def test_what_would_be_done_is_shown_without_doing_it(rig: Rig, realm: RealmHandle) -> None:
    """With the time of the newest commit, and of the last one before it that is not ahead."""
    async with repairing(rig, writable=False) as kernel:
        rig.backend.reset()
        found = await kernel.clock_repair.find()
        calls = dict(rig.backend.calls)

    assert found.has_work
    [pointer] = found.pointers
    assert pointer.key == PointerKey(realm.id, POINTER)
    assert pointer.newest_ms > rig.clock.wall_ms() + YEAR_MS // 2
    assert 0 < pointer.before_ms <= rig.clock.wall_ms()
    assert not calls.keys() & {"commit", "insert", "update", "write"}


async def test_a_pointer_whose_first_commit_lies_in_the_future_is_mended_too(rig: Rig) -> None:
    """There is none before it that could be shown; one that is marked gets one commit as well."""
    wrong = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + YEAR_MS))
    await rig.realm()
    commits = len([one async for one in wrong.log.newest_first(REALMS_KEY)])
    await close(rig, wrong)
    found = await repaired(rig, REALMS_KEY)

    assert {one.before_ms for one in found.pointers} == {0}
    assert REALMS_KEY in {one.key for one in found.pointers}
    kernel = await rig.open()
    assert len([one async for one in kernel.log.newest_first(REALMS_KEY)]) == commits + 1


async def test_a_second_repair_finds_nothing_to_do(rig: Rig, realm: RealmHandle) -> None:
    """No commit is made, and no lease is written but the repair's own."""
    await repaired(rig, REALMS_KEY)
    [value] = await rig.backend.read_pointers([PointerKey(realm.id, POINTER)])
    found = await repaired(rig, REALMS_KEY)

    assert not found.has_work
    assert [value] == await rig.backend.read_pointers([PointerKey(realm.id, POINTER)])


async def test_a_store_that_needs_no_repair_is_left_alone(rig: Rig) -> None:
    """Also what lies in the future by no more than clocks may differ."""
    await rig.open(clock=SteppedClock(rig.clock.wall_ms() + CLOCK_BEHIND_MS_MAX))
    realm = await rig.realm()
    await realm.commit(POINTER, putting(b"key"))
    found = await (await rig.open()).clock_repair.find([REALMS_KEY])

    assert not found.has_work
    assert found.newest == 0


async def test_nothing_is_repaired_beside_a_node_that_runs(rig: Rig, realm: RealmHandle) -> None:
    """It would go on from what it has read."""
    await repaired(rig)
    kernel = await rig.open()
    await commit_ahead(rig, kernel.realm(realm.id), b"again")

    with pytest.raises(Conflict, match="test-0 uses it"):
        await repairing(rig).open()
    with pytest.raises(Conflict, match="Stop all nodes"):
        await repairing(rig, writable=False).open()


async def test_all_nodes_that_run_are_counted(rig: Rig) -> None:
    """One is named."""
    await rig.open()
    await rig.open()

    with pytest.raises(Conflict, match="test-0 and 1 more uses it"):
        await repairing(rig).open()


async def test_a_lease_of_the_future_keeps_its_node_but_is_no_live_node(
    rig: Rig, realm: RealmHandle
) -> None:
    """No id is made twice, and a level or separator does not wait for a year."""
    del realm
    crashed = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + YEAR_MS))
    node = crashed.ids.node
    rows = await read_leases(crashed.store)
    found = await repaired(rig)
    kernel = await rig.open()
    live = await kernel._leases.live()

    assert node in {one.node for one in found.leases}
    assert [one.holder for one in live] == ["test-1"]
    kept = {lease_of(row).node: lease_of(row) for row in (await read_leases(kernel.store)).values()}
    assert kept[node].is_retired
    assert all(
        kept[lease_of(row).node].ends_ms == lease_of(row).ends_ms
        for row in rows.values()
        if lease_of(row).ends_ms > rig.clock.wall_ms() + LEASE_MS
    )


async def test_a_node_that_still_has_a_lease_of_the_future_loses_it(rig: Rig) -> None:
    """It finds out when it renews, and takes another node id."""
    crashed = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + YEAR_MS))
    node = crashed.ids.node
    await repaired(rig)
    await crashed._leases.renew()

    assert crashed.ids.node != node


async def test_a_lease_that_is_renewed_meanwhile_is_not_retired(rig: Rig) -> None:
    """Its holder lives."""
    living = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + YEAR_MS))
    async with repairing(rig) as kernel:
        found = await kernel.clock_repair.find()
        living.clock.pause()
        await living._leases.renew()
        await kernel.clock_repair.apply(found)

    assert [one.holder for one in found.leases] == ["test-0"]
    assert [one.is_retired for one in await living._leases.live()].count(False) >= 1


async def test_pointers_that_depend_on_the_order_of_ids_are_told_the_newest(
    rig: Rig, realm: RealmHandle
) -> None:
    """A mark that is greater than all ids that were made, also than those of a lease."""
    await repaired(rig, REALMS_KEY, PointerKey("system", "missing"))
    kernel = await rig.open()
    [value] = await rig.backend.read_pointers([REALMS_KEY])
    marks = (await open_head(kernel.store, REALMS_KEY.realm, value)).head.marks

    log = await history(kernel, kernel.realm(realm.id))
    assert marks[NEWEST_ID] > max(one.id for one in log)
    assert [one.id for one in await kernel.realms.list()] == [realm.id]


class Interrupted(Exception):
    """A repair that was killed."""


async def test_a_repair_that_is_killed_anywhere_is_finished_by_the_next(rig: Rig) -> None:
    """Whatever call of the database was its last."""
    kernel = await rig.open()
    realms = [kernel.realm((await kernel.realms.create(name)).id) for name in ("one", "two")]
    await close(rig, kernel)
    calls = 0
    while True:
        rig.clock.advance(LEASE_MS + 1)
        for realm in realms:
            await commit_ahead(rig, realm, f"key {calls}".encode())
        rig.clock.advance(2 * LEASE_MS)
        ended = await killed_after(rig, calls)
        rig.clock.advance(LEASE_MS + 1)  # its own lease counts until then
        await repaired(rig, REALMS_KEY)
        kernel = await rig.open()
        for realm in realms:
            expected = {f"key {number}".encode() for number in range(calls + 1)}
            assert set(await entries(kernel.realm(realm.id))) == expected
        await close(rig, kernel)
        if ended:
            break
        calls += 1

    assert calls > 4


async def killed_after(rig: Rig, calls: int) -> bool:
    """Let a repair end after so many conditional writes; whether it had made all of them."""
    left = calls

    def dying(inner: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def call(*arguments: object) -> object:
            nonlocal left
            if not left:
                raise Interrupted
            left -= 1
            return await inner(*arguments)

        return call

    kernel = repairing(rig)
    await kernel.open()
    found = await kernel.clock_repair.find([REALMS_KEY])
    with pytest.MonkeyPatch.context() as patch:
        for verb in ("commit", "update"):
            patch.setattr(rig.backend, verb, dying(getattr(rig.backend, verb)))
        try:
            await kernel.clock_repair.apply(found)
        except Interrupted:
            return False
        finally:
            if kernel._leases._renewing is not None:
                kernel._leases._renewing.cancel()
    return True


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
async def test_a_lost_answer_is_looked_up(rig: Rig, realm: RealmHandle, fault: Fault) -> None:
    """The same swap is sent again, and one commit is made."""
    async with repairing(rig) as kernel:
        found = await kernel.clock_repair.find()
        rig.faults.schedule("commit", fault)
        await kernel.clock_repair.apply(found)
    rig.clock.advance(10)
    kernel = await rig.open()

    assert [one.groups for one in await history(kernel, kernel.realm(realm.id))].count([]) == 1


async def test_a_pointer_that_others_change_again_and_again_is_given_up(
    rig: Rig, realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repair does not go on for ever beside a node that should not run."""
    del realm
    tries = 0

    async def lost(*_: object) -> Outcome:
        nonlocal tries
        tries += 1
        return Outcome.LOST

    async with repairing(rig) as kernel:
        found = await kernel.clock_repair.find()
        monkeypatch.setattr(rig.memory, "commit", lost)

        with pytest.raises(CommitTimedOut, match="again and again"):
            await kernel.clock_repair.apply(found)
    assert tries == RESOLVE_TRIES_MAX
