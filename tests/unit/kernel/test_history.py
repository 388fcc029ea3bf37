"""A store that is restored from a backup under running nodes: they notice and stop writing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest

from headgate.errors import NoNodeId, StoreRestored
from headgate.ids import lease_row
from headgate.kernel.handle import RealmHandle
from headgate.kernel.history import KNOWN_HEADS_MAX, History, KnownHead
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import (
    LEASE_CHECK_SECONDS,
    LEASE_MS,
    LEASE_RENEW_MS,
)
from headgate.testing.kernels import (
    POINTER,
    Rig,
    SteppedClock,
    Thing,
    entries,
    entropy,
    putting,
    snapshot,
    turns,
)

KEY = PointerKey("r", "p")


class Backup(NamedTuple):
    """What the database held."""

    pointers: dict[PointerKey, int]
    rows: dict[tuple[str, int], dict[int, Row]]


def back_up(rig: Rig) -> Backup:
    rows = {key: dict(parts) for key, parts in rig.memory._rows.items()}
    return Backup(dict(rig.memory._pointers), rows)


def restore(rig: Rig, backup: Backup) -> None:
    rig.memory._pointers = dict(backup.pointers)
    rig.memory._rows = {key: dict(parts) for key, parts in backup.rows.items()}


async def next_look(rig: Rig, clock: SteppedClock | None = None) -> None:
    """Let nodes look at their leases."""
    await turns(5)
    (clock or rig.clock).advance(LEASE_CHECK_SECONDS * 1000)
    await turns(10)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is everybody's."""
    async with Rig() as rig:
        yield rig


@pytest.fixture(name="realm")
async def _realm(rig: Rig) -> RealmHandle:
    """A realm with three commits, on a first node."""
    realm = await rig.realm()
    for name in (b"1", b"2", b"3"):
        await realm.commit(POINTER, putting(name))
    return realm


async def test_a_pointer_that_went_back_ends_all_writing(rig: Rig, realm: RealmHandle) -> None:
    """The caller is told what to do, and the restored store stays as it was restored."""
    backup = back_up(rig)
    await realm.commit(POINTER, putting(b"4"))
    restore(rig, backup)
    before = await snapshot(rig.memory)

    for _ in range(2):
        with pytest.raises(StoreRestored, match=r"restored to an earlier state.*Stop all nodes"):
            await realm.commit(POINTER, putting(b"5"))
    with pytest.raises(StoreRestored):
        await realm.commit("grants", putting(b"elsewhere"))
    await rig.kernels.pop().close()

    assert await snapshot(rig.memory) == before


async def test_a_pointer_that_went_back_to_its_beginning_is_noticed(
    rig: Rig, realm: RealmHandle
) -> None:
    """An EMPTY pointer has no head to look at."""
    await realm.commit("grants", putting(b"1"))
    backup = back_up(rig)
    backup.pointers[PointerKey(realm.id, "grants")] = EMPTY
    restore(rig, backup)

    with pytest.raises(StoreRestored, match="'grants'"):
        await realm.commit("grants", putting(b"2"))


async def test_a_node_that_has_only_read_notices_too(rig: Rig, realm: RealmHandle) -> None:
    """It has answered from a state that is no more, and puts nothing on top of another one."""
    reader = (await rig.open()).realm(realm.id)
    backup = back_up(rig)
    await realm.commit(POINTER, putting(b"4"))
    assert b"4" in await entries(reader)
    restore(rig, backup)
    assert b"4" not in await entries(reader)

    with pytest.raises(StoreRestored):
        await reader.commit(POINTER, putting(b"5"))


