"""Batches on a node that has nothing of the head in its cache."""

import asyncio

import pytest

from headgate.errors import ObjectNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.testing.faults import Fault
from headgate.testing.kernels import INDEX, POINTER, Rig, Thing, entries, putting, putting_all

ENTRIES = {b"%06d" % number: b"v" * 40 for number in range(20_000)}
KEYS = list(ENTRIES)[:: len(ENTRIES) // 50]


@pytest.fixture
async def cold(rig: Rig, realm: RealmHandle) -> Kernel:
    """A node that has just been started on a store with a large index."""
    await realm.commit(POINTER, putting_all(ENTRIES))
    return await rig.open()


async def test_what_a_batch_misses_is_fetched_together(
    rig: Rig, realm: RealmHandle, cold: Kernel
) -> None:
    """Fifty attempts on fifty pages cost one fetch per level of the index, not fifty."""
    handle = cold.realm(realm.id)
    rig.backend.reset()
    await asyncio.gather(*(handle.commit(POINTER, putting(key, b"new")) for key in KEYS))

    assert rig.backend.calls["commit"] == 1
    assert rig.backend.calls["fetch"] <= 5
    changed = await entries(handle)
    assert all(changed[key] == b"new" for key in KEYS)


async def test_one_that_misses_what_is_not_there_hurts_nobody(
    realm: RealmHandle, cold: Kernel
) -> None:
    """It is told; those before and behind it are committed."""
    handle = cold.realm(realm.id)

    def astray(draft: Draft) -> Thing:
        return draft.fetch(12345, Thing)

    attempts = [putting(KEYS[1], b"new"), astray, putting(KEYS[-1], b"new")]
    first, second, third = await asyncio.gather(
        *(handle.commit(POINTER, attempt) for attempt in attempts), return_exceptions=True
    )

    assert (first, third) == (None, None)
    assert isinstance(second, ObjectNotFound)
    changed = await entries(handle)
    assert (changed[KEYS[1]], changed[KEYS[-1]]) == (b"new", b"new")


async def test_a_fetch_that_fails_for_a_batch_is_tried_again(
    rig: Rig, realm: RealmHandle, cold: Kernel
) -> None:
    """The database did not answer: nobody is refused, the batch goes on when it does."""
    handle = cold.realm(realm.id)
    await handle.heads(POINTER)
    rig.faults.schedule("fetch", Fault.UNAVAILABLE)
    await asyncio.gather(*(handle.commit(POINTER, putting(key, b"new")) for key in KEYS))

    assert rig.faults.injected[Fault.UNAVAILABLE] == 1


async def test_a_known_operation_is_not_run_in_a_rehearsal(
    realm: RealmHandle, cold: Kernel
) -> None:
    """On a cold node too, an operation that was done is answered from its record."""
    runs = 0

    def attempt(draft: Draft) -> bytes:
        nonlocal runs
        runs += 1
        draft.index(INDEX).put(b"once", b"")
        return b"%d" % runs

    assert await realm.commit(POINTER, attempt, operation=b"o") == b"1"
    handle = cold.realm(realm.id)
    _, again = await asyncio.gather(
        handle.commit(POINTER, putting(KEYS[1], b"new")),
        handle.commit(POINTER, attempt, operation=b"o"),
    )

    assert (again, runs) == (b"1", 1)
