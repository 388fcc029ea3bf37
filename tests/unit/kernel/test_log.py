"""The commit log: in order, both ways, from any known commit, also after a cut."""

import msgspec
import pytest

from headgate.errors import CorruptRow, LogCut, ObjectNotFound, PointerNotFound
from headgate.ids import node, time_ms
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import Change, Group, Head, encode_note
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Entry, commit_at
from headgate.kernel.records import PointerKey, Swap
from headgate.testing.kernels import INDEX, POINTER, Rig, history, putting, putting_all

LENGTHS = [0, 1, 3, 19, 20, 21, 39, 40, 41, 255]


@pytest.fixture
def key(realm: RealmHandle) -> PointerKey:
    """The pointer whose log is read."""
    return PointerKey(realm.id, POINTER)


async def make(realm: RealmHandle, commits: int, pointer: str = POINTER) -> list[int]:
    """Make this many commits; their ids, oldest first."""
    ids = []
    for _ in range(commits):
        await realm.commit(pointer, lambda draft: draft.index(INDEX).put(b"%d" % draft.seq, b""))
        [head] = await realm.heads(pointer)
        ids.append(head.id)
    return ids


async def backwards(kernel: Kernel, key: PointerKey, start: int | None = None) -> list[int]:
    return [commit.id async for commit in kernel.log.newest_first(key, start)]


async def forwards(kernel: Kernel, key: PointerKey, after: int | None = None) -> list[int]:
    return [commit.id async for commit in kernel.log.oldest_first(key, after)]


@pytest.mark.parametrize("commits", LENGTHS)
async def test_the_log_is_whole_in_both_directions(
    kernel: Kernel, realm: RealmHandle, key: PointerKey, commits: int
) -> None:
    """Every commit once, in order, whatever its number is to the length of a tail."""
    ids = await make(realm, commits)

    assert await forwards(kernel, key) == ids
    assert await backwards(kernel, key) == ids[::-1]


@pytest.mark.parametrize("commits", [41, 60])
@pytest.mark.parametrize("position", [1, 3, 21, 41])
async def test_the_log_is_read_from_any_commit(
    kernel: Kernel, realm: RealmHandle, key: PointerKey, commits: int, position: int
) -> None:
    """Forwards behind the commit, backwards from it on."""
    ids = await make(realm, commits)
    known = ids[position - 1]

    assert await forwards(kernel, key, known) == ids[position:]
    assert await backwards(kernel, key, known) == ids[position - 1 :: -1]


async def test_every_offset_works(kernel: Kernel, realm: RealmHandle, key: PointerKey) -> None:
    """No place in the log is special."""
    ids = await make(realm, 45)
    for at, known in enumerate(ids):
        assert await forwards(kernel, key, known) == ids[at + 1 :]
        assert await backwards(kernel, key, known) == ids[at::-1]


@pytest.mark.parametrize("commits", [0, 1, 25])
@pytest.mark.parametrize("unknown", [1, 1 << 62])
async def test_an_unknown_offset_is_refused(
    kernel: Kernel, realm: RealmHandle, key: PointerKey, commits: int, unknown: int
) -> None:
    """Never a silent skip."""
    await make(realm, commits)
    for read in (forwards, backwards):
        with pytest.raises(LogCut, match="Read the present state"):
            await read(kernel, key, unknown)


@pytest.mark.parametrize("own", [0, 1, 30])
async def test_a_commit_of_another_pointer_is_no_start(
    kernel: Kernel, realm: RealmHandle, key: PointerKey, own: int
) -> None:
    """Neither if this pointer has a log nor if it has none."""
    foreign = await make(realm, 5, "grants")
    await make(realm, own)
    for read in (forwards, backwards):
        with pytest.raises(LogCut):
            await read(kernel, key, foreign[2])


async def test_an_object_that_is_no_commit_is_no_start(
    kernel: Kernel, realm: RealmHandle, key: PointerKey
) -> None:
    """An id of something else is as good as unknown."""
    await realm.commit(POINTER, putting_all({b"%05d" % n: b"v" * 60 for n in range(500)}))
    [head] = await realm.heads(POINTER)
    page = head.root(INDEX).children[0]
    with pytest.raises(LogCut):
        await backwards(kernel, key, page)


@pytest.mark.parametrize("kept", [1, 2, 19, 20, 21, 40, 44])
async def test_after_a_cut_both_directions_end_there(
    rig: Rig, realm: RealmHandle, key: PointerKey, kept: int
) -> None:
    """The log is what is left, and reading it comes to an end."""
    ids = await make(realm, 45)
    await rig.memory.delete(realm.id, ids[:-kept])
    kernel = await rig.open()

    assert await forwards(kernel, key) == ids[-kept:]
    assert await backwards(kernel, key) == ids[-kept:][::-1]