@pytest.mark.parametrize("commits", [1, 2, 5])
async def test_another_history_on_top_of_a_restored_one_is_noticed(
    rig: Rig, realm: RealmHandle, commits: int
) -> None:
    """A node that was started after the restore has committed as much meanwhile, or more."""
    backup = back_up(rig)
    for name in (b"4", b"5"):
        await realm.commit(POINTER, putting(name))
    restore(rig, backup)
    rig.clock.advance(LEASE_MS + 1)
    started = await rig.open()
    for number in range(commits):
        await started.realm(realm.id).commit(POINTER, putting(b"new %d" % number))

    with pytest.raises(StoreRestored):
        await realm.commit(POINTER, putting(b"6"))

    names = set(await entries(started.realm(realm.id)))
    assert names == {b"1", b"2", b"3", *(b"new %d" % number for number in range(commits))}


async def test_commits_of_other_nodes_are_no_restore(rig: Rig, realm: RealmHandle) -> None:
    """However many there were since this node last looked."""
    other = await rig.open()
    for commits in (1, 5, 19, 20, 21, 40):
        for number in range(commits):
            await other.realm(realm.id).commit(POINTER, putting(b"%d" % number))
        await realm.commit(POINTER, putting(b"again"))


async def test_a_node_started_on_the_restored_store_writes(rig: Rig, realm: RealmHandle) -> None:
    """Nothing in the store says that it was restored; only processes from before know."""
    backup = back_up(rig)
    await realm.commit(POINTER, putting(b"4"))
    restore(rig, backup)
    with pytest.raises(StoreRestored):
        await realm.commit(POINTER, putting(b"5"))
    rig.clock.advance(LEASE_MS + 1)

    started = await rig.open()
    await started.realm(realm.id).commit(POINTER, putting(b"6"))

    assert set(await entries(started.realm(realm.id))) == {b"1", b"2", b"3", b"6"}


async def test_a_lease_that_is_gone_is_noticed_without_any_commit(
    rig: Rig, realm: RealmHandle
) -> None:
    """The backup is from before this node was started: its node id may be leased to another."""
    backup = back_up(rig)
    idle = await rig.open()
    assert idle.ids.node is not None
    await turns(5)
    restore(rig, backup)
    before = await snapshot(rig.memory)

    await next_look(rig)

    with pytest.raises(NoNodeId):
        idle.ids.next()
    for write in WRITES:
        with pytest.raises(StoreRestored):
            await write(idle)
    with pytest.raises((StoreRestored, NoNodeId)):
        await idle.realm(realm.id).commit(POINTER, putting(b"5"))
    assert (await snapshot(rig.memory)).pointers == before.pointers
    assert set(await entries(idle.realm(realm.id))) == {b"1", b"2", b"3"}, "reads go on"
    rig.kernels.remove(idle)
    await idle.close()


ROW = Row("r", 1, 0, 1, "thing", 0, b"x")
WRITES: list[Callable[[Kernel], Awaitable[object]]] = [
    lambda kernel: kernel.store.write("r", {1: Thing()}),
    lambda kernel: kernel.store.insert("r", 1, Thing(), 1),
    lambda kernel: kernel.store.update("r", 1, Thing(), expected=1, version=2),
    lambda kernel: kernel.store.remove("r", 1, 1),
    lambda kernel: kernel.store.delete("r", [1]),
    lambda kernel: kernel.backend.create_pointers("r", ["p"]),
    lambda kernel: kernel.backend.delete_pointers([KEY]),
    lambda kernel: kernel.backend.delete_realm("r", 10),
    lambda kernel: kernel.backend.commit([ROW], Swap(KEY, 0, 1)),
]


async def test_all_is_handed_on_as_long_as_the_history_is_intact(rig: Rig) -> None:
    """The guard of writes changes no answer."""
    kernel = await rig.open()
    await kernel.backend.create_pointers("r", ["p"])

    assert await kernel.backend.commit([ROW], Swap(KEY, EMPTY, 1)) is Outcome.APPLIED
    assert await kernel.store.insert("r", 2, Thing(), 1) is Outcome.APPLIED
    assert await kernel.store.remove("r", 2, 1) is Outcome.APPLIED
    assert await kernel.backend.fetch("r", [1, 2]) == [ROW]
    await kernel.backend.delete_pointers([KEY])
    assert await kernel.backend.read_pointers([KEY]) == [None]
    assert await kernel.backend.delete_realm("r", 10) == 1


