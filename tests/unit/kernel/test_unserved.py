"""Commits to realms that serve nobody: each only while its realm is what they are made for."""

import asyncio

import pytest

from headgate.errors import BadName, RealmNotActive, RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState as S
from headgate.testing.kernels import INDEX, POINTER, Rig, entries, putting, realm_in


async def test_a_realm_is_filled_only_while_it_is_being_made(kernel: Kernel) -> None:
    """One that is there, or is no more, is no such realm."""
    made = await kernel.realms.set_up(await kernel.realms.reserve("made"))
    await kernel.unserved.fill(made.id, POINTER, putting(b"a"))
    await kernel.realms.activate("made")

    with pytest.raises(RealmNotFound):
        await kernel.unserved.fill(made.id, POINTER, putting(b"b"))
    with pytest.raises(RealmNotFound):
        await kernel.unserved.fill("7", POINTER, putting(b"b"))
    [head] = await kernel.realm(made.id).heads(POINTER)
    assert await head.index(INDEX).get(b"a") is not None
    assert await head.index(INDEX).get(b"b") is None


@pytest.mark.parametrize("state", [S.INITIALIZING, S.ACTIVE, S.INACTIVE, S.PURGING])
async def test_a_realm_that_was_not_dropped_is_not_cleared(
    rig: Rig, kernel: Kernel, state: S
) -> None:
    """One that is switched off waits to be switched on again."""
    realm = await realm_in(kernel, state)
    await rig.backend.create_pointers(realm.id, [POINTER])

    with pytest.raises(RealmNotFound):
        await kernel.unserved.clear(realm.id, POINTER, putting(b"a"))


async def test_what_was_dropped_is_cleared_until_its_data_is_deleted(kernel: Kernel) -> None:
    """Also what is sealed; those who use the realm are refused all the time."""
    realm = await kernel.realms.create("acme")
    await kernel.realm(realm.id).commit(POINTER, Draft.seal)
    await kernel.realms.drop(realm.id)
    both = (kernel.unserved.clear(realm.id, POINTER, putting(key)) for key in (b"a", b"b"))
    await asyncio.gather(*both)
    with pytest.raises(RealmNotActive):
        await kernel.realm(realm.id).commit(POINTER, putting(b"c"), sealed=True)
    await kernel.realms.purge(realm.id)

    with pytest.raises(RealmNotFound):
        await kernel.unserved.clear(realm.id, POINTER, putting(b"a"))


async def test_nobody_passes_by_the_check_of_who_came_first(kernel: Kernel) -> None:
    """Who watches something else waits in another lane, under a check of its own."""
    realm = await kernel.realms.create("acme")
    handle = kernel.realm(realm.id)
    await handle.commit(POINTER, putting(b"a"))
    await kernel.realms.drop(realm.id)
    await kernel.unserved.clear(realm.id, POINTER, putting(b"b"))
    with pytest.raises(RealmNotActive):
        await handle.commit(POINTER, putting(b"c"))
    await kernel.unserved.clear(realm.id, POINTER, putting(b"d"))
    await kernel.realms.activate(realm.id)

    assert await entries(handle) == dict.fromkeys((b"a", b"b", b"d"), b"")
    with pytest.raises(RealmNotFound):
        await kernel.unserved.clear(realm.id, POINTER, putting(b"e"))


async def test_those_who_clear_together_share_a_swap(kernel: Kernel) -> None:
    """They watch the same, so they wait in one lane."""
    realm = await kernel.realms.create("acme")
    await kernel.realms.drop(realm.id)
    before = kernel.committer.statistics.swaps
    keys = [b"%d" % number for number in range(8)]
    await asyncio.gather(*(kernel.unserved.clear(realm.id, POINTER, putting(key)) for key in keys))

    assert kernel.committer.statistics.swaps == before + 1


async def test_what_is_no_pointer_is_refused(kernel: Kernel) -> None:
    """As everywhere."""
    for commit in (kernel.unserved.fill, kernel.unserved.clear):
        with pytest.raises(BadName):
            await commit("1", "No Pointer", putting(b"a"))
