"""What attempts may do on the event loop before other tasks run."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from headgate.kernel import draft as draft_module
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.swap import KEPT_PER_TURN
from headgate.kernel.work import Work
from headgate.limits import BATCH_ENTRIES_MAX
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
)

MANY = {b"large %05d" % number: b"v" * 20 for number in range(BATCH_ENTRIES_MAX)}


class WorkPerTurn:
    """Counts what attempts do on the event loop from one turn to the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        self._now = 0
        self._loop_thread = threading.get_ident()
        monkeypatch.setattr(draft_module, "Work", self._watched())

    def _watched(self) -> type[Work]:
        turn = self

        class Watched(Work):
            """Tells what is counted on the event loop."""

            _done = 0

            @property
            def done(self) -> int:
                return self._done

            @done.setter
            def done(self, done: int) -> None:
                if threading.get_ident() == turn._loop_thread:
                    turn._now += done - self._done
                    turn.most = max(turn.most, turn._now)
                self._done = done

        return Watched

    async def watch(self) -> None:
        """Begin to count anew at each turn of the event loop."""
        while True:
            self._now = 0
            await asyncio.sleep(0)


def looking(draft: Draft) -> None:
    """An attempt that walks over very much and changes one entry."""
    for _ in range(2 * BATCH_ENTRIES_MAX):
        draft.index(INDEX).get(b"absent")
    draft.index(INDEX).put(b"looked", b"")


def failing(draft: Draft) -> None:
    """An attempt that does as much as it may, and fails."""
    for _ in range(BATCH_ENTRIES_MAX - 10):
        draft.index(INDEX).get(b"absent")
    message = "as planned"
    raise ValueError(message)


def scanning(draft: Draft) -> None:
    """An attempt that walks over an index again and again."""
    for _ in range(30):
        assert len(list(draft.index(INDEX).scan())) >= len(MANY)


def staging(draft: Draft) -> None:
    """An attempt that stores very many objects."""
    for _ in range(BATCH_ENTRIES_MAX + 1):
        draft.discard(draft.stage(Thing(text="some")))


def medium(draft: Draft) -> None:
    """An attempt that does a good part of what a batch may."""
    for number in range(BATCH_ENTRIES_MAX // 10):
        draft.index(INDEX).put(b"medium %d" % number, b"")


@pytest.mark.parametrize("attempt", [looking, failing, scanning, staging, medium])
@pytest.mark.parametrize("is_cold", [False, True])
async def test_no_turn_of_the_event_loop_is_held_for_more_than_its_bound(
    rig: Rig,
    realm: RealmHandle,
    monkeypatch: pytest.MonkeyPatch,
    attempt: Callable[[Draft], None],
    is_cold: bool,
) -> None:
    """Large, failing and cold attempts, and rehearsals of them: other tasks run in between."""
    await realm.commit(POINTER, putting_all(MANY))
    node = await rig.open() if is_cold else rig.kernels[0]
    handle = node.realm(realm.id)
    work = WorkPerTurn(monkeypatch)
    watching = asyncio.create_task(work.watch())

    def changing(number: int) -> Callable[[Draft], None]:
        def both(draft: Draft) -> None:
            draft.index(INDEX).put(list(MANY)[40 * number], b"%d" % number)
            attempt(draft)

        return both

    answers = await asyncio.gather(
        *(handle.commit(POINTER, changing(number)) for number in range(6)), return_exceptions=True
    )
    watching.cancel()

    assert {type(answer) for answer in answers} <= {ValueError, type(None)}
    assert work.most > BATCH_ENTRIES_MAX / 2
    # up to a batch before an attempt begins, the attempt, and the page that is one too many
    assert work.most <= 2 * BATCH_ENTRIES_MAX + 100


async def test_rehearsals_end_when_they_have_done_enough(
    rig: Rig, realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are not rehearsed are run all the same, and fetch for themselves."""
    await realm.commit(POINTER, putting_all(MANY))
    handle = (await rig.open()).realm(realm.id)
    work = WorkPerTurn(monkeypatch)
    watching = asyncio.create_task(work.watch())

    def missing_late(key: bytes) -> Callable[[Draft], None]:
        def attempt(draft: Draft) -> None:
            for _ in range(BATCH_ENTRIES_MAX * 3 // 4):
                draft.index("other").get(b"absent")
            draft.index(INDEX).put(key, b"new")

        return attempt

    keys = list(MANY)[::1000]
    await asyncio.gather(*(handle.commit(POINTER, missing_late(key)) for key in keys))
    watching.cancel()

    assert work.most <= 2 * BATCH_ENTRIES_MAX
    changed = await entries(realm)
    assert [changed[key] for key in keys] == [b"new"] * len(keys)


async def test_a_batch_ends_when_it_has_changed_enough_entries(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """The attempt that goes over the limit is the last of its batch; the rest is in the next."""
    size = 100
    many = [
        putting_all({b"%03d/%03d" % (number, each): b"" for each in range(size)})
        for number in range(50)
    ]
    await asyncio.gather(*(realm.commit(POINTER, attempt) for attempt in many))
    log = await history(kernel, realm)
    changed = [sum(len(group.entries) for group in commit.groups) for commit in log]

    assert sum(changed) == 50 * size
    assert len(changed) == 3
    assert max(changed) == (BATCH_ENTRIES_MAX // (2 * size) + 1) * size
    assert kernel.committer.statistics.large == 0


async def test_a_large_commit_is_kept_in_the_cache_by_and_by(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """All its objects are at hand afterwards."""
    ids = await realm.commit(
        POINTER, lambda draft: [draft.stage(Thing()) for _ in range(KEPT_PER_TURN + 1)]
    )

    assert all(kernel.cache.peek((realm.id, id)) == Thing() for id in ids)
    assert kernel.cache.peek((realm.id, 1)) is None


async def test_an_attempt_that_is_known_to_be_large_is_not_rehearsed_again(
    rig: Rig, realm: RealmHandle
) -> None:
    """Its batch lost a swap and misses something once more."""
    await realm.commit(POINTER, putting_all(MANY))
    runs, home = 0, threading.get_ident()

    def large(draft: Draft) -> None:
        nonlocal runs
        runs += threading.get_ident() == home
        putting_all(MANY, "other")(draft)

    cold = (await rig.open()).realm(realm.id)
    held = Held(rig)
    mate = asyncio.create_task(cold.commit(POINTER, putting(b"large 00001", b"mate")))
    under_way = asyncio.create_task(cold.commit(POINTER, large))
    await held.reached.wait()
    await realm.commit(POINTER, putting(b"large 00002", b"first"))
    held.let_go.set()
    await asyncio.gather(mate, under_way)

    assert runs == 1
    changed = await entries(realm)
    assert (changed[b"large 00001"], changed[b"large 00002"]) == (b"mate", b"first")
    assert await entries(realm, index="other") == MANY
