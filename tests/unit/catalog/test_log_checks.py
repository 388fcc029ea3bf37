"""All logs of a store are checked; what may be gone and what may not is told apart."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.catalog.catalogs import bootstrap, stored_catalogs
from headgate.catalog.checkpoints import known_positions, make_checkpoint
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity
from headgate.catalog.log_checks import LogChecks, LogFindings
from headgate.catalog.openings import head_pointer
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from headgate.kernel.system import REALMS, SYSTEM_REALM
from headgate.limits import CHAIN_BREAKS_MAX
from headgate.testing.kernels import POINTER, Rig, history, putting

CATALOG = "cat/17/heads/main"
DAY_MS = 86_400_000


class Store:
    """A store with one realm, and a checkpoint of it."""

    def __init__(self, rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
        self.rig = rig
        self.kernel = kernel
        self.realm = realm

    async def check(
        self, *, compared: bool = True, retention_ms: int = 0, realm: str | None = None
    ) -> LogFindings:
        known = known_positions([self.checkpoint]) if compared else {}
        looked: list[int] = []
        found = await LogChecks(self.kernel, known, retention_ms).make(realm, looked.append)
        assert sum(looked) == found.commits
        return found

    async def prepare(self, commits: int = 5) -> None:
        await self.kernel.backend.create_pointers(self.realm.id, [CATALOG])
        for number in range(commits):
            for pointer in (POINTER, CATALOG):
                await self.realm.commit(pointer, putting(b"%d" % number))
        self.checkpoint = await make_checkpoint(self.kernel)

    async def lose(self, pointer: str, realm: str | None = None) -> None:
        await self.kernel.backend.delete_pointers([PointerKey(realm or self.realm.id, pointer)])


@pytest.fixture(name="store")
async def _store() -> AsyncIterator[Store]:
    async with Rig() as rig:
        kernel = await rig.open()
        store = Store(rig, kernel, await rig.realm())
        await store.prepare()
        yield store


async def test_all_logs_are_walked_and_compared(store: Store) -> None:
    """Those of one realm if one is named."""
    whole, own = await store.check(), await store.check(realm=store.realm.id, compared=False)

    assert whole.pointers == whole.matched == len(store.checkpoint.pointers)
    assert (whole.broken, whole.cut, whole.gone) == (0, 0, [])
    assert own.pointers == whole.pointers - 1
    assert own.matched == 0


async def test_the_log_of_a_dropped_catalog_may_be_gone(store: Store) -> None:
    """It is told, and is no break."""
    await store.lose(CATALOG)
    found = await store.check()

    assert [one.pointer for one in found.gone] == [CATALOG]
    assert found.broken == 0


async def test_the_log_of_a_catalog_that_is_there_is_missed(tmp_path: Path) -> None:
    """Whoever takes the pointer of a live catalog away does not pass for who drops it."""
    async with Rig() as rig:
        kernel = await rig.open(types=CATALOG_TYPES)
        await bootstrap(kernel, "acme", CatalogEntity(0, "main", str(tmp_path), {}))
        [realm] = await kernel.realms.list()
        [catalog] = await stored_catalogs(kernel, realm)
        key = PointerKey(realm.id, head_pointer(catalog.id))
        await kernel.realm(realm.id).commit(key.name, putting(b"1"))
        known = known_positions([await make_checkpoint(kernel)])
        await kernel.backend.delete_pointers([key])
        found = await LogChecks(kernel, known, 0).make(None, lambda _: None)

    assert [one.pointer for one in found.breaks] == [key.name]
    assert found.gone == []


@pytest.mark.parametrize("state", [RealmState.PURGING, None])
async def test_the_logs_of_a_purged_realm_may_be_gone(
    store: Store, state: RealmState | None
) -> None:
    """While it is purged, and when nothing is left of it."""
    await store.kernel.realms.move(store.realm.id, RealmState.INACTIVE)
    await store.kernel.realms.move(store.realm.id, RealmState.PURGING)
    if state is None:
        await store.kernel.realms.purge(store.realm.id)
        await store.kernel.realms.delete(store.realm.id)
    else:
        await store.lose(POINTER)
    found = await store.check()

    assert POINTER in {one.pointer for one in found.gone}
    assert found.broken == 0


@pytest.mark.parametrize("is_empty", [True, False])
async def test_a_log_that_must_be_there_is_missed(store: Store, is_empty: bool) -> None:
    """One of those that each realm has, taken away or made anew."""
    await store.lose(POINTER)
    if is_empty:
        await store.kernel.backend.create_pointers(store.realm.id, [POINTER])
    found = await store.check()

    assert [(one.pointer, one.seq, one.realm) for one in found.breaks] == [(POINTER, 5, "acme")]
    assert found.gone == []


async def test_the_list_of_realms_must_be_there(store: Store) -> None:
    """Who takes it away takes all."""
    known = known_positions([store.checkpoint])
    checks = LogChecks(store.kernel, known, 0)
    await store.lose(REALMS, SYSTEM_REALM)

    assert not await checks._is_gone(PointerKey(SYSTEM_REALM, REALMS))


async def test_what_is_purged_while_it_is_walked_is_not_broken(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for it by a checkpoint, so nothing is told."""
    key = PointerKey(store.realm.id, CATALOG)
    verify = store.kernel.chains.verify

    async def meanwhile(wanted: PointerKey, *more: object) -> object:
        if wanted == key:
            ids = [commit.id for commit in await history(store.kernel, store.realm, CATALOG)]
            await store.kernel.backend.delete(store.realm.id, ids[-1:])
            found = await verify(wanted, *more)  # type: ignore[arg-type]
            await store.lose(CATALOG)
            return found
        return await verify(wanted, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(store.kernel.chains, "verify", meanwhile)
    found = await store.check(compared=False)

    assert (found.broken, found.gone) == (0, [])
    assert found.pointers == len(store.checkpoint.pointers) - 1


async def test_a_log_that_begins_too_late_is_told(store: Store) -> None:
    """Commits are gone that no cut would have taken; none is ever cut if all are to be kept."""
    ids = [commit.id for commit in await history(store.kernel, store.realm)]
    await store.kernel.backend.delete(store.realm.id, ids[:3])
    young = await store.check(retention_ms=DAY_MS)
    forever = await store.check()
    await store.rig.pass_time(DAY_MS + 1)
    old = await store.check(retention_ms=DAY_MS)

    for found in (young, forever):
        [place] = found.cut_early
        assert (place.pointer, place.seq, place.commit) == (POINTER, 4, str(ids[3]))
    assert old.cut_early == []
    assert (old.cut, old.broken, old.no_longer_kept) == (1, 0, 0)


async def test_lists_are_bounded_and_counts_are_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much is wrong."""
    monkeypatch.setattr("headgate.catalog.log_checks.CHAIN_BREAKS_MAX", 1)
    for pointer in (POINTER, CATALOG):
        ids = [commit.id for commit in await history(store.kernel, store.realm, pointer)]
        await store.kernel.backend.delete(store.realm.id, [ids[0], ids[2]])
    found = await store.check()
    await store.kernel.realms.move(store.realm.id, RealmState.INACTIVE)
    await store.kernel.realms.move(store.realm.id, RealmState.PURGING)
    for pointer in (POINTER, CATALOG):
        await store.lose(pointer)
    gone = await store.check()

    assert CHAIN_BREAKS_MAX > 1
    assert (found.broken, len(found.breaks)) == (2, 1)
    assert (found.cut, len(found.cut_early)) == (2, 1)
    assert len(gone.gone) == 1
