"""Which realms are swept, which are purged, and which are left alone."""

import pytest

from headgate.errors import InvalidInput, RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.realms import BY_ID, REALMS_KEY, RealmState
from headgate.kernel.system import SYSTEM_REALM
from headgate.maintenance.extent import Wanted
from headgate.maintenance.lease import read_lease
from headgate.testing.kernels import Thing, realm_in, snapshot
from tests.unit.maintenance.stores import (
    Sweeper,
)


@pytest.mark.parametrize("state", [RealmState.CREATED, RealmState.INITIALIZING, RealmState.LOADING])
async def test_realms_that_are_being_made_are_left_alone(store: Sweeper, state: RealmState) -> None:
    """An import stores much that nothing refers to yet."""
    realm = await realm_in(store.kernel, state, "new")
    id = store.kernel.ids.next()
    await store.kernel.store.write(realm.id, {id: Thing()})
    await store.sweep()

    assert (realm.id, id, 0) in (await snapshot(store.rig.memory)).rows


@pytest.mark.parametrize("state", [RealmState.ACTIVE, RealmState.INACTIVE])
async def test_realms_that_are_there_are_swept(store: Sweeper, state: RealmState) -> None:
    """Also one that is switched off."""
    waste = await store.waste()
    if state is RealmState.INACTIVE:
        await store.kernel.realms.deactivate("acme")
    await store.sweep()

    assert waste not in await store.ids()


async def test_realms_are_purged_to_the_end(store: Sweeper) -> None:
    """A purge that was broken off goes on."""
    await store.put(b"a")
    await store.kernel.realms.deactivate("acme")
    await store.kernel.realms.move(store.realm.id, RealmState.PURGING)
    run = await store.sweep()

    assert (await store.kernel.realms.get("acme")).state is RealmState.PURGED
    assert run.counts.realms_purged == 1
    left = await snapshot(store.rig.memory)
    assert store.realm.id not in {row.realm for row in left.rows.values()}
    assert store.realm.id not in {key.realm for key in left.pointers}


async def test_what_is_left_of_deleted_realms_is_deleted(store: Sweeper) -> None:
    """Somebody may have written to it until the end; a realm that is being made is spared."""
    gone = str(store.kernel.ids.next())
    await store.kernel.store.write(gone, {store.kernel.ids.next(): Thing() for _ in range(3)})
    await store.rig.memory.create_pointers(gone, ["root"])
    named = {"acme", "-1", "0", "9" * 40}
    for realm in named:
        await store.kernel.store.write(realm, {store.kernel.ids.next(): Thing()})
    young = str(store.kernel.ids.next() + (1 << 40))
    await store.kernel.store.write(young, {store.kernel.ids.next(): Thing()})
    await store.sweep()

    left = await snapshot(store.rig.memory)
    realms = {row.realm for row in left.rows.values()} | {key.realm for key in left.pointers}
    assert realms == {SYSTEM_REALM, store.realm.id, young, *named}


async def test_a_realm_that_comes_back_meanwhile_is_spared(store: Sweeper) -> None:
    """The list is read once more before anything of it is deleted."""
    id = store.kernel.ids.next()
    await store.kernel.store.write(str(id), {store.kernel.ids.next(): Thing()})

    async def come_back() -> None:
        realm = await realm_in(store.kernel, RealmState.LOADING, "back")
        await _rename_id(store, realm.id, str(id))

    store.rig.faults.crash_at("after_scan_rows", come_back)
    await store.sweep()

    assert str(id) in {row.realm for row in (await snapshot(store.rig.memory)).rows.values()}


async def _rename_id(store: Sweeper, old: str, new: str) -> None:
    """Give a realm another id, as an import does."""

    def attempt(draft: Draft) -> None:
        value = draft.index(BY_ID).get(old.encode())
        assert value is not None
        draft.index(BY_ID).remove(old.encode())
        draft.index(BY_ID).put(new.encode(), value.replace(old.encode(), new.encode()))

    await store.kernel.committer.commit(REALMS_KEY, attempt)


async def test_only_what_was_named_is_swept(store: Sweeper) -> None:
    """By name or id; the others are as they were."""
    other = store.kernel.realm((await store.kernel.realms.create("other")).id)
    left, waste = store.kernel.ids.next(), await store.waste()
    await other.write({left: Thing()})
    run = await store.sweep(wanted=Wanted(sweep=frozenset({"acme"})))

    rows = (await snapshot(store.rig.memory)).rows
    assert (other.id, left, 0) in rows
    assert (store.realm.id, waste, 0) not in rows
    assert not run.is_whole


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (Wanted(sweep=frozenset({"nowhere"})), RealmNotFound),
        (Wanted(frozenset({"acme"}), frozenset({"acme"})), InvalidInput),
    ],
)
async def test_what_cannot_be_wanted_is_refused(
    store: Sweeper, wanted: Wanted, error: type[Exception]
) -> None:
    """Before anything is done; the lease is given back."""
    with pytest.raises(error):
        await store.sweep(wanted=wanted)

    assert await read_lease(store.kernel) is None


async def test_a_realm_that_is_purged_while_it_is_swept_is_no_failure(store: Sweeper) -> None:
    """Its heads are gone because they are to be."""
    await store.put(b"a")

    async def purge() -> None:
        await store.kernel.realms.deactivate("acme")
        await store.kernel.realms.purge("acme")

    store.rig.faults.crash_at("after_scan_pointers", purge, skip=1)
    run = await store.sweep()

    assert run.failures == ()
