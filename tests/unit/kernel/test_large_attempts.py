"""Large attempts: undone on the event loop, then run alone in a thread while all else goes on."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from headgate.errors import Closed, NoNodeId, TooLarge
from headgate.kernel import attempts
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.limits import BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, LARGE_ATTEMPTS_AT_ONCE
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Held,
    Rig,
    Thing,
    entries,
    history,
    putting,
    putting_all,
    turns,
)

MANY = {b"large %05d" % number: b"v" * 20 for number in range(BATCH_ENTRIES_MAX)}
OTHERS = ("grants", "principals", "root")  # pointers that every realm has


class HeldInThread:
    """A large attempt that waits in its thread, behind its last entry, until it is let go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.let_go = threading.Event()
        self.runs = 0
        self._loop = asyncio.get_running_loop()

    def __call__(self, draft: Draft) -> int:
        self.runs += 1
        for key, value in MANY.items():
            draft.index(INDEX).put(key, value)
        id = draft.stage(Thing(text="large"))
        self._loop.call_soon_threadsafe(self.reached.set)
        assert self.let_go.wait(60)
        return id


@pytest.fixture
async def large() -> AsyncIterator[HeldInThread]:
    """A large attempt that is held; at the end of the test it is let go."""
    held = HeldInThread()
    yield held
    held.let_go.set()


async def keys_by_commit(kernel: Kernel, realm: RealmHandle) -> list[int]:
    """How many entries each commit of the pointer changed, oldest first."""
    log = await history(kernel, realm)
    return [sum(len(group.entries) for group in commit.groups) for commit in log]


async def test_mates_and_other_pointers_go_on_while_a_large_attempt_runs(
    kernel: Kernel, realm: RealmHandle, large: HeldInThread
) -> None:
    """All of them are acknowledged before it ends; then it is made too, alone."""
    before = asyncio.create_task(realm.commit(POINTER, putting(b"before")))
    under_way = asyncio.create_task(realm.commit(POINTER, large))
    behind = asyncio.create_task(realm.commit(POINTER, putting(b"behind")))
    await asyncio.gather(before, behind)
    await large.reached.wait()
    for pointer in OTHERS:
        await realm.commit(pointer, putting(b"meanwhile"))

    assert not under_way.done()
    large.let_go.set()
    id = await under_way
    assert (await realm.get(id, Thing)).text == "large"
    assert await entries(realm) == MANY | {b"before": b"", b"behind": b""}
    assert await keys_by_commit(kernel, realm) == [2, len(MANY)]
    assert kernel.committer.statistics.large == 1


async def test_a_large_attempt_is_first_in_the_next_batch(
    kernel: Kernel, realm: RealmHandle, large: HeldInThread
) -> None:
    """However many small ones keep coming, it is not put off again."""
    mate = asyncio.create_task(realm.commit(POINTER, putting(b"mate")))
    under_way = asyncio.create_task(realm.commit(POINTER, large))
    await mate
    late = [asyncio.create_task(realm.commit(POINTER, putting(b"%d" % n))) for n in range(5)]
    large.let_go.set()
    await asyncio.gather(under_way, *late)

    assert await keys_by_commit(kernel, realm) == [1, len(MANY), len(late)]


