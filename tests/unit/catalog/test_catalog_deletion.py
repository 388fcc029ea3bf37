"""Catalogs that are deleted: only empty ones, whole or to be completed."""

import pytest

from headgate.catalog.catalogs import create_catalog, delete_catalog, list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import CATALOG_POINTER, head_pointer
from headgate.errors import Conflict
from headgate.kernel.draft import Draft
from tests.unit.catalog.lakes import MAIN, METALAKE, Node, World


async def test_a_catalog_that_holds_something_is_not_deleted(world: World, node: Node) -> None:
    """It is said what it holds, and nothing changes."""
    await node.table()
    before = await world.state()

    with pytest.raises(Conflict, match=r"default\.main: it has the namespace a"):
        await delete_catalog(node.kernel, MAIN)
    assert await world.state() == before


async def test_a_catalog_whose_files_are_still_to_be_deleted_is_not_deleted(node: Node) -> None:
    """Nobody would know of them any more."""
    await node.table()
    node.storage.counts["undeletable"] = 1
    await node.delete("namespaces/a/tables/t?purgeRequested=true")
    await node.lake.purges.idle()
    await node.delete("namespaces/a")

    with pytest.raises(Conflict, match="files of dropped tables are still to be deleted"):
        await delete_catalog(node.kernel, MAIN)


async def test_a_deleted_catalog_serves_nobody(node: Node) -> None:
    """Servers that knew it know it no more; its name and place can be had again."""
    await node.delete("namespaces/a")
    gone = await delete_catalog(node.kernel, MAIN)

    assert (await node.get("namespaces")).status == 404
    assert await list_catalogs(node.kernel, METALAKE) == []
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "main", gone.warehouse, {}))
    assert (await node.get("namespaces")).json["namespaces"] == []


async def test_a_deletion_that_was_cut_off_is_completed(node: Node) -> None:
    """Nobody can use the catalog meanwhile."""
    await node.delete("namespaces/a")
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = node.kernel.realm((await node.kernel.realms.get(METALAKE)).id)
    await realm.commit(head_pointer(main.id), Draft.seal)
    assert (await node.get("namespaces")).status == 404
    await delete_catalog(node.kernel, MAIN)

    assert await list_catalogs(node.kernel, METALAKE) == []
    [head] = await realm.heads(CATALOG_POINTER)
    assert head.head.seq == 2
