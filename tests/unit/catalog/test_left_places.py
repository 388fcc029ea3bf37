"""Places of catalogs that are gone: they stay with their metalake while files may be there."""

import shutil
from pathlib import Path

import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import (
    LocationTerms,
    alter_catalog,
    bootstrap,
    create_catalog,
    delete_catalog,
    find_catalog,
    keep_all_places,
    list_catalogs,
)
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import free_places, left_places, looking_into
from headgate.catalog.linked_places import check_links
from headgate.errors import Conflict, LocationTaken
from headgate.purge.draining import Draining
from tests.unit.catalog.lakes import CATALOG, MAIN, METALAKE, Node, World

THEIRS = "theirs"


@pytest.fixture
async def other(node: Node) -> str:
    """The name of another metalake."""
    return (await node.kernel.realms.create(THEIRS)).name


def catalog(place: str, name: str = "taker", *allowed: str) -> CatalogEntity:
    return CatalogEntity(0, name, place, {}, allowed_locations=allowed)


async def leave(node: Node) -> str:
    """Drop a table without purge, and all that it was in; where its metadata file is."""
    made = await node.table()
    await node.delete("namespaces/a/tables/t")
    await node.delete("namespaces/a")
    await delete_catalog(node.kernel, MAIN)
    return str(made["metadata-location"])


async def take(node: Node, place: str, metalake: str = THEIRS) -> CatalogEntity:
    """A new catalog, by a server that can look into storage."""
    looks = looking_into(node.storage)
    return await create_catalog(node.kernel, metalake, catalog(place), looks)


@pytest.mark.parametrize("where", ["", "/a", "/.."])
async def test_another_metalake_gets_no_place_with_files_that_a_catalog_left(
    world: World, node: Node, other: str, where: str
) -> None:
    """Neither the place itself, nor above or below it; it is not told whose they are."""
    file = await leave(node)
    place = world.folder.as_posix() if where == "/.." else world.warehouse + where
    with pytest.raises(LocationTaken, match="Location is taken") as taken:
        await take(node, place)

    assert Path(file).exists()
    assert METALAKE not in str(taken.value)
    assert await list_catalogs(node.kernel, other) == []
    [left] = await left_places(node.kernel)
    assert (left.metalake, left.name) == (METALAKE, CATALOG)


async def test_the_same_metalake_uses_its_place_again(world: World, node: Node) -> None:
    """A table that was left there is registered by who may."""
    file = await leave(node)
    await take(node, world.warehouse, METALAKE)
    name = f"{METALAKE}.taker"
    await node.made("namespaces", {"namespace": ["a"]}, catalog=name)
    body = {"name": "t", "metadata-location": file}

    assert (await node.post("namespaces/a/register", body, catalog=name)).status == 200


async def test_a_place_without_files_is_free_at_once(world: World, node: Node, other: str) -> None:
    """If its folder is there: else its disk may be away."""
    await leave(node)
    shutil.rmtree(world.warehouse)
    with pytest.raises(LocationTaken):
        await take(node, world.warehouse)
    Path(world.warehouse).mkdir()
    await take(node, world.warehouse)

    assert await left_places(node.kernel) == []


async def test_a_part_of_a_place_without_files_is_free(
    world: World, node: Node, other: str
) -> None:
    """The rest stays with the metalake that left it, also when the new catalog is changed."""
    await leave(node)
    part = f"{world.warehouse}/empty"
    Path(part).mkdir()
    await take(node, part)
    changes = {"allowed_locations": ("/elsewhere",)}
    await alter_catalog(node.kernel, CatalogName(other, "taker"), changes, ":")

    assert len(await left_places(node.kernel)) == 1
    with pytest.raises(LocationTaken):
        await create_catalog(node.kernel, other, catalog(world.warehouse, "more"))


async def test_a_catalog_that_never_had_a_table_leaves_nothing(
    world: World, node: Node, other: str
) -> None:
    """Its place is free for everybody."""
    await node.delete("namespaces/a")
    await delete_catalog(node.kernel, MAIN)

    assert await left_places(node.kernel) == []
    await create_catalog(node.kernel, other, catalog(world.warehouse))


@pytest.mark.parametrize("what", ["view", "staged"])
async def test_what_is_no_table_leaves_files_as_well(
    world: World, node: Node, other: str, what: str
) -> None:
    """The metadata of a view, or what somebody wrote for a table that was never committed."""
    if what == "view":
        await node.view()
        await node.delete("namespaces/a/views/v")
    else:
        schema = {"type": "struct", "fields": []}
        body = {"name": "t", "schema": schema, "stage-create": True}
        await node.made("namespaces/a/tables", body)
    await node.delete("namespaces/a")
    await delete_catalog(node.kernel, MAIN)

    with pytest.raises(LocationTaken):
        await create_catalog(node.kernel, other, catalog(world.warehouse))


async def test_a_location_that_is_no_longer_allowed_is_left_too(node: Node, other: str) -> None:
    """Tables may have been there."""
    more = f"{(await find_catalog(node.kernel, MAIN)).warehouse}-more"
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more,)}, ":")
    await node.table(location=f"{more}/t")
    await node.delete("namespaces/a/tables/t")
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": ()}, ":")

    with pytest.raises(LocationTaken):
        await take(node, more)
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more,)}, ":")