@pytest.mark.parametrize("kept", [1, 20, 21, 40])
async def test_positions_around_a_cut(
    rig: Rig, realm: RealmHandle, key: PointerKey, kept: int
) -> None:
    """Behind the last deleted commit nothing is missing; before it, the gap is named."""
    ids = await make(realm, 45)
    await rig.memory.delete(realm.id, ids[:-kept])
    kernel = await rig.open()
    oldest, last_deleted, before = ids[-kept], ids[-kept - 1], ids[-kept - 2]

    assert await forwards(kernel, key, last_deleted) == ids[-kept:]
    assert await forwards(kernel, key, oldest) == ids[-kept:][1:]
    assert await backwards(kernel, key, oldest) == [oldest]
    with pytest.raises(LogCut, match=f"oldest kept commit is {oldest}"):
        await forwards(kernel, key, before)
    for deleted in (last_deleted, before):
        with pytest.raises(LogCut):
            await backwards(kernel, key, deleted)


@pytest.mark.parametrize("cut", [slice(10, 11), slice(20, 30), slice(1, 44), slice(30, 44)])
async def test_a_hole_is_a_cut(rig: Rig, realm: RealmHandle, key: PointerKey, cut: slice) -> None:
    """What lies behind a hole is not connected any more: it is neither shown nor a start."""
    ids = await make(realm, 45)
    await rig.memory.delete(realm.id, ids[cut])
    kernel = await rig.open()

    assert await forwards(kernel, key) == ids[cut.stop :]
    assert await backwards(kernel, key) == ids[cut.stop :][::-1]
    with pytest.raises(LogCut):
        await forwards(kernel, key, ids[0])


async def test_a_start_that_history_no_longer_reaches_is_refused(
    rig: Rig, realm: RealmHandle, key: PointerKey
) -> None:
    """The commit itself is still stored, but nothing leads to it."""
    ids = await make(realm, 45)
    await rig.memory.delete(realm.id, ids[1:44])
    kernel = await rig.open()
    with pytest.raises(LogCut):
        await backwards(kernel, key, ids[0])


async def test_a_log_that_was_cut_goes_on(rig: Rig, realm: RealmHandle, key: PointerKey) -> None:
    """Commits after a cut are found with those that were kept."""
    ids = await make(realm, 30)
    await rig.memory.delete(realm.id, ids[:25])
    kernel = await rig.open()
    more = await make(kernel.realm(realm.id), 3)

    assert await forwards(kernel, key) == ids[25:] + more


async def test_a_missing_pointer_has_no_log(kernel: Kernel, realm: RealmHandle) -> None:
    """That is another error than a cut."""
    key = PointerKey(realm.id, "cat/1/roles")
    for read in (forwards, backwards):
        with pytest.raises(PointerNotFound, match="has no log"):
            await read(kernel, key)


async def test_pointers_with_a_log_are_listed(kernel: Kernel, realm: RealmHandle) -> None:
    """Of one realm or of all, without those that were never committed to."""
    await make(realm, 1, "root")
    await make(realm, 1, "grants")
    own = [PointerKey(realm.id, "grants"), PointerKey(realm.id, "root")]

    assert await kernel.log.pointers(realm.id) == own
    assert await kernel.log.pointers() == [*own, PointerKey("::system::", "realms")]


