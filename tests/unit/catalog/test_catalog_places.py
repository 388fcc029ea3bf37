"""The places of catalogs: each is one's alone, in all metalakes, and purges respect it."""

import asyncio
from typing import Any

import pytest

from headgate.catalog import catalog_commits, catalogs, holders, territories
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import alter_catalog, create_catalog, delete_catalog, list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.reservations import release
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import LocationTaken
from headgate.kernel.draft import Draft
from headgate.model.locations import normalize
from tests.unit.catalog.lakes import MAIN, METALAKE, Node, World, new_table


def catalog(name: str, warehouse: str, *allowed: str) -> CatalogEntity:
    return CatalogEntity(0, name, warehouse, {}, allowed_locations=allowed)


@pytest.fixture
async def neighbour(node: Node) -> CatalogEntity:
    """A catalog in /n that may also use /o, with another metalake beside its own."""
    await node.kernel.realms.create("other")
    return await create_catalog(node.kernel, METALAKE, catalog("neighbour", "/n", "/o"))


@pytest.mark.parametrize("metalake", [METALAKE, "other"])
@pytest.mark.parametrize("places", [("/x", "/n"), ("/x", "/o"), ("/o/in",), ("/x", "/n/in", "/y")])
async def test_a_new_catalog_gets_no_place_of_another(
    node: Node, neighbour: CatalogEntity, metalake: str, places: tuple[str, ...]
) -> None:
    """Neither as warehouse nor as allowed location; the one that has it is named."""
    with pytest.raises(LocationTaken, match=r"default\.neighbour"):
        await create_catalog(node.kernel, metalake, catalog("new", *places))

    assert "new" not in [one.name for one in await list_catalogs(node.kernel, metalake)]


@pytest.mark.parametrize("metalake", [METALAKE, "other"])
@pytest.mark.parametrize("place", ["/n", "/n/in", "/o", "/"])
async def test_no_place_of_another_can_be_allowed_later(
    node: Node, neighbour: CatalogEntity, metalake: str, place: str
) -> None:
    """The one that has it is named, and nothing changes."""
    made = await create_catalog(node.kernel, metalake, catalog("new", "/x", "/y"))
    changes = {"allowed_locations": ("/z", place), "comment": "c"}
    with pytest.raises(LocationTaken, match=r"default\.neighbour|default\.main"):
        await alter_catalog(node.kernel, CatalogName(metalake, "new"), changes, ":")

    assert made in await list_catalogs(node.kernel, metalake)


async def test_a_metalake_that_is_switched_off_keeps_its_places(
    node: Node, neighbour: CatalogEntity
) -> None:
    """It can be switched on again, and has its files still."""
    await node.kernel.realms.deactivate(METALAKE)

    with pytest.raises(LocationTaken, match=r"default\.neighbour"):
        await create_catalog(node.kernel, "other", catalog("new", "/n"))


async def test_a_place_is_free_when_its_catalog_lets_go_of_it(
    node: Node, neighbour: CatalogEntity
) -> None:
    """Because it is no longer allowed, or because the catalog is gone."""
    name = CatalogName(METALAKE, "neighbour")
    await alter_catalog(node.kernel, name, {"allowed_locations": ("/p", "/n/in")}, ":")
    await create_catalog(node.kernel, METALAKE, catalog("new", "/o"))
    with pytest.raises(LocationTaken):
        await create_catalog(node.kernel, METALAKE, catalog("newer", "/p"))
    await delete_catalog(node.kernel, name)

    await create_catalog(node.kernel, METALAKE, catalog("newer", "/p", "/n"))


async def test_a_catalog_may_have_places_in_one_another(node: Node) -> None:
    """They are all its own."""
    made = await create_catalog(node.kernel, METALAKE, catalog("c", "/n/w", "/n", "/n/w"))
    name = CatalogName(METALAKE, "c")
    changed = await alter_catalog(node.kernel, name, {"allowed_locations": ("/n/w/x",)}, ":")

    assert (made.allowed_locations, changed.allowed_locations) == (("/n", "/n/w"), ("/n/w/x",))
    await create_catalog(node.kernel, METALAKE, catalog("d", "/n/other"))