@pytest.mark.parametrize("metalake", [THEIRS, METALAKE])
async def test_a_table_outside_of_its_catalog_s_locations_holds_its_own(
    node: Node, other: str, metalake: str
) -> None:
    """No catalog is created there, above or below, though no file is there and none is kept."""
    more = f"{(await find_catalog(node.kernel, MAIN)).warehouse}-more"
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more,)}, ":")
    await node.table(location=f"{more}/t")
    left = LocationTerms(leave_tables=True)
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": ()}, ":", terms=left)
    await free_places(node.kernel, await left_places(node.kernel))
    for file in Path(more).rglob("*.json"):
        file.unlink()

    for place in (more, f"{more}/t", f"{more}/t/in"):
        with pytest.raises(LocationTaken):
            await take(node, place, metalake)
    await take(node, f"{more}/other", metalake)
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (f"{more}/t",)}, ":")


@pytest.mark.parametrize("kept", ["", "/in"])
async def test_a_location_that_is_removed_may_hold_tables_in_one_that_stays(
    node: Node, kept: str
) -> None:
    """What lies in none that stays is counted."""
    more = f"{(await find_catalog(node.kernel, MAIN)).warehouse}-more"
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more, f"{more}/in")}, ":")
    await node.table(location=f"{more}/in/t")
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more + kept,)}, ":")
    with pytest.raises(Conflict, match=r"1 table or view of catalog default\.main, such as a\.t"):
        await alter_catalog(node.kernel, MAIN, {"allowed_locations": ()}, ":")

    assert (await find_catalog(node.kernel, MAIN)).allowed_locations == (more + kept,)


@pytest.mark.parametrize("again", [THEIRS, METALAKE])
async def test_a_dropped_metalake_keeps_its_places(
    world: World, node: Node, other: str, again: str
) -> None:
    """Also from one that gets its name later: that is another tenant."""
    file = await leave(node)
    former = await node.kernel.realms.get(METALAKE)
    await node.kernel.realms.drop(former.id)
    await Draining(node.kernel).make_one()
    assert former.id not in [one.id for one in await node.kernel.realms.list()]
    if again == METALAKE:
        await node.kernel.realms.create(METALAKE)

    with pytest.raises(LocationTaken):
        await take(node, world.warehouse, again)
    assert Path(file).exists()


async def test_files_that_a_forced_drop_leaves_stay_with_the_metalake(
    world: World, node: Node, other: str
) -> None:
    """What no table refers to is not deleted; when somebody did, the place is free."""
    made = await node.table()
    loose = Path(made["metadata"]["location"]) / "loose.txt"
    loose.write_text("of nobody")
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = await node.kernel.realms.get(METALAKE)
    await remove_catalog(node.kernel, realm, Call(MAIN, Caller("ann")), main, force=True)
    for _ in range(3):
        await Draining(node.kernel).make_one()
        node.purges.wake()
        await node.purges.idle()
    assert world.files() == {loose.as_posix()}
    with pytest.raises(LocationTaken):
        await take(node, world.warehouse)
    loose.unlink()
    await take(node, world.warehouse)


async def test_a_realm_whose_data_is_deleted_keeps_the_places_of_its_files(
    world: World, node: Node, other: str
) -> None:
    """As `headgate realm purge --abandon-files` does, and once more does no harm."""
    await node.table()
    realm = await node.kernel.realms.deactivate(METALAKE)
    for _ in range(2):
        await keep_all_places(node.kernel, realm, by="ann")
    await node.kernel.realms.purge(METALAKE)
    await node.kernel.realms.delete(METALAKE)
    await keep_all_places(node.kernel, await node.kernel.realms.get(other), by="ann")

    [left] = await left_places(node.kernel)
    assert (left.realm, left.by) == (realm.id, "ann")
    with pytest.raises(LocationTaken):
        await take(node, world.warehouse)


async def test_a_place_that_an_operator_frees_is_free(world: World, node: Node, other: str) -> None:
    """With the files that are there."""
    await leave(node)
    await free_places(node.kernel, await left_places(node.kernel))

    await take(node, world.warehouse)


async def test_a_server_starts_where_its_first_catalog_would_find_files_of_others(
    world: World, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Without that catalog: an operator has to say that it may have them."""
    await leave(node)
    former = await node.kernel.realms.get(METALAKE)
    await node.kernel.realms.drop(former.id)
    await Draining(node.kernel).make_one()
    await bootstrap(node.kernel, METALAKE, catalog(world.warehouse, "main"))

    assert await list_catalogs(node.kernel, METALAKE) == []
    assert "headgate location list" in caplog.text


async def test_links_do_not_lead_to_files_that_another_metalake_left(
    world: World, node: Node, other: str
) -> None:
    """Two names of one folder are one place."""
    await leave(node)
    new = catalog("/link")

    def real(place: str) -> str:
        return place.replace("/link", world.warehouse)

    with pytest.raises(LocationTaken, match="another metalake"):
        await check_links(node.kernel, other, new, real)
    await check_links(node.kernel, METALAKE, new, real)
