"""What a client learns first."""

import msgspec
import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.limits import OPERATION_LIFETIME_MS
from tests.unit.catalog.lakes import METALAKE, Node, World


@pytest.mark.parametrize("query", ["", "?warehouse=", "?warehouse=main", "?warehouse=default.main"])
async def test_the_default_catalog_has_many_names(node: Node, query: str) -> None:
    """No name, its name, and its name with that of its metalake."""
    config = (await node.get(f"/v1/config{query}")).json

    assert config["overrides"] == {"prefix": "default.main", "namespace-separator": "%3A"}
    assert config["defaults"] == {}


async def test_other_catalogs_have_prefixes_of_their_own(world: World, node: Node) -> None:
    """Both forms of the prefix lead to the same catalog."""
    place = f"{world.folder.as_posix()}/x"
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "x", place, {}))
    config = (await node.get("/v1/config?warehouse=x")).json
    await node.made("namespaces", {"namespace": ["in x"]}, catalog="x")

    assert config["overrides"]["prefix"] == "default.x"
    for prefix in ("x", "default.x"):
        listed = await node.get("namespaces", catalog=prefix)
        assert listed.json["namespaces"] == [["in x"]]
    assert (await node.get("namespaces")).json["namespaces"] == [["a"]]


async def test_the_only_catalog_needs_no_name(world: World, node: Node) -> None:
    """If the default one does not exist; with two of them a name is needed."""
    await node.kernel.realms.create("lake")
    for name in ("x", "y"):
        place = f"{world.folder.as_posix()}/{name}"
        await create_catalog(node.kernel, "lake", CatalogEntity(0, name, place, {}))
        node.use(msgspec.structs.replace(node.service, metalake="lake"))
        answer = await node.get("/v1/config")
        if name == "x":
            assert answer.json["overrides"]["prefix"] == "lake.x"
        else:
            assert answer.error[:2] == (404, "NoSuchWarehouseException")


async def test_keys_live_as_long_as_is_said(node: Node) -> None:
    """An ISO duration; only with it clients send keys at all."""
    config = (await node.get("/v1/config")).json

    assert config["idempotency-key-lifetime"] == "PT30M"
    assert OPERATION_LIFETIME_MS == 30 * 60 * 1_000


@pytest.mark.parametrize(
    ("warehouse", "message"),
    [
        ("none", "Catalog does not exist: default.none"),
        ("none.main", "Metalake does not exist: none"),
        ("a.b.c", "Metalake does not exist: a.b"),
        ("%20", "Catalog does not exist: default. "),
        ("default.", "Catalog does not exist: default."),
        (".main", "Metalake does not exist: "),
    ],
)
async def test_an_unknown_warehouse(node: Node, warehouse: str, message: str) -> None:
    """404 with the type that clients know since 2026."""
    answer = await node.get(f"/v1/config?warehouse={warehouse}")

    assert answer.error[:2] == (404, "NoSuchWarehouseException")
    assert answer.error[2].startswith(message)
