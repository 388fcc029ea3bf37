"""Pointers of dropped catalogs: deleted when nobody can want them any more."""

import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import create_catalog, delete_catalog
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity
from headgate.catalog.log_rounds import DAY_MS, LogRounds
from headgate.catalog.openings import head_pointer
from headgate.catalog.reports import reports_pointer
from headgate.kernel.kernel import Kernel
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.testing.kernels import Rig, snapshot
from tests.unit.catalog.change_pages import behind
from tests.unit.maintenance.stores import HOUR_MS

METALAKE = "default"
RETENTION_DAYS = 2


@pytest.fixture
async def kernel(rig: Rig) -> Kernel:
    """A node and an empty metalake."""
    kernel = await rig.open(types=(*CATALOG_TYPES, *MAINTENANCE_TYPES))
    await kernel.realms.create(METALAKE)
    return kernel


async def swept(kernel: Kernel, *, is_dry: bool = False) -> Run:
    """Cut the logs, then sweep."""
    await LogRounds(kernel, RETENTION_DAYS).make_one()
    running = Running(kernel, Order(by="t", holder="t", grace_ms=HOUR_MS, is_dry=is_dry))
    await running.begin()
    return await running.complete()


async def dropped(kernel: Kernel) -> set[str]:
    """The pointers of a catalog that was made, had reports, and was dropped."""
    new = await create_catalog(kernel, METALAKE, CatalogEntity(0, "gone", "/gone", {}))
    realm = await kernel.realms.get(METALAKE)
    await kernel.realm(realm.id).create_pointers([reports_pointer(new.id)])
    await delete_catalog(kernel, CatalogName(METALAKE, "gone"))
    return {head_pointer(new.id), reports_pointer(new.id)}


async def pointers(rig: Rig) -> set[str]:
    """The names of all pointers."""
    return {key.name for key in (await snapshot(rig.memory)).pointers}


async def test_they_go_when_the_log_does_not_tell_of_their_catalog_any_more(
    rig: Rig, kernel: Kernel
) -> None:
    """With all that they led to; until then whoever reads the log wants them."""
    gone = await dropped(kernel)
    realm = await kernel.realms.get(METALAKE)
    await rig.pass_time(DAY_MS)
    assert (await swept(kernel)).counts.pointers_deleted == 0
    assert gone <= await pointers(rig)

    kept = await create_catalog(kernel, METALAKE, CatalogEntity(0, "kept", "/kept", {}))
    await rig.pass_time((RETENTION_DAYS + 1) * DAY_MS)
    assert (await swept(kernel, is_dry=True)).counts.pointers_deleted == 2
    assert gone <= await pointers(rig)
    run = await swept(kernel)

    assert run.failures == ()
    assert run.counts.pointers_deleted == 2
    assert not gone & await pointers(rig)
    assert head_pointer(kept.id) in await pointers(rig)
    heads = (await snapshot(rig.memory)).ids(realm.id, "head")
    logs = [kernel.log.newest_first(key) for key in await kernel.log.pointers(realm.id)]
    assert heads == {commit.id for log in logs async for commit in log}


async def test_whoever_reads_the_log_from_its_beginning_is_not_disturbed(
    rig: Rig, kernel: Kernel
) -> None:
    """Before, between and after."""
    log = ChangeLog(kernel)
    gone = await dropped(kernel)
    await create_catalog(kernel, METALAKE, CatalogEntity(0, "kept", "/kept", {}))
    for days in (0, 1, RETENTION_DAYS, 1):
        await rig.pass_time(days * DAY_MS)
        await swept(kernel)
        _, end = await behind(log, await log.oldest())
        assert (await behind(log, end))[0] == []
    assert not gone & await pointers(rig)


async def test_those_of_a_catalog_that_is_being_made_stay(rig: Rig, kernel: Kernel) -> None:
    """Its pointer is there before its name is."""
    realm = await kernel.realms.get(METALAKE)
    new = head_pointer(kernel.ids.next())
    await kernel.realm(realm.id).create_pointers([new])
    await swept(kernel)

    assert new in await pointers(rig)
    await rig.pass_time(2 * HOUR_MS)
    await swept(kernel)
    assert new not in await pointers(rig)