@pytest.mark.parametrize("how", ["create", "alter"])
async def test_two_metalakes_take_a_place_at_once(
    world: World, node: Node, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each looks before the other commits: they do not both get it."""
    other = await world.node()
    await node.kernel.realms.create("other")
    for metalake in (METALAKE, "other"):
        await create_catalog(node.kernel, metalake, catalog("old", f"/{metalake}"))
    both, real = asyncio.Barrier(2), territories.check_elsewhere
    looks = []

    async def together(*arguments: Any) -> None:
        await real(*arguments)
        looks.append(arguments)
        if len(looks) <= 2:
            await both.wait()

    def taking(taker: Node, metalake: str) -> Any:
        if how == "create":
            return create_catalog(taker.kernel, metalake, catalog("new", f"/{metalake}2", "/x"))
        name, changes = CatalogName(metalake, "old"), {"allowed_locations": ("/x",)}
        return alter_catalog(taker.kernel, name, changes, ":")

    for module in (catalogs, catalog_commits):
        monkeypatch.setattr(module, "check_elsewhere", together)
    done = await asyncio.gather(
        taking(node, METALAKE), taking(other, "other"), return_exceptions=True
    )

    refused = [one for one in done if isinstance(one, LocationTaken)]
    having = [
        one
        for metalake in (METALAKE, "other")
        for one in await list_catalogs(node.kernel, metalake)
        if "/x" in one.allowed_locations
    ]
    assert refused
    assert len(having) == 2 - len(refused)


async def test_a_new_catalog_that_is_in_use_already_is_not_taken_back(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who made it is told of the other one all the same; purges leave what both have."""
    looks = []

    async def taken_at_last(*arguments: Any) -> None:
        looks.append(arguments)
        if len(looks) == 2:
            await node.made("namespaces", {"namespace": ["a"]}, catalog="new")
            raise LocationTaken("Location is taken: /x")

    monkeypatch.setattr(catalog_commits, "check_elsewhere", taken_at_last)
    with pytest.raises(LocationTaken, match="/x"):
        await create_catalog(node.kernel, METALAKE, catalog("new", "/x"))

    assert (await node.get("namespaces/a", catalog="new")).status == 200


async def test_among_very_many_catalogs_only_the_metalake_is_named(
    node: Node, neighbour: CatalogEntity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places are kept by id, and to look through all names would make a refusal dear."""
    monkeypatch.setattr(holders, "NAMES_LOOKED_AT_MAX", 0)

    with pytest.raises(LocationTaken, match="a catalog of metalake default"):
        await create_catalog(node.kernel, "other", catalog("new", "/n"))


async def test_what_others_changed_meanwhile_is_not_undone(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that is taken back takes back nothing else."""
    real, looks = territories.check_elsewhere, []

    async def taken_at_last(*arguments: Any) -> None:
        looks.append(arguments)
        if len(looks) == 2:
            monkeypatch.setattr(catalogs, "check_elsewhere", real)
            await alter_catalog(node.kernel, MAIN, {"comment": "theirs"}, ":")
            raise LocationTaken("Location is taken: /x")

    monkeypatch.setattr(catalogs, "check_elsewhere", taken_at_last)
    changes = {"allowed_locations": ("/x",), "comment": "ours"}
    with pytest.raises(LocationTaken):
        await alter_catalog(node.kernel, MAIN, changes, ":")

    [main] = await list_catalogs(node.kernel, METALAKE)
    assert (main.allowed_locations, main.comment) == ((), "theirs")


async def unchecked(*_arguments: Any) -> None:
    """As if no table or view held a location."""


async def test_a_purge_leaves_what_another_catalog_has(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a store is from a time in which two could be allowed the same."""
    monkeypatch.setattr(territories, "_check_held", unchecked)
    place = (world.folder / "shared").as_posix()
    await create_catalog(node.kernel, METALAKE, catalog("other", place))
    await node.made("namespaces", {"namespace": ["a"]}, catalog="default.other")
    table = await node.made("namespaces/a/tables", new_table(), catalog="default.other")
    await _hide(node, place)
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (place,)}, ":")
    await _take(node, "other", place)
    body = {"name": "copy", "metadata-location": table["metadata-location"]}
    await node.made("namespaces/a/register", body)
    await node.delete("namespaces/a/tables/copy?purgeRequested=true")
    await node.purges.idle()

    assert table["metadata-location"] in world.files()
    loaded = await node.get("namespaces/a/tables/t", catalog="default.other")
    assert loaded.status == 200


async def _hide(node: Node, place: str) -> None:
    """Forget who has a place."""
    opened = await node.opened()
    await opened.realm.commit(CATALOG_POINTER, lambda draft: release(draft, [normalize(place)]))


async def _take(node: Node, name: str, place: str) -> None:
    """Say that a catalog has a place, whoever else has it."""
    opened = await node.opened(name)

    def attempt(draft: Draft) -> None:
        release(draft, [normalize(place)])
        territories.settle(draft, opened.catalog.id, (), (normalize(place),))

    await opened.realm.commit(CATALOG_POINTER, attempt)
