"""Catalogs of a metalake, and what a fresh store begins with."""

import asyncio
from pathlib import Path

import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import (
    alter_catalog,
    bootstrap,
    create_catalog,
    delete_catalog,
    find_catalog,
    list_catalogs,
)
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import (
    BadName,
    BadRequest,
    BadSetting,
    CatalogExists,
    CatalogNotFound,
    LocationTaken,
    RealmNotFound,
)
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from tests.unit.catalog.lakes import METALAKE, Node, World


def catalog(name: str = "main", warehouse: str = "/w") -> CatalogEntity:
    return CatalogEntity(0, name, warehouse, {"k": "v"})


async def test_a_fresh_store_gets_a_metalake_and_a_catalog(world: World) -> None:
    """Once: the second start finds it."""
    kernel = await world.rig.open(types=CATALOG_TYPES)
    for _ in range(2):
        await bootstrap(kernel, METALAKE, catalog())

    [found] = await list_catalogs(kernel, METALAKE)
    assert (found.name, found.warehouse, found.properties) == ("main", "/w", {"k": "v"})
    assert found.id
    assert [realm.name for realm in await kernel.realms.list()] == [METALAKE]


async def test_a_place_that_cannot_be_used_is_refused_only_when_it_is_needed(world: World) -> None:
    """A store that has its catalog starts, whatever became of the settings."""
    kernel = await world.rig.open(types=CATALOG_TYPES)

    async def refuse() -> None:
        raise BadSetting("/w")

    with pytest.raises(BadSetting, match="/w"):
        await bootstrap(kernel, METALAKE, catalog(), refuse)
    assert await list_catalogs(kernel, METALAKE) == []
    await bootstrap(kernel, METALAKE, catalog())
    await bootstrap(kernel, METALAKE, catalog(), refuse)


async def test_nodes_that_start_at_once_make_one(world: World) -> None:
    """Whoever is later finds a metalake that is half made, and completes it."""
    kernels = [await world.rig.open(types=CATALOG_TYPES) for _ in range(4)]
    await asyncio.gather(*(bootstrap(kernel, METALAKE, catalog()) for kernel in kernels))

    assert len(await list_catalogs(kernels[0], METALAKE)) == 1


@pytest.mark.parametrize("state", [RealmState.CREATED, RealmState.INITIALIZING])
async def test_a_start_that_was_cut_off_is_completed(world: World, state: RealmState) -> None:
    """The metalake is there, and serves nobody yet."""
    kernel = await world.rig.open(types=CATALOG_TYPES)
    realm = await kernel.realms.reserve(METALAKE)
    await kernel.realms.move(realm.id, state)
    await bootstrap(kernel, METALAKE, catalog())

    assert len(await list_catalogs(kernel, METALAKE)) == 1


async def test_a_store_that_is_in_use_is_left_alone(world: World) -> None:
    """It has other metalakes; or its metalake was switched off, and the server starts anyhow."""
    kernel = await world.rig.open(types=CATALOG_TYPES)
    await kernel.realms.create("other")
    await bootstrap(kernel, METALAKE, catalog())
    assert [realm.name for realm in await kernel.realms.list()] == ["other"]

    await kernel.realms.deactivate("other")
    await bootstrap(kernel, "other", catalog())
    await kernel.realms.activate("other")
    assert await list_catalogs(kernel, "other") == []


async def test_two_catalogs_make_the_same_name(world: World, node: Node) -> None:
    """The second is told, and nothing of it is listed."""
    with pytest.raises(CatalogExists, match=r"default\.main"):
        await create_catalog(node.kernel, METALAKE, catalog("main", "/other"))

    assert len(await list_catalogs(node.kernel, METALAKE)) == 1


@pytest.mark.parametrize("place", ["{w}", "{w}/below", "{w}/.."])
async def test_catalogs_do_not_lie_in_one_another(world: World, node: Node, place: str) -> None:
    """Their tables could not be told apart."""
    warehouse = str(Path(place.replace("{w}", world.warehouse)).resolve())
    with pytest.raises(LocationTaken):
        await create_catalog(node.kernel, METALAKE, catalog("second", warehouse))


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (catalog("a.b"), BadRequest),
        (catalog(""), BadName),
        (catalog("x", "relative"), BadRequest),
        (CatalogEntity(0, "x", "/x", {}, allowed_locations=("nowhere",)), BadRequest),
    ],
)
async def test_a_catalog_that_cannot_be(
    world: World, node: Node, new: CatalogEntity, error: type[Exception]
) -> None:
    """Its name has a dot or is none, or a place is no location: nothing is made."""
    before = await world.state()
    with pytest.raises(error):
        await create_catalog(node.kernel, METALAKE, new)

    assert await world.state() == before


async def test_a_metalake_that_does_not_exist_has_no_catalogs(node: Node) -> None:
    """Neither can they be listed nor made."""
    with pytest.raises(RealmNotFound):
        await list_catalogs(node.kernel, "none")
    with pytest.raises(RealmNotFound):
        await create_catalog(node.kernel, "none", catalog("x"))


async def test_no_two_metalakes_share_a_warehouse(world: World, node: Node) -> None:
    """A purge in one would delete the files of the other."""
    await node.kernel.realms.create("other")
    await create_catalog(node.kernel, METALAKE, catalog("one", "/shared/x"))

    for place in ("/shared/x", "/shared", "/shared/x/y"):
        with pytest.raises(LocationTaken, match="one"):
            await create_catalog(node.kernel, "other", catalog("two", place))
    await node.kernel.realms.deactivate(METALAKE)
    await create_catalog(node.kernel, "other", catalog("two", "/shared/z"))


async def test_a_catalog_is_found_among_many_without_reading_them(world: World, node: Node) -> None:
    """What it costs does not grow with the others."""
    for number in range(20):
        await create_catalog(node.kernel, METALAKE, catalog(f"c{number}", f"/w/{number}"))
    fresh = await world.node()
    world.rig.backend.reset()
    found = await find_catalog(fresh.kernel, CatalogName(METALAKE, "c7"))

    assert found.warehouse == "/w/7"
    assert world.rig.backend.rows["fetch"] <= 5
    with pytest.raises(CatalogNotFound):
        await find_catalog(fresh.kernel, CatalogName(METALAKE, "c77"))


async def test_the_log_says_who_changed_a_catalog(node: Node) -> None:
    """Whatever was done to it."""
    name = CatalogName(METALAKE, "c")
    new = CatalogEntity(0, "c", "/c", {}, created_by="ann")
    await create_catalog(node.kernel, METALAKE, new)
    await alter_catalog(node.kernel, name, {"comment": "x"}, ":", by="bob")
    await delete_catalog(node.kernel, name)

    realm = await node.kernel.realms.get(METALAKE)
    log = node.kernel.log.oldest_first(PointerKey(realm.id, CATALOG_POINTER))
    notes = [group.note async for commit in log for group in commit.groups]
    assert notes[1:] == [
        {"do": do, "kind": "catalog", "name": ["c"], "by": by}
        for do, by in (("create", "ann"), ("alter", "bob"), ("drop", "operator"))
    ]