async def test_a_commit_tells_what_it_changed(rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
    """Notes, operation ids and the net effect on entries; who and when is in its id."""

    def attempt(draft: Draft) -> bytes:
        index = draft.index(INDEX)
        index.put(b"added", b"")
        index.put(b"changed", b"2")
        index.remove(b"removed")
        index.put(b"came and went", b"")
        index.remove(b"came and went")
        draft.note({"by": "test", "list": [1, None, b"\0"]})
        return b""

    await realm.commit(POINTER, putting_all({b"changed": b"1", b"removed": b""}))
    rig.clock.advance(5000)
    await realm.commit(POINTER, attempt, operation=b"op")
    [_, commit] = await history(kernel, realm)
    [group] = commit.groups

    assert group.note == {"by": "test", "list": [1, None, b"\0"]}
    assert group.operation == b"op"
    assert group.entries == [
        Entry(INDEX, b"added", "added"),
        Entry(INDEX, b"changed", "updated"),
        Entry(INDEX, b"removed", "removed"),
    ]
    assert (commit.seq, commit.realm, commit.pointer) == (2, realm.id, POINTER)
    assert commit.time_ms == time_ms(commit.id) == rig.clock.wall_ms()
    assert commit.node == node(commit.id) == kernel.ids.node


async def test_replaced_pages_are_part_of_a_commit(kernel: Kernel, realm: RealmHandle) -> None:
    """A commit names the stored pages it made superfluous."""
    await realm.commit(POINTER, putting_all({b"%05d" % n: b"v" * 60 for n in range(500)}))
    [before] = await realm.heads(POINTER)
    await realm.commit(POINTER, putting(b"00000", b"changed"))
    first, second = await history(kernel, realm)

    assert first.replaced == []
    assert before.root(INDEX).children[0] in second.replaced


async def test_a_position_beyond_the_newest_has_no_commit(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """A number that was not given yet belongs to nobody."""
    ids = await make(realm, 3)

    assert await commit_at(kernel.store, realm.id, ids[-1], 4) is None
    assert await commit_at(kernel.store, realm.id, ids[-1], 3) == ids[2]
    assert await commit_at(kernel.store, realm.id, ids[-1], 1) == ids[0]


async def test_a_position_before_the_cut_cannot_be_told(rig: Rig, realm: RealmHandle) -> None:
    """Looking for it ends at the first commit that is gone."""
    ids = await make(realm, 45)
    await rig.memory.delete(realm.id, ids[:40])
    kernel = await rig.open()

    assert await commit_at(kernel.store, realm.id, ids[-1], 25) == ids[24]
    with pytest.raises(ObjectNotFound):
        await commit_at(kernel.store, realm.id, ids[-1], 3)


async def test_the_log_is_read_twenty_at_a_time(
    rig: Rig, realm: RealmHandle, key: PointerKey
) -> None:
    """A hundred commits are six fetches backwards, not a hundred."""
    ids = await make(realm, 100)
    kernel = await rig.open()
    rig.backend.reset()

    assert await backwards(kernel, key) == ids[::-1]
    assert rig.backend.calls["fetch"] == 6


async def test_the_log_is_read_without_a_cache(
    rig: Rig, realm: RealmHandle, key: PointerKey
) -> None:
    """Both directions, from the beginning and from the middle."""
    ids = await make(realm, 50)
    kernel = await rig.open(cache_bytes=0)

    assert await forwards(kernel, key) == ids
    assert await forwards(kernel, key, ids[7]) == ids[8:]
    assert await backwards(kernel, key, ids[30]) == ids[30::-1]


async def test_history_cut_while_it_is_read_is_told(
    rig: Rig, realm: RealmHandle, key: PointerKey
) -> None:
    """What was listed and is gone now is not skipped."""
    ids = await make(realm, 50)
    log = (await rig.open(cache_bytes=0)).log
    commits = log.oldest_first(key)
    first = await anext(commits)
    await rig.memory.delete(realm.id, ids[:30])
    with pytest.raises(LogCut):
        _ = [commit async for commit in commits]

    assert first.id == ids[0]


async def test_a_commit_that_is_cut_between_its_head_and_its_changes_is_told(
    kernel: Kernel, realm: RealmHandle, key: PointerKey
) -> None:
    """Its head is still at hand; what did not fit into it is gone."""
    await realm.commit(POINTER, putting_all({b"%06d" % number: b"" for number in range(3000)}))
    await make(realm, 1)
    [_, first] = await backwards(kernel, key)
    head = await kernel.store.get(realm.id, first, Head)
    await kernel.store.delete(realm.id, [head.spilled])
    for read in (forwards, backwards):
        with pytest.raises(LogCut, match=f"from {first}"):
            await read(kernel, key)


async def test_a_pointer_without_its_head_is_corrupt(
    rig: Rig, realm: RealmHandle, key: PointerKey
) -> None:
    """That is no empty log."""
    ids = await make(realm, 3)
    await rig.memory.delete(realm.id, ids[-1:])
    kernel = await rig.open()
    for read in (forwards, backwards):
        with pytest.raises(CorruptRow, match="Restore the database"):
            await read(kernel, key)


async def test_a_kind_of_change_from_the_future_is_shown(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """A newer program may know more kinds than this one."""
    await make(realm, 1)
    [head] = await realm.heads(POINTER)
    group = Group(encode_note(None), b"", [Change(INDEX, b"k", 99)])
    groups = msgspec.Raw(msgspec.msgpack.encode([group]))
    id = kernel.ids.next()
    newer = msgspec.structs.replace(head.head, seq=2, tail=(head.id,), groups=groups)
    await kernel.store.write(realm.id, {id: newer})
    await kernel.backend.commit([], Swap(PointerKey(realm.id, POINTER), head.id, id))
    commits = await history(kernel, realm)

    assert commits[-1].groups[0].entries == [Entry(INDEX, b"k", "changed")]