async def test_several_large_attempts_are_made_one_by_one(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Each has a batch of its own, in the order in which they came."""
    named = [
        {key.replace(b"large", name): value for key, value in MANY.items()}
        for name in (b"a", b"b", b"c")
    ]
    await asyncio.gather(
        *(realm.commit(POINTER, putting_all(some)) for some in named),
        realm.commit(POINTER, putting(b"mate")),
    )

    assert await keys_by_commit(kernel, realm) == [1, *[len(MANY)] * 3]
    log = await history(kernel, realm)
    assert [commit.groups[0].entries[0].key[:1] for commit in log[1:]] == [b"a", b"b", b"c"]


async def test_a_large_attempt_that_loses_its_swap_is_run_again(
    rig: Rig, realm: RealmHandle, large: HeldInThread
) -> None:
    """Another node may commit while it runs; neither change is lost."""
    other = (await rig.open()).realm(realm.id)
    under_way = asyncio.create_task(realm.commit(POINTER, large))
    await large.reached.wait()
    await other.commit(POINTER, putting(b"other"))
    large.let_go.set()
    await under_way

    assert await entries(realm) == MANY | {b"other": b""}
    assert large.runs == 3  # on the event loop, and in a thread on either head


async def test_a_large_attempt_fetches_what_it_misses(rig: Rig, realm: RealmHandle) -> None:
    """On a node that has nothing in its cache it is run again with what was fetched."""
    await realm.commit(POINTER, putting_all(MANY))
    cold = (await rig.open()).realm(realm.id)

    def attempt(draft: Draft) -> None:
        draft.index(INDEX).need(MANY)
        for key in MANY:
            draft.index(INDEX).put(key, b"new")

    await cold.commit(POINTER, attempt)

    assert await entries(realm) == dict.fromkeys(MANY, b"new")


async def test_a_thread_leaves_the_cache_and_the_clock_to_the_event_loop(
    rig: Rig, kernel: Kernel, realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks into the cache without a trace, and is given ids that were made elsewhere."""
    await realm.commit(POINTER, putting_all(dict(list(MANY.items())[:1000])))
    used: Counter[tuple[str, int]] = Counter()

    def watched(owner: object, name: str) -> None:
        method = getattr(owner, name)

        def watch(*arguments: object) -> object:
            used[name, threading.get_ident()] += 1
            return method(*arguments)

        monkeypatch.setattr(owner, name, watch)

    for name in ("find", "peek", "put", "drop"):
        watched(kernel.cache, name)
    watched(kernel.ids, "next")
    watched(rig.clock, "wall_ms")

    def attempt(draft: Draft) -> None:
        putting_all(MANY)(draft)
        draft.stage(Thing())

    await realm.commit(POINTER, attempt)
    elsewhere = {name for name, thread in used if thread != threading.get_ident()}

    assert elsewhere == {"peek"}
    assert used["next", threading.get_ident()] > 0
    assert await entries(realm) == MANY


async def test_what_is_too_large_for_a_thread_is_refused(
    realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is told the bound, nothing is changed, and others go on."""
    monkeypatch.setattr(attempts, "ATTEMPT_ENTRIES_MAX", 2 * len(MANY) - 1)
    with pytest.raises(TooLarge, match=r"more than 8,191 entries"):
        await realm.commit(POINTER, putting_all(MANY))
    await realm.commit(POINTER, putting(b"other"))

    assert await entries(realm) == {b"other": b""}


async def test_an_attempt_cannot_hide_that_it_is_large(realm: RealmHandle) -> None:
    """One that catches everything is undone and run in a thread all the same."""
    threads: list[int] = []

    def attempt(draft: Draft) -> None:
        threads.append(threading.get_ident())
        with suppress(BaseException):
            putting_all(MANY)(draft)

    await realm.commit(POINTER, attempt)

    assert await entries(realm) == MANY
    assert len(set(threads)) == 2


async def test_a_large_attempt_that_fails_tells_its_caller_only(realm: RealmHandle) -> None:
    """Its error comes out of the thread as it is, and it leaves no trace."""

    def attempt(draft: Draft) -> None:
        putting_all(MANY)(draft)
        raise StopIteration

    failed, made = await asyncio.gather(
        realm.commit(POINTER, attempt),
        realm.commit(POINTER, putting(b"mate")),
        return_exceptions=True,
    )

    assert isinstance(failed, RuntimeError)
    assert isinstance(failed.__cause__, StopIteration)
    assert made is None
    assert await entries(realm) == {b"mate": b""}


async def test_a_large_operation_is_done_once(realm: RealmHandle) -> None:
    """Bringing it again returns the first result and runs nothing."""
    runs = 0

    def attempt(draft: Draft) -> bytes:
        nonlocal runs
        putting_all(MANY)(draft)
        runs += 1
        return b"%d" % runs

    both = [await realm.commit(POINTER, attempt, operation=b"o") for _ in range(2)]

    assert (both, runs) == ([b"1", b"1"], 1)


async def test_a_large_attempt_nobody_waits_for_is_not_run(
    rig: Rig, realm: RealmHandle, large: HeldInThread
) -> None:
    """A caller that is cancelled while its attempt is set aside leaves no trace."""
    under_way = asyncio.create_task(realm.commit(POINTER, large))
    held = Held(rig)
    mate = asyncio.create_task(realm.commit(POINTER, putting(b"mate")))
    await held.reached.wait()
    under_way.cancel()
    held.let_go.set()
    await mate
    await realm.commit(POINTER, putting(b"next"))

    assert large.runs == 1
    assert await entries(realm) == {b"mate": b"", b"next": b""}


async def test_closing_refuses_large_attempts_that_wait_and_all_behind_them(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """What was taken is finished; none of the others is made."""
    held = Held(rig)
    taken = asyncio.create_task(realm.commit(POINTER, putting(b"taken")))
    await held.reached.wait()
    waiting = [
        asyncio.create_task(realm.commit(POINTER, attempt))
        for attempt in (putting(b"a"), putting_all(MANY), putting(b"b"))
    ]
    await turns(2)
    lane = next(lane for (key, _), lane in kernel.committer._lanes.items() if key.name == POINTER)
    lane._waiting[1].is_large = True
    closing = asyncio.create_task(kernel.committer.close())
    await turns(2)
    held.let_go.set()
    refused = await asyncio.gather(*waiting, return_exceptions=True)
    await closing

    await taken
    assert [type(error) for error in refused] == [Closed] * 3


async def test_a_task_that_ends_ends_its_thread(
    kernel: Kernel, realm: RealmHandle, large: HeldInThread
) -> None:
    """A program that stops does not wait for an attempt that goes on and on."""
    ended = threading.Event()

    def attempt(draft: Draft) -> None:
        try:
            large(draft)
            putting_all(MANY)(draft)
        finally:
            if large.reached.is_set():
                ended.set()

    under_way = asyncio.create_task(realm.commit(POINTER, attempt))
    await large.reached.wait()
    leader = next(lane.leader for lane in kernel.committer._lanes.values() if lane.leader)
    leader.cancel()
    await asyncio.wait([under_way])
    large.let_go.set()
    await asyncio.to_thread(ended.wait, 60)

    assert under_way.cancelled()
    assert ended.is_set()
    assert large.runs == 2
    assert await entries(realm) == {}


async def test_few_large_attempts_run_at_once(realm: RealmHandle) -> None:
    """Threads are few, so that of all pointers the next ones wait for theirs."""
    held = [HeldInThread() for _ in OTHERS]
    assert len(held) == LARGE_ATTEMPTS_AT_ONCE + 1
    under_way = [
        asyncio.create_task(realm.commit(pointer, attempt))
        for pointer, attempt in zip(OTHERS, held, strict=True)
    ]
    try:
        for one in held[:LARGE_ATTEMPTS_AT_ONCE]:
            await one.reached.wait()
        await turns(20)
        assert [one.runs for one in held] == [2, 2, 1]
    finally:
        for one in held:
            one.let_go.set()
    await asyncio.gather(*under_way)
    assert held[-1].runs == 2


async def test_a_batch_that_loses_its_swap_leaves_large_attempts_aside(
    rig: Rig, realm: RealmHandle, large: HeldInThread
) -> None:
    """Its other attempts are run again, and the large one only when it is alone."""
    other = (await rig.open()).realm(realm.id)
    held = Held(rig)
    mate = asyncio.create_task(realm.commit(POINTER, putting(b"mate")))
    under_way = asyncio.create_task(realm.commit(POINTER, large))
    await held.reached.wait()
    await other.commit(POINTER, putting(b"other"))
    held.let_go.set()
    await mate

    assert rig.kernels[0].committer.statistics.lost == 1
    assert large.runs == 1
    large.let_go.set()
    await under_way
    assert await entries(realm) == MANY | {b"mate": b"", b"other": b""}


async def test_a_batch_ends_before_an_attempt_that_is_known_to_be_large(
    rig: Rig, realm: RealmHandle
) -> None:
    """A rehearsal shows that it is; small ones before it do not wait for it."""
    await realm.commit(POINTER, putting_all(MANY))
    cold = await rig.open()
    handle = cold.realm(realm.id)
    blob = random.Random(1).randbytes(BATCH_BYTES_MAX + 1)

    def filling(draft: Draft) -> None:
        draft.index(INDEX).put(b"large 00001", b"%d" % draft.stage(Thing(blob=blob)))

    await asyncio.gather(
        handle.commit(POINTER, filling),
        handle.commit(POINTER, putting(b"small")),
        handle.commit(POINTER, putting_all(MANY, "other")),
        handle.commit(POINTER, putting(b"behind")),
    )

    assert (await keys_by_commit(cold, handle))[1:] == [1, 1, len(MANY), 1]
    assert cold.committer.statistics.batches == 4


async def test_a_thread_without_a_node_id_lets_the_batch_try_again(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """That no id can be made is raised in the thread, and is no answer to the caller."""
    seen: list[type[BaseException]] = []
    lease = kernel.ids._lease

    def attempt(draft: Draft) -> None:
        putting_all(MANY)(draft)
        if not seen:
            kernel.ids.use(None)
        try:
            draft.stage(Thing())
        except NoNodeId as error:
            seen.append(type(error))
            kernel.ids.use(lease)
            raise

    await realm.commit(POINTER, attempt)

    assert seen == [NoNodeId]
    assert len(rig.clock.slept) == 1
    assert await entries(realm) == MANY
