"""Catalogs whose pointer is missing: closed and empty to all that meets them."""

from pathlib import Path

import msgspec
import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import (
    alter_catalog,
    catalogs_with_files,
    create_catalog,
    keep_all_places,
    list_catalogs,
)
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import left_places
from headgate.catalog.log_rounds import LogRounds
from headgate.catalog.objects import look_inside
from headgate.catalog.openings import head_pointer
from headgate.catalog.separator_changes import settle_separator
from headgate.errors import CatalogNotFound, RealmNotFound
from headgate.kernel.records import PointerKey
from headgate.maintenance.running import Order, Running
from headgate.purge.draining import Draining
from headgate.testing.kernels import snapshot
from tests.unit.catalog.change_pages import since, told
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World, call
from tests.unit.portage.moves import exported, imported, vanish

LOST = CatalogName(METALAKE, "lost")


@pytest.fixture
async def lost(world: World, node: Node) -> CatalogEntity:
    """A catalog that is listed and has no pointer, beside one that has."""
    new = CatalogEntity(0, LOST.catalog, (world.folder / "lost").as_posix(), {}, nested=True)
    made = await create_catalog(node.kernel, METALAKE, new)
    realm = await node.kernel.realms.get(METALAKE)
    await world.rig.memory.delete_pointers([PointerKey(realm.id, head_pointer(made.id))])
    return made


async def test_it_is_listed_and_serves_nobody(node: Node, lost: CatalogEntity) -> None:
    """As one that is being dropped."""
    assert {one.name for one in await list_catalogs(node.kernel, METALAKE)} == {CATALOG, lost.name}
    with pytest.raises(CatalogNotFound):
        await node.opened(lost.name)
    assert (await node.get("namespaces", catalog=f"{METALAKE}.{lost.name}")).status == 404


async def test_nothing_is_found_in_it(node: Node, lost: CatalogEntity) -> None:
    """It has no content, and no files."""
    metalake = await node.lake.open_metalake(call())
    inside = await look_inside(node.lake, metalake, [lost.id])
    realm = await node.kernel.realms.get(METALAKE)
    await keep_all_places(node.kernel, realm, by="ann")

    assert (inside.is_same, inside.heads) == (True, {})
    assert lost not in await catalogs_with_files(node.kernel, realm)
    assert lost.warehouse not in {left.location for left in await left_places(node.kernel)}


async def test_it_can_be_altered_and_checked(node: Node, lost: CatalogEntity) -> None:
    """No name in it is in the way of anything."""
    await settle_separator(node.kernel, "/", writable=True)
    flat = await alter_catalog(node.kernel, LOST, {"nested": False}, "/")

    assert (flat.id, flat.nested) == (lost.id, False)


async def test_a_server_does_not_drop_it(node: Node, lost: CatalogEntity) -> None:
    """Nothing but its pointer tells that a catalog was closed, and the pointer may come back."""
    await Draining(node.kernel).make_one()

    assert lost in await list_catalogs(node.kernel, METALAKE)
    assert lost.id > 0


async def test_its_metalake_can_be_dropped(world: World, node: Node, lost: CatalogEntity) -> None:
    """What is left of the metalake is drained and deleted, with all its pointers."""
    await node.delete("namespaces/a")
    realm = await node.kernel.realms.get(METALAKE)
    await node.kernel.realms.drop(realm.id, by="ann")
    draining = Draining(node.kernel)
    while await draining.make_one():
        pass
    await draining.make_one()

    with pytest.raises(RealmNotFound):
        await node.kernel.realms.get(realm.id)
    left = await snapshot(world.rig.memory)
    assert [key for key in left.pointers if key.realm == realm.id] == []
    assert lost.id > 0


async def test_the_change_log_goes_on(node: Node, lost: CatalogEntity) -> None:
    """From the beginning and from now; that it was created is told."""
    log = ChangeLog(node.kernel)
    now = await log.now()
    await node.namespace("b")
    whole = await since(node.kernel, await log.oldest())
    later = await since(node.kernel, now)

    assert ("create", "catalog", (lost.name,)) in told(whole)
    assert told(later) == [("create", "namespace", ("b",))]


async def test_the_store_can_be_swept(world: World, node: Node, lost: CatalogEntity) -> None:
    """And its logs cut."""
    await world.rig.pass_time(3 * 3_600_000)
    await LogRounds(node.kernel, 1).make_one()
    running = Running(node.kernel, Order(by="t", holder="t", grace_ms=3_600_000))
    await running.begin()
    run = await running.complete()

    assert (run.failures, run.counts.pointers_deleted) == ((), 0)
    assert lost in await list_catalogs(node.kernel, METALAKE)


async def test_its_metalake_can_be_exported_and_imported(
    node: Node, lost: CatalogEntity, tmp_path: Path
) -> None:
    """It comes back as it was: listed, and without a pointer."""
    await exported(node.kernel, tmp_path / "export")
    await vanish(node.kernel)
    await imported(node.kernel, tmp_path / "export")

    stored = await list_catalogs(node.kernel, METALAKE)
    assert msgspec.structs.replace(lost) in stored
    with pytest.raises(CatalogNotFound):
        await node.opened(lost.name)
