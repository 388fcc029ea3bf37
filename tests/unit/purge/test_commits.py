"""Commits of background work: to what is used, and to what was dropped; not to what is off."""

from collections.abc import AsyncIterator

import pytest

from headgate.errors import RealmNotActive, RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.purge.commits import commit
from headgate.testing.kernels import INDEX, POINTER, Rig, putting


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database with one node."""
    async with Rig() as rig:
        await rig.open()
        yield rig


@pytest.fixture
def kernel(rig: Rig) -> Kernel:
    """The node."""
    return rig.kernels[0]


async def keys(kernel: Kernel, realm: str) -> list[bytes]:
    """What was committed, whatever state the realm is in."""
    [value] = await kernel.pointers.read([PointerKey(realm, POINTER)])
    head = await open_head(kernel.store, realm, value)
    return [key async for key, _ in head.index(INDEX).scan()]


async def test_background_work_goes_on_where_others_cannot_commit_any_more(kernel: Kernel) -> None:
    """In a catalog that is sealed, and in a metalake that was dropped."""
    realm = await kernel.realms.create("acme")
    await commit(kernel, realm.id, POINTER, putting(b"used"))
    await kernel.realm(realm.id).commit(POINTER, Draft.seal)
    await commit(kernel, realm.id, POINTER, putting(b"sealed"))
    await kernel.realms.drop(realm.id)
    await commit(kernel, realm.id, POINTER, putting(b"dropped"))

    assert await keys(kernel, realm.id) == [b"dropped", b"sealed", b"used"]


async def test_what_is_switched_off_is_left_alone(kernel: Kernel) -> None:
    """Whoever switched it off wants nothing to happen; it goes on when it is on again."""
    realm = await kernel.realms.create("acme")
    await kernel.realms.deactivate("acme")
    with pytest.raises(RealmNotActive, match="realm activate acme"):
        await commit(kernel, realm.id, POINTER, putting(b"a"))
    assert await keys(kernel, realm.id) == []
    await kernel.realms.activate("acme")
    await commit(kernel, realm.id, POINTER, putting(b"a"))

    assert await keys(kernel, realm.id) == [b"a"]


async def test_nothing_is_written_where_all_is_deleted(rig: Rig, kernel: Kernel) -> None:
    """A worker that comes late brings nothing back to life."""
    realm = await kernel.realms.create("acme")
    await kernel.realms.drop(realm.id)
    await kernel.realms.purge(realm.id)
    with pytest.raises(RealmNotActive):
        await commit(kernel, realm.id, POINTER, putting(b"a"))
    await kernel.realms.delete(realm.id)
    with pytest.raises(RealmNotFound):
        await commit(kernel, realm.id, POINTER, putting(b"a"))

    assert not [pointer async for page in rig.memory.scan_pointers(realm.id) for pointer in page]
