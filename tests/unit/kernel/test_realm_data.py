"""Realms on a database that fails half-way, and what a purge leaves: nothing."""

import asyncio
from contextlib import suppress

import pytest

from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.system import REALM_POINTERS
from headgate.limits import PURGE_ROWS_PER_CALL
from headgate.testing.faults import Crashed
from headgate.testing.kernels import (
    POINTER,
    Rig,
    Thing,
    entries,
    putting_all,
    realm_in,
    snapshot,
    turns,
)

S = RealmState
CRASH_POINTS = [
    *((f"{when}_commit", skip) for when in ("before", "after") for skip in range(3)),
    ("before_create_pointers", 0),
    ("after_create_pointers", 0),
]


async def fill(kernel: Kernel, id: str, things: int = 3) -> None:
    """Give a realm some data: commits, pages, objects of several rows."""
    realm = kernel.realm(id)
    await realm.commit(POINTER, putting_all({b"%04d" % n: b"v" * 60 for n in range(500)}))
    blob = bytes(range(256)) * 10
    await realm.write({n + 1: Thing(text=str(n), blob=blob) for n in range(things)})


def bury(rig: Rig, kernel: Kernel) -> None:
    """A process that died closes nothing; only its errors are looked at."""
    rig.kernels.remove(kernel)
    for lane in kernel.committer._lanes.values():
        if lane.leader is not None and lane.leader.done():
            lane.leader.exception()


@pytest.mark.parametrize(("point", "skip"), CRASH_POINTS)
async def test_a_crash_while_creating_is_completed_by_activating(
    rig: Rig, kernel: Kernel, point: str, skip: int
) -> None:
    """Wherever it crashed: nothing is there, or another node brings it to its end."""
    rig.faults.crash_at(point, skip=skip)
    creating = asyncio.create_task(kernel.realms.create("acme"))
    await turns(60)
    creating.cancel()
    with suppress(asyncio.CancelledError, Crashed):
        await creating
    bury(rig, kernel)
    node = await rig.open()
    if not await node.realms.list():
        await node.realms.create("acme")
    realm = await node.realms.activate("acme")

    assert rig.faults.injected[point] == 1
    assert realm.state is S.ACTIVE
    assert len(await node.realm(realm.id).heads(*REALM_POINTERS)) == len(REALM_POINTERS)


async def test_a_purge_deletes_its_realm_and_no_other(rig: Rig, kernel: Kernel) -> None:
    """All rows and pointers of the one, none of the others, nor of the system."""
    ids = [(await kernel.realms.create(name)).id for name in ("acme", "acme2", "other")]
    for id in ids:
        await fill(kernel, id)
    await kernel.realms.deactivate("acme")
    before = await snapshot(rig.memory)
    purged = await kernel.realms.purge("acme")
    after = await snapshot(rig.memory)

    assert purged.state is S.PURGED
    assert not [key for key in after.pointers if key.realm == ids[0]]
    assert not [key for key in after.rows if key[0] == ids[0]]
    kept = {key: row for key, row in before.rows.items() if key[0] != ids[0]}
    assert kept.items() <= after.rows.items()
    assert len(await entries(kernel.realm(ids[1]))) == 500


async def test_a_purge_tells_how_far_it_is(kernel: Kernel) -> None:
    """A large realm is deleted in steps, each of which is reported."""
    realm = await kernel.realms.create("acme")
    await fill(kernel, realm.id, PURGE_ROWS_PER_CALL + 500)
    await kernel.realms.deactivate("acme")
    told: list[int] = []
    await kernel.realms.purge("acme", told.append)

    assert told == sorted(told)
    assert told[-1] > PURGE_ROWS_PER_CALL
    assert len(told) == 2


@pytest.mark.parametrize("point", ["before_delete_realm", "after_delete_realm"])
async def test_a_crashed_purge_is_repeated(rig: Rig, kernel: Kernel, point: str) -> None:
    """The realm stays PURGING until somebody finishes; then again changes nothing."""
    realm = await kernel.realms.create("acme")
    await fill(kernel, realm.id)
    await kernel.realms.deactivate("acme")
    rig.faults.crash_at(point)
    with pytest.raises(Crashed):
        await kernel.realms.purge("acme")
    between = await kernel.realms.get("acme")
    await kernel.realms.purge("acme")
    before = await snapshot(rig.memory)
    again = await kernel.realms.purge("acme")

    assert between.state is S.PURGING
    assert again.state is S.PURGED
    assert not [key for key in before.rows if key[0] == realm.id]
    assert await snapshot(rig.memory) == before


async def test_deleting_removes_what_was_written_during_the_purge(rig: Rig, kernel: Kernel) -> None:
    """A slow writer cannot leave rows of a realm that is gone."""
    realm = await realm_in(kernel, S.PURGED)
    await kernel.store.write(realm.id, {1: Thing()})
    await rig.memory.create_pointers(realm.id, ["late"])
    await kernel.realms.delete("acme")
    after = await snapshot(rig.memory)

    assert not [key for key in (*after.rows, *after.pointers) if key[0] == realm.id]
