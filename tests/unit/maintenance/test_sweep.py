"""What is swept out of a store, and what never is."""

import random

import pytest

from headgate.catalog.references import NOTHING, PointerReferences
from headgate.errors import Conflict
from headgate.ids import lease_row
from headgate.kernel.draft import Draft
from headgate.kernel.objects import ObjectType, Stored
from headgate.kernel.system import REALM_POINTERS, SYSTEM_REALM
from headgate.limits import CHANGES_INLINE_BYTES_MAX, SWEEP_DELETES_AT_ONCE
from headgate.maintenance.lease import LOOK_SECONDS, read_lease
from headgate.maintenance.running import Order, Running
from headgate.testing.faults import Crashed, Fault
from headgate.testing.kernels import Thing, snapshot
from tests.unit.maintenance.stores import (
    HOUR_MS,
    KNOWN,
    PLAIN,
    POINTER,
    ROWS,
    TYPES,
    Sweeper,
    marking,
    sweep,
)

MANY = 400  # entries of an index that takes pages of its own


async def test_what_nothing_refers_to_is_deleted_and_all_else_is_whole(store: Sweeper) -> None:
    """Objects, pages of indexes that were replaced, and commits that never were."""
    for number in range(MANY):
        await store.put(b"%04d" % number)
    waste = await store.waste()
    for number in range(0, MANY, 2):
        await store.remove(b"%04d" % number)
    run = await store.sweep()

    assert run.failures == ()
    assert waste not in await store.ids()
    assert len(await store.ids()) == MANY / 2
    assert await store.things() == {b"%04d" % one: f"{one:04}" for one in range(1, MANY, 2)}
    assert len(await store.ids("head")) == MANY + MANY / 2 + len(REALM_POINTERS)  # fences
    assert run.counts.rows_deleted == run.counts.scanned - run.counts.live - run.counts.young
    again = await store.sweep()
    assert again.counts.rows_deleted == 0
    assert again.counts.left == 0


async def test_a_dry_run_counts_the_same_and_deletes_nothing(store: Sweeper) -> None:
    """Row for row."""
    await store.put(b"a")
    await store.remove(b"a")
    for _ in range(SWEEP_DELETES_AT_ONCE + 1):
        await store.waste()
    dry = await store.sweep(is_dry=True)
    before = await store.ids()
    wet = await store.sweep()

    assert len(before) == SWEEP_DELETES_AT_ONCE + 2
    assert dry.counts.rows_deleted == wet.counts.rows_deleted == len(before)
    assert dry.is_dry
    assert await store.ids() == set()


async def test_marks_refer_to_objects_too(store: Sweeper) -> None:
    """A number that is an id keeps its object; one that is not keeps nothing."""
    kept, lost = await store.waste("kept"), await store.waste("lost")
    await store.realm.commit(POINTER, marking("thing", kept))
    await store.realm.commit(POINTER, marking("number", lost))
    await store.sweep()

    assert await store.ids() == {kept}


async def test_versioned_rows_are_removed_unless_they_are_named_or_written_meanwhile(
    store: Sweeper,
) -> None:
    """By compare-and-swap: a row that has moved on since it was scanned is not touched."""
    named, dead, busy = (store.kernel.ids.next() for _ in range(3))
    rows = store.kernel.store
    for id in (named, dead, busy):
        await rows.insert(store.realm.id, id, Thing("1"), version=1)
    await store.realm.commit(
        POINTER, lambda draft: draft.index(ROWS).put(named.to_bytes(8, "big"), b"")
    )

    async def write() -> None:
        await rows.update(store.realm.id, busy, Thing("2"), expected=1, version=2)

    store.rig.faults.crash_at("after_scan_rows", write)
    run = await store.sweep()

    assert await store.ids() == {named, busy}
    assert run.counts.rows_deleted == 1


