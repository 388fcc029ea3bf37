"""Keys that sign tokens: shared by all nodes, sealed, rotated."""

import os
from collections.abc import AsyncIterator

import pytest

from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.identities import IDENTITIES_KEY, KEYS, change_identities, current_head
from headgate.catalog.identity_entities import SigningKeyEntity
from headgate.catalog.naming import id_bytes
from headgate.catalog.sealing import MasterKey
from headgate.errors import BadSetting, Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.limits import KEYS_RELOAD_SECONDS, SIGNING_KEYS_MAX
from headgate.testing.kernels import Rig, SteppedClock
from tests.unit.catalog.keeping import MASTER, Keeper, keeper


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def node(rig: Rig) -> Keeper:
    return await keeper(rig)


async def count(node: Keeper) -> int:
    return len([key async for key, _ in (await current_head(node.kernel)).index(KEYS).scan()])


async def test_what_is_sealed_is_opened_by_the_same_key_as_the_same_thing() -> None:
    """And by no other, as nothing else, and not if a bit of it was changed."""
    master = MasterKey(MASTER, os.urandom)
    sealed = master.seal(b"secret", "key 1")

    assert master.open(sealed, "key 1") == b"secret"
    assert b"secret" not in sealed
    assert sealed != master.seal(b"secret", "key 1")
    with pytest.raises(BadSetting, match="key 2 cannot be opened: what is stored was changed"):
        master.open(sealed, "key 2")
    with pytest.raises(BadSetting, match="was changed"):
        master.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), "key 1")
    other = MasterKey(b"another master key of many bytes", os.urandom)
    with pytest.raises(BadSetting, match=f"sealed with master key {master.id.hex()}"):
        other.open(sealed, "key 1")
    assert MASTER not in master.id
    assert repr(master) == f"MasterKey({master.id.hex()})"


async def test_all_nodes_sign_with_the_same_key(rig: Rig, node: Keeper) -> None:
    """Also if several make the first one at once."""
    other = await keeper(rig)
    with pytest.raises(Unavailable, match="there is no key to sign it with"):
        await node.keys.newest()
    await node.keys.ensure()
    await other.keys._make("root", keep=SIGNING_KEYS_MAX, first=True)  # it looked too early
    await other.keys.ensure()

    assert await count(node) == 1
    assert await node.keys.newest() == await other.keys.newest()


async def test_the_newest_key_signs_and_older_ones_are_known(rig: Rig, node: Keeper) -> None:
    """Up to a number; a node that has not seen a new one looks for it, but not all the time."""
    other = await keeper(rig)
    await node.keys.ensure()
    first = await node.keys.newest()
    assert await other.keys.find(first.id) == first

    await node.keys.rotate()
    second = await node.keys.newest()
    assert second.id > first.id
    assert await other.keys.find(second.id) is None, "it looked a moment ago"
    other.kernel.clock.advance(KEYS_RELOAD_SECONDS * 1000)  # type: ignore[attr-defined]
    assert await other.keys.find(second.id) == second
    rig.backend.reset()
    assert [await other.keys.find(7) for _ in range(9)] == [None] * 9
    assert rig.backend.calls["read_pointers"] == 0

    for _ in range(2 * SIGNING_KEYS_MAX):
        await node.keys.rotate()
        await node.keys.newest()
    assert await count(node) == SIGNING_KEYS_MAX


async def test_a_node_with_another_master_key_opens_nothing(rig: Rig, node: Keeper) -> None:
    """It says what to do; old keys that nobody can open any more can be dropped."""
    await node.keys.ensure()
    stranger = await keeper(rig, b"another master key of many bytes")

    with pytest.raises(BadSetting, match="Give all nodes of a store the same master key"):
        await stranger.keys.newest()
    with pytest.raises(BadSetting):
        await stranger.keys.load()

    await stranger.keys.rotate(drop_old=True)
    await stranger.keys.newest()


async def test_a_key_that_was_exchanged_for_another_is_found_out(node: Keeper) -> None:
    """What is sealed is bound to the key's id."""
    await node.keys.ensure()
    old = await node.keys.newest()
    node.keys._known.clear()

    def swap(draft: Draft) -> None:
        [(key, object)] = draft.index(KEYS).scan()
        entity = draft.fetch(int.from_bytes(object, "big"), SigningKeyEntity)
        draft.index(KEYS).remove(key)
        draft.index(KEYS).put(id_bytes(old.id + 1), id_bytes(draft.stage(entity)))

    await change_identities(node.kernel, swap)

    with pytest.raises(BadSetting, match="what is stored was changed"):
        await node.keys.newest()


async def test_a_new_key_signs_also_after_one_that_a_clock_ahead_has_made(
    rig: Rig, node: Keeper
) -> None:
    """The id of that key lies in the future; a rotation is none that changes nothing."""
    ahead = Keeper(
        await rig.open(clock=SteppedClock(rig.clock.wall_ms() + 86_400_000), types=CATALOG_TYPES)
    )
    await ahead.keys.ensure()
    await repaired_by(node.kernel)
    before = await node.keys.newest()
    await node.keys.rotate()
    after = await node.keys.newest()

    assert after.id > before.id
    assert after.secret != before.secret


async def repaired_by(kernel: Kernel) -> None:
    """Mend what a clock that was ahead has left; its node counts as one that runs no more."""
    await kernel.clock_repair.apply(await kernel.clock_repair.find([IDENTITIES_KEY]))
