"""Catalogs that are deleted: only empty ones, or by force; whole or to be completed."""

import msgspec
import pytest

from headgate.catalog import catalog_commits
from headgate.catalog.calls import Call, Caller
from headgate.catalog.catalog_commits import change_catalog, remove_catalog
from headgate.catalog.catalogs import bootstrap, create_catalog, delete_catalog, list_catalogs
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.linked_places import check_links
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import Conflict, LocationTaken
from headgate.kernel.draft import Draft
from tests.unit.catalog.lakes import MAIN, METALAKE, Node, World


async def test_a_catalog_that_holds_something_is_not_deleted(world: World, node: Node) -> None:
    """It is said what it holds, and nothing changes."""
    await node.table()
    before = await world.state()

    with pytest.raises(Conflict, match=r"default\.main: it has the namespace a"):
        await delete_catalog(node.kernel, MAIN)
    assert await world.state() == before


async def test_a_catalog_whose_files_are_still_to_be_deleted_is_gone_at_once(node: Node) -> None:
    """Its name is free, its place is not: whoever wants it is told why, and what to do."""
    await leave_files(node)
    gone = await delete_catalog(node.kernel, MAIN, by="ann")
    elsewhere = CatalogEntity(0, "main", "/elsewhere", {})
    await create_catalog(node.kernel, METALAKE, elsewhere)
    await node.kernel.realms.create("other")
    again = CatalogEntity(0, "again", gone.warehouse, {})
    for metalake in (METALAKE, "other"):
        with pytest.raises(LocationTaken, match=r"default\.main was dropped.*jobs list") as taken:
            await create_catalog(node.kernel, metalake, again)
        assert taken.value.passing

    [left] = await dropped_catalogs(node.kernel, await realm_id(node))
    assert (left.id, left.entity) == (gone.id, gone)
    assert (left.record.name, left.record.by) == ("main", "ann")
    assert left.record.dropped_ms > 0


async def test_a_server_starts_where_the_files_of_its_first_catalog_are_still_deleted(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody else would delete them."""
    await leave_files(node)
    gone = await delete_catalog(node.kernel, MAIN)
    await bootstrap(node.kernel, METALAKE, CatalogEntity(0, "main", gone.warehouse, {}))

    assert await list_catalogs(node.kernel, METALAKE) == []
    assert "main is not created: Location is taken" in caplog.text


async def test_links_do_not_lead_to_the_files_of_a_dropped_catalog(node: Node) -> None:
    """They are another one's until the last of them is gone."""
    await leave_files(node)
    gone = await delete_catalog(node.kernel, MAIN)
    new = CatalogEntity(0, "new", "/link", {})

    with pytest.raises(LocationTaken, match=r"the dropped catalog default\.main"):
        await check_links(
            node.kernel,
            METALAKE,
            new,
            lambda place: place.replace("/link", gone.warehouse),
        )


@pytest.mark.parametrize("holds", ["nothing", "a view", "a table"])
async def test_a_place_stays_taken_only_if_there_may_be_files(node: Node, holds: str) -> None:
    """Only those of tables are deleted with their catalog."""
    if holds == "a view":
        await node.view()
    elif holds == "a table":
        await node.table()
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = await node.kernel.realms.get(METALAKE)
    await remove_catalog(node.kernel, realm, Call(MAIN), main, force=True)

    left = await dropped_catalogs(node.kernel, realm.id)
    assert [one.entity for one in left] == ([main] if holds == "a table" else [])


async def test_very_many_names_are_not_looked_through_for_tables(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be some: the catalog is dropped at once, and its place waits."""
    monkeypatch.setattr(catalog_commits, "NAMES_LOOKED_AT_MAX", 1)
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = await node.kernel.realms.get(METALAKE)
    await remove_catalog(node.kernel, realm, Call(MAIN), main, force=True)

    assert len(await dropped_catalogs(node.kernel, realm.id)) == 1


async def test_what_is_renamed_while_it_is_dropped_is_dropped(node: Node) -> None:
    """It serves nobody any more, whatever it is called."""
    await node.delete("namespaces/a")
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = await node.kernel.realms.get(METALAKE)
    call = Call(MAIN, Caller("ann"))
    await change_catalog(
        node.kernel, realm, call, lambda old: msgspec.structs.replace(old, name="other")
    )
    await remove_catalog(node.kernel, realm, call, main)

    assert await list_catalogs(node.kernel, METALAKE) == []


async def leave_files(node: Node) -> None:
    """Drop a table whose files cannot be deleted, and all else that is in the catalog."""
    await node.table()
    node.storage.counts["undeletable"] = 1
    await node.delete("namespaces/a/tables/t?purgeRequested=true")
    await node.delete("namespaces/a")


async def realm_id(node: Node) -> str:
    return (await node.kernel.realms.get(METALAKE)).id


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
