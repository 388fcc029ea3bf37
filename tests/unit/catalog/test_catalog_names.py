"""Names of catalogs that mean nothing, or mean something else by the time they are read."""

import pytest

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_names import CatalogNames
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import Openings
from headgate.errors import BackendUnavailable, CatalogNotFound, MetalakeNotFound
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World

OTHER = CatalogName("other", CATALOG)


@pytest.fixture
def names(node: Node) -> CatalogNames:
    """What finds them, which knows nothing yet."""
    return Openings(node.kernel)._names


async def rename(node: Node, old: str, new: str) -> None:
    realms = node.kernel.realms
    await realms.rename((await realms.get(old)).id, new)


async def test_an_absent_catalog_of_a_known_metalake_costs_one_read(
    world: World, node: Node, names: CatalogNames
) -> None:
    """As one that is there, whichever name it is."""
    await names.find(Call(CatalogName(METALAKE, CATALOG)))
    for name in ("none", "nothing", "none"):
        world.rig.backend.reset()
        with pytest.raises(CatalogNotFound):
            await names.find(Call(CatalogName(METALAKE, name)))
        assert dict(world.rig.backend.calls) == {"read_pointers": 1}


async def test_an_absent_metalake_costs_one_read(
    world: World, node: Node, names: CatalogNames
) -> None:
    """Each time: nothing is remembered of it."""
    await names.find(Call(CatalogName(METALAKE, CATALOG)))
    for _ in range(2):
        world.rig.backend.reset()
        with pytest.raises(MetalakeNotFound):
            await names.find(Call(OTHER))
        assert dict(world.rig.backend.calls) == {"read_pointers": 1}


async def test_a_name_that_means_another_metalake_by_now_is_looked_up_again(
    world: World, node: Node, names: CatalogNames
) -> None:
    """What was remembered of it is checked by every read."""
    first = await names.find(Call(CatalogName(METALAKE, CATALOG)))
    second = CatalogEntity(0, CATALOG, f"{world.warehouse}-too", {})
    await node.kernel.realms.create(OTHER.metalake)
    await create_catalog(node.kernel, OTHER.metalake, second)
    await rename(node, METALAKE, "former")
    await rename(node, OTHER.metalake, METALAKE)

    found = await names.find(Call(CatalogName(METALAKE, CATALOG)))
    assert found.realm != first.realm
    assert found.catalog.warehouse == second.warehouse


async def test_a_name_that_never_stands_still_is_given_up(
    node: Node, names: CatalogNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking again and again has an end."""

    async def wrong(_call: Call) -> str:
        return "1"

    monkeypatch.setattr(names, "_look_up", wrong)
    with pytest.raises(BackendUnavailable, match="again and again"):
        await names.find(Call(CatalogName(METALAKE, CATALOG)))


async def test_what_is_remembered_has_a_bound(
    node: Node, names: CatalogNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is forgotten as a whole."""
    monkeypatch.setattr("headgate.catalog.catalog_names.OPENINGS_KNOWN_MAX", 1)
    names._known["former"] = "1"

    await names.find(Call(CatalogName(METALAKE, CATALOG)))
    assert list(names._known) == [METALAKE]
