"""Fences of sweeps: where they are put, what they cost, and that they are no changes."""

import asyncio

import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import create_catalog, delete_catalog, list_catalogs
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.log_checks import LogChecks
from headgate.catalog.openings import head_pointer
from headgate.catalog.references import REFERENCES
from headgate.cli.commit_words import described, sentence
from headgate.errors import ObjectNotFound
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import EMPTY, Pointer, PointerKey
from headgate.kernel.system import REALM_POINTERS, SYSTEM_REALM
from headgate.limits import SWEEP_FENCES_AT_ONCE
from headgate.maintenance.clocks import Surveyed
from headgate.maintenance.extent import Wanted
from headgate.maintenance.running import Order, Running
from headgate.maintenance.sweep import Sweep
from headgate.portage.reading import read_facts
from headgate.testing.kernels import Held, Rig, Thing, putting, snapshot
from tests.unit.catalog.change_pages import behind
from tests.unit.maintenance.stores import HOUR_MS, POINTER, TYPES, Sweeper, sweep

METALAKE = "default"


async def heads(rig: Rig, realm: str) -> dict[str, int]:
    """The pointers of a realm."""
    found = (await snapshot(rig.memory)).pointers
    return {key.name: value for key, value in found.items() if key.realm == realm}


async def test_every_idle_pointer_of_the_realm_is_fenced_once(store: Sweeper) -> None:
    """Also sealed ones and those without a commit; besides these only the list of realms."""
    await store.put(b"a")
    await store.realm.commit("grants", lambda draft: draft.seal())
    many = [head_pointer(store.kernel.ids.next()) for _ in range(2 * SWEEP_FENCES_AT_ONCE)]
    await store.realm.create_pointers(many)
    await store.waste()
    before = await heads(store.rig, store.realm.id)
    await store.rig.pass_time(HOUR_MS)
    run = await store.sweep(HOUR_MS // 2, Wanted(sweep=frozenset({"acme"})))
    after = await heads(store.rig, store.realm.id)

    assert run.failures == ()
    gone = {name for name in many if name not in after}
    assert run.counts.pointers_deleted == len(gone) == len(many)  # no catalog has these ids
    assert sorted(after) == sorted(REALM_POINTERS)
    assert all(after[name] not in {EMPTY, before[name]} for name in after)
    assert run.counts.fences == len(after) + 1
    [grants] = await store.realm.heads("grants")
    assert grants.head.sealed
    assert await store.things() == {b"a": "a"}


async def test_a_pointer_that_moves_meanwhile_needs_no_fence(store: Sweeper) -> None:
    """What is late was assembled on another head."""
    await store.waste()
    await store.rig.pass_time(HOUR_MS)
    order = Order(by="t", holder="t", grace_ms=HOUR_MS // 2)
    running = Running(store.kernel, order, REFERENCES)
    await running.begin()

    async def work(sweep: Sweep) -> None:
        await store.realm.commit("grants", lambda draft: draft.seal())
        await sweep.survey(store.realm.id)
        await sweep.guard([store.realm.id])

    run = await running.complete(work)

    assert run.failures == ()
    assert run.counts.fences == len(REALM_POINTERS) - 1 + 1
    [commit] = [
        one async for one in store.kernel.log.newest_first(PointerKey(store.realm.id, "grants"))
    ]
    assert len(commit.groups) == 1


async def test_a_store_in_which_nothing_is_deleted_gets_no_fence(store: Sweeper) -> None:
    """Ten sweeps leave all of its pointers as they are, but for the record of sweeps."""
    await store.put(b"a")
    await store.waste()
    await store.rig.pass_time(HOUR_MS)
    assert (await store.sweep(HOUR_MS // 2)).counts.fences == len(REALM_POINTERS) + 1
    realm, realms = await heads(store.rig, store.realm.id), await heads(store.rig, SYSTEM_REALM)
    for _ in range(10):
        await store.rig.pass_time(HOUR_MS)
        run = await store.sweep(HOUR_MS // 2)
        assert (run.failures, run.counts.rows_deleted, run.counts.fences) == ((), 0, 0)

    assert await heads(store.rig, store.realm.id) == realm
    assert (await heads(store.rig, SYSTEM_REALM))["realms"] == realms["realms"]


async def test_a_realm_in_which_nothing_is_deleted_gets_no_fence(store: Sweeper) -> None:
    """Whatever is deleted in another one."""
    other = (await store.kernel.realms.create("other")).id
    before = await heads(store.rig, other)
    await store.waste()
    await store.rig.pass_time(HOUR_MS)
    run = await store.sweep(HOUR_MS // 2)

    assert run.counts.rows_deleted == 1
    assert await heads(store.rig, other) == before


async def test_a_dry_run_puts_no_fence(store: Sweeper) -> None:
    """It changes nothing but its own record."""
    await store.waste()
    before = await heads(store.rig, store.realm.id)
    await store.rig.pass_time(HOUR_MS)
    run = await store.sweep(HOUR_MS // 2, is_dry=True)

    assert (run.counts.rows_deleted, run.counts.fences) == (1, 0)
    assert await heads(store.rig, store.realm.id) == before


@pytest.fixture(name="kernel")
async def _kernel(rig: Rig) -> Kernel:
    """A node and a metalake with one catalog, and one that was dropped."""
    kernel = await rig.open(types=TYPES)
    realm = (await kernel.realms.create(METALAKE)).id
    for name in ("kept", "gone"):
        await create_catalog(kernel, METALAKE, CatalogEntity(0, name, f"/{name}", {}))
    await delete_catalog(kernel, CatalogName(METALAKE, "gone"))
    await kernel.store.write(realm, {kernel.ids.next(): Thing("waste")})
    return kernel


async def test_nothing_takes_a_fence_for_a_change(rig: Rig, kernel: Kernel) -> None:
    """Change log, cursors, chains and exports are as if there was none; one line of the raw log
    says what it is."""
    log = ChangeLog(kernel)
    told, end = await behind(log, await log.oldest())
    facts = await read_facts(kernel, REFERENCES, METALAKE)
    await rig.pass_time(HOUR_MS)
    run = await sweep(kernel, HOUR_MS // 2)
    assert run.counts.fences > len(REALM_POINTERS)

    assert await behind(log, await log.oldest()) == (told, (await behind(log, end))[1])
    assert (await behind(log, end))[0] == []
    assert await read_facts(kernel, REFERENCES, METALAKE) == facts
    findings = await LogChecks(kernel, {}, 0).make(None, lambda _: None)
    assert (findings.broken, findings.cut) == (0, 0)
    key = PointerKey((await kernel.realms.get(METALAKE)).id, "catalogs")
    [fence, *_] = [commit async for commit in kernel.log.newest_first(key)]
    assert sentence(fence, METALAKE).splitlines()[1:] == ["    fence"]
    assert described(fence)["groups"] == []
    await create_catalog(kernel, METALAKE, CatalogEntity(0, "new", "/new", {}))
    assert [one.name for one in (await behind(log, end))[0]] == [("new",)]


async def test_the_pointer_of_a_catalog_whose_name_is_committed_late_stays(
    rig: Rig, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of catalogs is fenced and read again before pointers are deleted."""
    sweeping = await rig.open(types=TYPES)
    held = Held(rig)
    new = CatalogEntity(0, "late", "/late", {})
    late = asyncio.create_task(create_catalog(kernel, METALAKE, new))
    await held.reached.wait()
    await rig.pass_time(2 * HOUR_MS)
    fence = sweeping.committer.fence

    async def fence_later(key: PointerKey, since_ms: int) -> bool:
        held.let_go.set()
        await late
        return await fence(key, since_ms)

    monkeypatch.setattr(sweeping.committer, "fence", fence_later)
    await sweep(sweeping, HOUR_MS)

    made = await late
    realm = await kernel.realms.get(METALAKE)
    assert head_pointer(made.id) in await heads(rig, realm.id)
    assert "late" in [one.name for one in await list_catalogs(kernel, METALAKE)]


async def test_pointers_of_realms_that_are_gone_are_deleted(store: Sweeper) -> None:
    """A process that was stopped while it made a realm, or a catalog in it, leaves them."""
    gone, new = str(store.kernel.ids.next()), ""
    await store.rig.memory.create_pointers(gone, REALM_POINTERS)
    await store.rig.memory.create_pointers("imported", [POINTER])
    await store.rig.pass_time(HOUR_MS)
    new = str(store.kernel.ids.next())
    await store.rig.memory.create_pointers(new, [POINTER])
    named = await store.sweep(HOUR_MS // 2, Wanted(sweep=frozenset({"acme"})))
    assert (named.failures, await heads(store.rig, gone)) == ((), dict.fromkeys(REALM_POINTERS, 0))
    run = await store.sweep(HOUR_MS // 2)

    assert run.failures == ()
    assert await heads(store.rig, gone) == {}
    assert await heads(store.rig, "imported") == {POINTER: EMPTY}  # it has no time in its name
    assert await heads(store.rig, new) == {POINTER: EMPTY}
    [newest, *_] = [commit async for commit in store.kernel.log.newest_first(REALMS_KEY)]
    assert newest.groups == []


async def test_a_log_that_is_cut_while_a_sweep_runs_stops_it(store: Sweeper) -> None:
    """What cannot be looked at is not taken for young, unless its pointer is gone as well."""
    surveyed = Surveyed(store.rig.clock.wall_ms())
    first = await store.put(b"a")
    head = await store.head()
    await store.kernel.store.delete(store.realm.id, [head])
    with pytest.raises(ObjectNotFound, match="are not kept any more"):
        await surveyed.check(store.kernel.store, [store.realm.id])
    assert first in await store.ids()
    key = PointerKey(store.realm.id, POINTER)
    rig = store.rig
    rig.faults.crash_at("before_fetch", lambda: rig.memory.delete_pointers([key]))
    await surveyed.check(store.kernel.store, [store.realm.id])

    assert POINTER not in await heads(rig, store.realm.id)


async def test_heads_of_the_survey_are_not_looked_at_again(store: Sweeper) -> None:
    """Only what came after them is."""
    await store.realm.commit(POINTER, putting(b"old", index="plain"))
    await store.rig.pass_time(HOUR_MS)
    seen = Pointer(store.realm.id, POINTER, await store.head())
    surveyed = Surveyed(store.rig.clock.wall_ms(), [seen])
    await store.put(b"a")
    await surveyed.check(store.kernel.store, [store.realm.id])
