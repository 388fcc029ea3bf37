"""What probably goes wrong upstream (Apache Polaris, NoSQL persistence), one test or two for each.

The numbers are those of our study of it: `#1` to `#9`.
"""

import asyncio
import random
from collections.abc import Callable

import pytest

from headgate.errors import AlreadyExists, Conflict, IllegalRealmMove, LogCut, OutcomeUnknown
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import ObjectType, Stored
from headgate.kernel.records import PointerKey
from headgate.limits import ROW_BYTES_MAX, SCAN_AHEAD_PAGES
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    Thing,
    entries,
    history,
    putting,
    putting_all,
    reachable_pages,
    snapshot,
)

DAY_MS = 24 * 60 * 60 * 1000
INDEXES = ("names", "ids", "locations")


def changing(seed: int) -> Callable[[Draft], None]:
    """An attempt that changes some entries of all indexes, the same in each run."""

    def attempt(draft: Draft) -> None:
        chance = random.Random(seed)
        for index in INDEXES:
            for _ in range(20):
                key = b"%05d" % chance.randrange(800)
                if chance.random() < 0.6:
                    draft.index(index).put(key, chance.randbytes(50))
                else:
                    draft.index(index).remove(key)

    return attempt


def moving(number: int, *, fails: bool) -> Callable[[Draft], None]:
    """An attempt that gives a client a new owner, in both directions, or fails half-way."""

    def attempt(draft: Draft) -> None:
        old = draft.index("clients").get(b"%d" % number)
        new = b"%d" % draft.new_id()
        draft.index("clients").put(b"%d" % number, new)
        if fails:
            raise Conflict("half-way", why="a test", fix="none")
        if old is not None:
            draft.index("owners").remove(old)
        draft.index("owners").put(new, b"%d" % number)

    return attempt


async def test_1_live_pages_are_never_called_replaced(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """#1: a page of any index that spilled is in use or was replaced, one of both, always."""
    replaced: set[int] = set()
    for seed in range(60):
        await realm.commit(POINTER, changing(seed))
        [head] = await realm.heads(POINTER)
        commit = await anext(kernel.log.newest_first(PointerKey(realm.id, POINTER)))
        assert replaced.isdisjoint(commit.replaced)  # each page is given up once
        replaced |= set(commit.replaced)
        used = await reachable_pages(kernel, realm.id, head.id)
        assert len(used) == len(set(used))
        assert replaced.isdisjoint(used)

    assert all(head.root(index).level for index in INDEXES)
    assert (await snapshot(rig.memory)).ids(realm.id, "page") == replaced | set(used)


@pytest.mark.parametrize("kept", [1, 5, 20, 21, 44])
async def test_2_the_log_from_an_old_offset_ends_after_a_cut(
    rig: Rig, realm: RealmHandle, kept: int
) -> None:
    """#2: the offset is not in the visible part: that is an error, not an endless loop."""
    for number in range(45):
        await realm.commit(POINTER, putting(b"%d" % number))
    ids = [commit.id for commit in await history(rig.kernels[0], realm)]
    await rig.memory.delete(realm.id, ids[:-kept])
    log = (await rig.open()).log
    key = PointerKey(realm.id, POINTER)
    async with asyncio.timeout(5):
        visible = [commit.id async for commit in log.oldest_first(key)]
        if kept < 44:
            with pytest.raises(LogCut, match=str(ids[-kept])):
                _ = [commit async for commit in log.oldest_first(key, ids[0])]

    assert visible == ids[-kept:]


@pytest.mark.parametrize("fault", [Fault.LOST_AFTER, Fault.LOST_BEFORE, Fault.LATE])
async def test_3_an_ambiguous_swap_deletes_nothing_and_is_no_conflict(
    rig: Rig, realm: RealmHandle, fault: Fault
) -> None:
    """#3: the caller that created something is told so, not that it exists already."""

    def creating(draft: Draft) -> int:
        if draft.index(INDEX).get(b"table") is not None:
            raise AlreadyExists("table", why="a test", fix="none")
        id = draft.stage(Thing(text="table"))
        draft.index(INDEX).put(b"table", b"%d" % id)
        return id

    rig.backend.reset()
    rig.faults.schedule("commit", fault)
    id = await realm.commit(POINTER, creating)
    await rig.faults.settle()
    fresh = (await rig.open()).realm(realm.id)

    assert await entries(fresh) == {b"table": b"%d" % id}
    assert (await fresh.get(id, Thing)).text == "table"
    assert not {"delete", "remove", "delete_pointers", "delete_realm"} & set(rig.backend.calls)


async def test_3_a_timeout_after_an_applied_swap_leaves_the_commit_whole(
    rig: Rig, realm: RealmHandle
) -> None:
    """#3: every answer is lost until the caller gives up; what was committed stays readable."""
    many = {b"%05d" % number: b"v" * 60 for number in range(1000)}
    for _ in range(100):
        rig.faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown) as unknown:
        await realm.commit(POINTER, putting_all(many))
    fresh = (await rig.open()).realm(realm.id)

    assert not isinstance(unknown.value, Conflict)
    assert await entries(fresh) == many