async def test_an_earlier_lease_of_the_same_process_is_noticed(
    rig: Rig, realm: RealmHandle
) -> None:
    """The backup was made after this node started, and before it renewed its lease."""
    [node] = rig.kernels
    await turns(5)
    backup = back_up(rig)
    rig.clock.advance(LEASE_RENEW_MS + 1)
    await turns(20)
    restore(rig, backup)

    await next_look(rig)

    assert node.ids.node is None
    with pytest.raises(StoreRestored, match="the lease of node"):
        await realm.commit(POINTER, putting(b"4"))


async def test_the_lease_of_a_former_holder_is_noticed(rig: Rig, realm: RealmHandle) -> None:
    """The backup is from a time at which another process had this node id."""
    [former] = rig.kernels
    backup = back_up(rig)
    rig.kernels.remove(former)
    await former.close()
    rig.clock.advance(LEASE_MS + 1)
    options = KernelOptions(holder="test-0")  # the same name, so the same node id
    node = Kernel(rig.backend, rig.clock, entropy(77), options)
    await node.open()
    rig.kernels.append(node)
    assert (SYSTEM_REALM, lease_row(node.ids.node or 0)) in backup.rows
    restore(rig, backup)

    await next_look(rig)

    assert node.ids.node is None
    with pytest.raises(StoreRestored):
        await node.backend.create_pointers("r", ["p"])


async def test_a_renewal_finds_it_too(rig: Rig, realm: RealmHandle) -> None:
    """A node that was stopped until its lease was over leases no other id in a restored store."""
    backup = back_up(rig)
    node = await rig.open()
    restore(rig, backup)
    rig.clock.advance(LEASE_MS + 1)

    with pytest.raises(StoreRestored):
        await node._leases.renew()

    rows = (await snapshot(rig.memory)).rows
    assert {key for key in rows if key[0] == SYSTEM_REALM} == {
        (SYSTEM_REALM, id, part)
        for (realm_id, id), parts in backup.rows.items()
        if realm_id == SYSTEM_REALM
        for part in parts
    }


async def test_a_node_id_that_another_node_took_over_is_no_restore(
    rig: Rig, realm: RealmHandle
) -> None:
    """A node that was stopped for long takes another id and goes on."""
    stalled = SteppedClock(rig.clock.wall_ms())
    node = await rig.open(clock=stalled)
    lost = node.ids.node
    assert lost is not None
    await turns(5)
    rig.clock.advance(2 * LEASE_MS)
    others = [await rig.open() for _ in range(3)]
    thief = others[0]._leases
    row = (await thief._store.read_versioned(SYSTEM_REALM, [lease_row(lost)]))[lease_row(lost)]
    assert await thief._try(lost, row)
    stalled.advance(2 * LEASE_MS)
    await turns(20)

    assert node.ids.node not in {None, lost}
    await node.realm(realm.id).commit(POINTER, putting(b"4"))


def test_heads_that_were_used_last_are_remembered() -> None:
    """A process that commits to very many pointers forgets the others, and never the newest."""
    history = History()
    for number in range(KNOWN_HEADS_MAX + 5):
        history.note(PointerKey("r", str(number)), KnownHead(1, number + 1))
        history.note(KEY, KnownHead(number + 1, number + 1))
    history.note(KEY, KnownHead(1, 1))

    assert history.newest(KEY) == KnownHead(KNOWN_HEADS_MAX + 5, KNOWN_HEADS_MAX + 5)
    assert history.newest(PointerKey("r", "0")) is None
    assert len(history._heads) == KNOWN_HEADS_MAX


def test_the_first_sign_is_the_one_that_is_told() -> None:
    """Later ones may be consequences of it."""
    history = History()
    first = history.declare_restored("one")
    second = history.declare_restored("two")

    assert first.why == second.why