async def test_an_unknown_outcome_of_a_removal_is_no_failure(store: Sweeper) -> None:
    """The next run looks again."""
    id = store.kernel.ids.next()
    await store.kernel.store.insert(store.realm.id, id, Thing(), version=1)
    store.rig.faults.schedule("remove", Fault.LOST_BEFORE)
    first = await store.sweep()
    second = await store.sweep()

    assert (first.counts.rows_deleted, first.failures) == (0, ())
    assert second.counts.rows_deleted == 1


async def test_changes_that_did_not_fit_into_a_commit_live_as_long_as_it_does(
    store: Sweeper,
) -> None:
    """And those of a commit that never was do not."""
    key = b"x" * 1_000

    def attempt(draft: Draft) -> None:
        for number in range(CHANGES_INLINE_BYTES_MAX // len(key) + 1):
            draft.index(PLAIN).put(b"%d" % number + key, b"%d" % draft.now_ms)

    for _ in range(3):
        await store.realm.commit(POINTER, attempt)
        store.rig.clock.advance(1)
    [*spilled] = await store.ids("changes")
    heads = await store.ids("head")
    assert len(spilled) == 3
    await store.sweep()

    assert await store.ids("changes") == set(spilled)
    await store.kernel.store.delete(store.realm.id, [sorted(heads)[-2]])
    orphan = max(spilled) + (1 << 22)  # a millisecond behind the last one
    [row] = await store.rig.backend.fetch(store.realm.id, [max(spilled)])
    await store.rig.backend.write([row._replace(id=orphan)])
    store.rig.clock.advance(5)
    await store.sweep()
    assert orphan not in await store.ids("changes")
    assert max(spilled) in await store.ids("changes")


async def test_types_of_a_newer_program_are_left_alone(store: Sweeper) -> None:
    """It may know of references that this one does not."""

    class Later(Stored, frozen=True):
        pass

    newer = await store.rig.open(types=[*TYPES, ObjectType("later", Later)])
    id = newer.ids.next()
    await newer.store.write(store.realm.id, {id: Later()})
    run = await store.sweep()

    assert await store.ids("later") == {id}
    assert run.counts.left == 1


@pytest.mark.parametrize("what", ["pointer", "index", "mark"])
async def test_what_nobody_declared_stops_the_sweep_of_its_realm(store: Sweeper, what: str) -> None:
    """With an error in the record; other realms are swept."""
    other = store.kernel.realm((await store.kernel.realms.create("other")).id)
    left, swept = await store.waste(), store.kernel.ids.next()
    await other.write({swept: Thing()})
    if what == "pointer":
        await store.realm.create_pointers(["cat/17/news"])
    elif what == "index":
        await store.realm.commit(POINTER, lambda draft: draft.index("news").put(b"a", b"b"))
    else:
        await store.realm.commit(POINTER, marking("news", 1))
    run = await store.sweep()

    [failure] = run.failures
    assert "news" in failure
    assert "this program does not know what it refers to" in failure
    assert await store.ids() == {left}
    assert (other.id, swept) not in {
        (row.realm, row.id) for row in (await snapshot(store.rig.memory)).rows.values()
    }


async def test_what_is_declared_is_swept(store: Sweeper) -> None:
    """Whoever adds an index adds a line to the table."""
    known = KNOWN.with_realm_pointers({"grants": PointerReferences({"news": NOTHING})})
    await store.realm.commit("grants", lambda draft: draft.index("news").put(b"a", b"b"))
    store.rig.clock.advance(1)
    running = Running(store.kernel, Order(by="t", holder="t", grace_ms=0), known)
    await running.begin()

    assert (await running.complete()).failures == ()


async def test_a_page_that_is_lost_stops_the_sweep_of_its_realm(store: Sweeper) -> None:
    """Nothing is deleted where it cannot be told what lives."""
    for number in range(MANY):
        await store.put(b"%04d" % number)
    await store.sweep()
    waste = await store.waste()
    page = max(await store.ids("page"))
    await store.rig.memory.delete(store.realm.id, [page])
    run = await store.sweep()

    assert f"page {page}" in run.failures[0]
    assert waste in await store.ids()


async def test_a_commit_that_is_lost_stops_the_sweep_of_its_realm(store: Sweeper) -> None:
    """The current one of a pointer must be there."""
    await store.put(b"a")
    waste = await store.waste()
    await store.rig.memory.delete(store.realm.id, [await store.head()])
    run = await store.sweep()

    assert "is not stored" in run.failures[0]
    assert waste in await store.ids()


async def test_what_an_older_grace_left_of_old_contents_is_enough(store: Sweeper) -> None:
    """A longer grace than before finds contents in which pages are missing already."""
    for number in range(MANY):
        await store.put(b"%04d" % number)
    await store.rig.pass_time(2 * HOUR_MS)
    for number in range(MANY):
        await store.remove(b"%04d" % number)
    await store.sweep()
    run = await store.sweep(grace_ms=HOUR_MS)

    assert run.failures == ()


async def test_leases_of_nodes_and_the_level_stay(store: Sweeper) -> None:
    """They have ids of their own, which are never old."""
    before = await store.rig.memory.fetch(SYSTEM_REALM, [lease_row(n) for n in range(1_024)])
    await store.rig.pass_time(48 * HOUR_MS)
    await store.sweep()
    after = await store.rig.memory.fetch(SYSTEM_REALM, [lease_row(n) for n in range(1_024)])

    assert {row.id for row in before} <= {row.id for row in after}


@pytest.mark.parametrize(
    ("verb", "skip"), [("delete", 1), ("scan_rows", 0), ("scan_pointers", 1), ("fetch", 5)]
)
async def test_a_run_that_was_killed_does_no_harm_and_the_next_does_the_rest(
    store: Sweeper, verb: str, skip: int
) -> None:
    """At any point; whoever comes next waits for the lease of the dead one."""
    chance = random.Random(verb)
    for number in range(MANY):
        await store.put(b"%04d" % chance.randrange(MANY))
        if number % 3 == 0:
            await store.waste()
    things = await store.things()
    store.rig.faults.crash_at(f"before_{verb}", skip=skip)
    store.rig.clock.advance(1)
    with pytest.raises(Crashed):
        await _killed(store)
    assert await store.things() == things

    store.rig.clock.short_seconds = LOOK_SECONDS + 0.1
    run = await store.sweep()
    assert run.failures == ()
    assert await store.things() == things
    assert len(await store.ids()) == len(things)


async def _killed(store: Sweeper) -> None:
    """Sweep in a process that dies: it never gives its lease back."""
    order = Order(by="dead", holder="dead:1", grace_ms=0)
    running = Running(store.kernel, order, KNOWN)
    await running.begin()
    assert running._sweep is not None
    await running._sweep.run()


async def test_a_sweep_reads_past_the_cache(store: Sweeper) -> None:
    """What others need stays there."""
    for number in range(MANY):
        await store.put(b"%04d" % number)
    before = store.kernel.cache.statistics()
    order = Order(by="t", holder="t", grace_ms=HOUR_MS)
    running = Running(store.kernel, order, KNOWN)
    await running.begin()
    await running.complete()
    after = store.kernel.cache.statistics()

    assert after.evictions == before.evictions
    assert after.entries - before.entries < 20


async def test_a_database_that_does_not_answer_ends_the_run(store: Sweeper) -> None:
    """The record says so; nothing else would work either."""
    store.rig.faults.schedule("scan_rows", Fault.UNAVAILABLE)
    run = await store.sweep()

    assert "while scanning" in run.failures[0]
    assert await read_lease(store.kernel) is None


async def test_two_runs_at_once_are_refused(store: Sweeper) -> None:
    """The second one hears who has it, as soon as the first one gives a sign of life."""
    running = Running(store.kernel, Order(by="t", holder="host:7", grace_ms=0), KNOWN)
    await running.begin()
    store.rig.clock.short_seconds = LOOK_SECONDS + 0.1

    async def beat() -> None:
        await running._lease._write(await read_lease(store.kernel))

    store.rig.faults.crash_at("before_fetch", beat, skip=1)
    with pytest.raises(Conflict, match="host:7 does it"):
        await sweep(store.kernel)
    await running.complete()
    assert (await store.sweep()).failures == ()