async def test_4_two_indexes_of_a_head_cannot_drift(rig: Rig, realm: RealmHandle) -> None:
    """#4: what is kept under two keys changes in one commit, whatever fails in between."""
    chance = random.Random(4)
    other = (await rig.open()).realm(realm.id)
    for _ in range(20):
        rig.faults.schedule("commit", chance.choice(list(Fault)))
        attempts = [moving(chance.randrange(9), fails=chance.random() < 0.3) for _ in range(6)]
        await asyncio.gather(
            *(chance.choice((realm, other)).commit(POINTER, attempt) for attempt in attempts),
            return_exceptions=True,
        )
        clients = await entries(realm, index="clients")
        owners = await entries(realm, index="owners")
        assert {owner: client for client, owner in clients.items()} == owners

    assert len(owners) > 5


async def test_5_deleting_an_object_deletes_all_its_parts(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """#5: rows of one object are one object, also when several are deleted together."""
    blob = random.Random(5).randbytes(3 * ROW_BYTES_MAX)
    await realm.write({id: Thing(blob=blob) for id in (1, 2, 3)})
    before = [key for key in (await snapshot(rig.memory)).rows if key[0] == realm.id]
    await kernel.store.delete(realm.id, [1, 3])
    after = [key for key in (await snapshot(rig.memory)).rows if key[0] == realm.id]

    assert len(before) == 12
    assert {id for _, id, _ in after} == {2}
    assert len(after) == 4


async def test_6_a_purge_deletes_only_a_realm_that_is_purging(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """#6: asking for the purge of a realm in use is refused before anything is deleted."""
    await realm.commit(POINTER, putting(b"a"))
    before = await snapshot(rig.memory)
    rig.backend.reset()
    with pytest.raises(IllegalRealmMove):
        await kernel.realms.purge("acme")

    assert rig.backend.calls["delete_realm"] == 0
    assert await snapshot(rig.memory) == before


async def test_6_a_realm_switched_on_again_meanwhile_is_not_purged(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """#6: the state counts when the purge begins, not when somebody looked at it."""
    other = await rig.open()
    await kernel.realms.deactivate("acme")
    rig.faults.crash_at("before_commit", lambda: other.realms.activate("acme"))
    rig.backend.reset()
    with pytest.raises(IllegalRealmMove):
        await kernel.realms.purge("acme")

    assert rig.backend.calls["delete_realm"] == 0
    assert await entries(realm) == {}


async def test_7_a_head_superseded_a_second_ago_stays_readable(
    rig: Rig, realm: RealmHandle
) -> None:
    """#7: however old it is; somebody may still read it, page by page."""
    many = {b"%05d" % number: b"v" * 60 for number in range(1000)}
    await realm.commit(POINTER, putting_all(many))
    await rig.pass_time(DAY_MS)
    reader = (await rig.open(cache_bytes=0)).realm(realm.id)
    [head] = await reader.heads(POINTER)
    scan = head.index(INDEX).scan()
    first = await anext(scan)
    await realm.commit(POINTER, putting_all(dict.fromkeys(many, b"new")))
    await rig.pass_time(1000)
    rest = [entry async for entry in scan]

    assert dict([first, *rest]) == many


async def test_8_a_change_loads_only_the_pages_on_its_path(rig: Rig, realm: RealmHandle) -> None:
    """#8: neither neighbours nor other indexes are loaded, also when roots spill."""
    many = {b"%05d" % number: b"v" * 60 for number in range(5000)}
    for index in INDEXES:
        await realm.commit(POINTER, putting_all(many, index))
    cold = (await rig.open()).realm(realm.id)
    await cold.heads()
    rig.backend.reset()
    await cold.commit(POINTER, putting(b"02500", b"new", INDEXES[0]))
    [head] = await cold.heads(POINTER)

    assert rig.backend.rows["fetch"] == 1 + head.root(INDEXES[0]).level


async def test_8_pages_of_a_range_are_loaded_together(rig: Rig, realm: RealmHandle) -> None:
    """#8: an attempt that looks at many pages waits for few fetches."""
    many = {b"%05d" % number: b"v" * 60 for number in range(5000)}
    await realm.commit(POINTER, putting_all(many))
    cold = (await rig.open()).realm(realm.id)
    await cold.heads()
    rig.backend.reset()
    found = await cold.commit(POINTER, lambda draft: len(list(draft.index(INDEX).scan())))
    pages = rig.backend.rows["fetch"]

    assert found == 5000
    assert pages > 80
    assert rig.backend.calls["fetch"] <= 3 + pages // SCAN_AHEAD_PAGES + 5


class Short(Stored, frozen=True):
    """A type with a name of one character."""

    n: int


async def test_9_a_type_name_of_one_character_works(rig: Rig, realm: RealmHandle) -> None:
    """#9: it is written, read on another node, and listed by scans like any other."""
    types = [ObjectType("s", Short)]
    writer = (await rig.open(types=types)).realm(realm.id)
    reader = (await rig.open(types=types)).realm(realm.id)
    await writer.write({17: Short(4711)})

    assert await reader.get(17, Short) == Short(4711)
    assert (await snapshot(rig.memory)).ids(realm.id, "s") == {17}
