"""What probably goes wrong upstream when a store is maintained (Apache Polaris, NoSQL persistence).

The numbers are those of our study of it: `#1`, `#4`, `#5`, `#6` and `#7` are about maintenance.
"""

import random

import pytest

from headgate.catalog.calls import Caller
from headgate.catalog.identity_groups import change_members, create_group
from headgate.catalog.identity_users import (
    create_user,
    drop_user,
    set_enabled,
    set_password,
)
from headgate.kernel.draft import Draft
from headgate.kernel.realms import RealmState
from headgate.limits import ROW_BYTES_MAX
from headgate.maintenance.extent import Wanted
from headgate.testing.kernels import Rig, Thing, reachable_pages, realm_in, snapshot
from tests.unit.catalog.keeping import Keeper, keeper, with_password
from tests.unit.maintenance.stores import HOUR_MS, MINUTE_MS, PLAIN, POINTER, THINGS, Sweeper

MANY = 2_000


async def test_defect_1_pages_of_every_index_live(store: Sweeper) -> None:
    """Spilled pages of all indexes are marked, also of those whose entries refer to nothing."""
    for start in range(0, MANY, 100):

        def attempt(draft: Draft, start: int = start) -> None:
            for number in range(start, start + 100):
                key = b"%05d" % number
                draft.index(PLAIN).put(key, b"x" * 40)
                draft.index(THINGS).put(key, draft.stage(Thing()).to_bytes(8, "big"))

        await store.realm.commit(POINTER, attempt)
    await store.rig.pass_time(48 * HOUR_MS)
    pages = set(await reachable_pages(store.kernel, store.realm.id, await store.head()))
    await store.sweep(grace_ms=HOUR_MS)

    assert len(pages) > 30
    assert await store.ids("page") == pages
    fresh = await store.rig.open(cache_bytes=0)
    [head] = await fresh.realm(store.realm.id).heads(POINTER)
    assert len([one async for one in head.index(PLAIN).scan()]) == MANY
    assert len(await store.things()) == MANY


async def test_defect_4_who_was_changed_is_still_found_by_every_index(
    store: Sweeper, rig: Rig
) -> None:
    """Names, ids and memberships lead to the state that there is now, and none to an older one."""
    node = Keeper(store.kernel)
    await create_group(node.kernel, "staff")
    for name in ("ann", "bob"):
        await create_user(node.kernel, node.passwords, name, "an old password")
        await change_members(node.kernel, "staff", add=[name])
    await set_password(node.kernel, node.passwords, "ann", "a new password")
    await set_enabled(node.kernel, "ann", enabled=False)
    await set_enabled(node.kernel, "ann", enabled=True)
    await drop_user(node.kernel, "bob")
    await rig.pass_time(48 * HOUR_MS)
    run = await store.sweep(grace_ms=HOUR_MS)

    fresh = await keeper(rig)
    assert run.counts.rows_deleted == 4
    assert await fresh.confirmed(with_password("ann", "a new password")) == Caller(
        "ann", ("staff",)
    )
    assert not await fresh.knows(with_password("bob", "an old password"))
    await create_user(fresh.kernel, fresh.passwords, "bob", "an old password")
    bob = await fresh.confirmed(with_password("bob", "an old password"))
    assert (bob._replace(since=0), bob.since > 0) == (Caller("bob"), True)


async def test_defect_5_all_parts_of_a_large_object_go_at_once(store: Sweeper) -> None:
    """And all parts of one that lives stay."""
    noise = random.Random(5).randbytes(5 * ROW_BYTES_MAX)
    await store.put(b"kept", Thing("kept", noise))
    await store.put(b"lost", Thing("lost", noise[::-1]))
    await store.remove(b"lost")
    run = await store.sweep()

    parts = [row for row in (await snapshot(store.rig.memory)).rows.values() if row.type == "thing"]
    assert run.counts.rows_deleted == len(parts) == parts[0].parts > 5
    assert (await store.things())[b"kept"] == "kept"


@pytest.mark.parametrize(
    "state", [state for state in RealmState if state not in {RealmState.PURGING, RealmState.PURGED}]
)
async def test_defect_6_only_realms_that_are_purging_are_purged(
    store: Sweeper, state: RealmState
) -> None:
    """Whatever the operator names."""
    realm = await realm_in(store.kernel, state, "wanted")
    id = store.kernel.ids.next()
    await store.kernel.store.write(realm.id, {id: Thing()})
    run = await store.sweep(wanted=Wanted(purge=frozenset({"wanted"})))

    assert run.failures == (f"realm 'wanted' is not purged: it is {state.value}",)
    assert run.counts.realms_purged == 0
    assert (realm.id, id, 0) in (await snapshot(store.rig.memory)).rows


async def test_defect_7_the_grace_is_measured_from_the_loss_of_the_last_reference(
    store: Sweeper,
) -> None:
    """An object of last week that was replaced a minute ago is kept, with the pages to it: others
    may be reading it."""
    for number in range(300):
        await store.put(b"%04d" % number)
    old = await store.head()
    pages = set(await reachable_pages(store.kernel, store.realm.id, old))
    things = await store.ids()
    await store.rig.pass_time(7 * 24 * HOUR_MS)
    await store.sweep(grace_ms=HOUR_MS)
    for number in range(300):
        await store.remove(b"%04d" % number)
    await store.rig.pass_time(59 * MINUTE_MS)
    early = await store.sweep(grace_ms=HOUR_MS)

    assert early.counts.rows_deleted == 0
    assert await store.ids() == things
    assert pages <= await store.ids("page")
    await store.rig.pass_time(2 * MINUTE_MS)
    late = await store.sweep(grace_ms=HOUR_MS)
    assert late.counts.rows_deleted >= len(things) + len(pages)
    assert await store.ids() == set()
    assert not pages & await store.ids("page")


async def test_defect_7_what_a_commit_brought_that_was_being_made_when_the_grace_began(
    store: Sweeper,
) -> None:
    """It is a little older than the grace, and its commit is not: it is kept as long as others."""
    await store.put(b"first")

    def attempt(draft: Draft) -> int:
        id = draft.stage(Thing("slow"))
        store.rig.clock.advance(2_000)  # as if pages had to be fetched
        draft.index(THINGS).put(b"slow", id.to_bytes(8, "big"))
        return id

    slow = await store.realm.commit(POINTER, attempt)
    store.rig.clock.advance(1)
    await store.put(b"next")
    await store.rig.pass_time(HOUR_MS - 2_000)
    await store.remove(b"slow")
    await store.sweep(grace_ms=HOUR_MS)

    assert slow in await store.ids()
    await store.rig.pass_time(HOUR_MS + 2_000)
    await store.sweep(grace_ms=HOUR_MS)
    assert slow not in await store.ids()
