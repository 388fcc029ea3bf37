"""Names in URLs: every encoding that clients use, and what comes back."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.lake import LakeOptions
from headgate.http.iceberg.service import catalog_name, prefix_of
from headgate.model.names import Identifier
from headgate.model.separators import Governance
from tests.unit.catalog.lakes import METALAKE, Node, World, new_table, new_view

ODD = [
    *("my.schema", "with space", "a/b", "100%", "a+b", "%2F", "a%20b", "?#&=", "a\\b", "'\""),
    *("Größe", "日本", "e\u0301", "\U0001f600"),
]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("encode", [quote_plus, lambda name: quote(name, safe="")])
async def test_every_name_is_found_under_every_spelling(
    node: Node, name: str, encode: Callable[[str], str]
) -> None:
    """Java's and pyiceberg's: a space is a plus or `%20`; a slash is never a slash."""
    await node.made("namespaces", {"namespace": ["a", name]})
    for separator in ("%1F", ":", "%3A", "\x1f"):
        path = f"namespaces/{separator.join((encode('a'), encode(name)))}"
        assert (await node.get(path)).json["namespace"] == ["a", name]
    await node.made(f"{path}/tables", new_table(name))
    await node.made(f"{path}/views", new_view(f"{name}v"))
    loaded = await node.get(f"{path}/tables/{encode(name)}")
    listed = await node.get(f"{path}/tables")
    children = await node.get(f"namespaces?parent={encode('a')}")
    own = await node.get(f"namespaces?parent={path.removeprefix('namespaces/')}")

    assert loaded.status == 200
    assert listed.json["identifiers"] == [{"namespace": ["a", name], "name": name}]
    assert (await node.get(f"{path}/views/{encode(name + 'v')}")).status == 200
    assert children.json["namespaces"] == [["a", name]]
    assert own.json["namespaces"] == []
    assert (await node.delete(f"{path}/tables/{encode(name)}")).status == 204


@pytest.mark.parametrize("name", [name for name in ODD if ":" not in name])
async def test_a_parent_may_be_encoded_twice(node: Node, name: str) -> None:
    """As pyiceberg does; the name as it was sent comes first."""
    await node.made("namespaces", {"namespace": [name, "child"]})
    twice = quote(quote(name, safe=""), safe="")
    answer = await node.get(f"namespaces?parent={twice}")

    assert answer.json["namespaces"] == [[name, "child"]]


async def test_a_name_that_looks_encoded_is_itself(node: Node) -> None:
    """Only if there is none of that name it is read once more."""
    for name in ("a%20b", "a b"):
        await node.made("namespaces", {"namespace": [name, f"below {name}"]})
    once = await node.get("namespaces?parent=a%2520b")
    missing = await node.get("namespaces?parent=x%2520y")

    assert once.json["namespaces"] == [["a%20b", "below a%20b"]]
    assert missing.error == (404, "NoSuchNamespaceException", "Namespace does not exist: x y")


async def test_an_empty_parent_is_none(node: Node) -> None:
    """Clients send it for the first level."""
    answer = await node.get("namespaces?parent=")

    assert answer.json["namespaces"] == [["a"]]


async def test_the_separator_in_force_is_advertised(world: World) -> None:
    """And the standard one is understood all the same."""
    node = await world.node(LakeOptions(separator="$"))
    await node.made("namespaces", {"namespace": ["a", "b:c"]})
    config = (await node.get("/v1/config")).json

    assert config["overrides"]["namespace-separator"] == "%24"
    for path in ("a%24b%3Ac", "a$b:c", "a%1Fb:c"):
        assert (await node.get(f"namespaces/{path}")).json["namespace"] == ["a", "b:c"]


async def test_a_flat_catalog_splits_nothing(world: World) -> None:
    """Its separator is the one that no name contains."""
    node = await world.node(LakeOptions(governance=Governance.UNRESTRICTED))
    flat = CatalogEntity(0, "flat", f"{world.folder.as_posix()}/flat", {}, nested=False)
    await create_catalog(node.kernel, METALAKE, flat)
    await node.made("namespaces", {"namespace": ["a:b"]}, catalog="flat")
    config = (await node.get("/v1/config?warehouse=flat")).json
    found = await node.get("namespaces/a%3Ab", catalog="flat")
    refused = await node.post("namespaces", {"namespace": ["a", "b"]}, catalog="flat")

    assert config["overrides"]["namespace-separator"] == "%1F"
    assert found.json["namespace"] == ["a:b"]
    assert refused.error[:2] == (400, "BadRequestException")


@pytest.mark.parametrize("catalog", ["my catalog", "a/b", "größe", "100%", "x+y"])
async def test_a_catalog_of_any_name_can_be_reached(world: World, node: Node, catalog: str) -> None:
    """Clients put the prefix into paths as they got it."""
    place = f"{world.folder.as_posix()}/other"
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, catalog, place, {}))
    warehouse = quote(catalog, safe="")
    prefix = (await node.get(f"/v1/config?warehouse={warehouse}")).json["overrides"]["prefix"]
    await node.made("namespaces", {"namespace": ["mine"]}, catalog=prefix)

    assert (await node.get("namespaces", catalog=prefix)).json["namespaces"] == [["mine"]]
    assert "/" not in prefix


async def test_a_metalake_may_have_dots(world: World, node: Node) -> None:
    """Catalogs may not, so the last dot separates the two."""
    await node.kernel.realms.create("my.lake")
    place = f"{world.folder.as_posix()}/other"
    await create_catalog(node.kernel, "my.lake", CatalogEntity(0, "main", place, {}))
    config = (await node.get("/v1/config?warehouse=my.lake.main")).json

    assert config["overrides"]["prefix"] == "my.lake.main"
    assert (await node.get("namespaces", catalog="my.lake.main")).json["namespaces"] == []


any_text = st.text(st.characters(codec="utf-8"), min_size=1)


@given(any_text, any_text.filter(lambda text: "." not in text))
def test_prefixes_round_trip(metalake: str, catalog: str) -> None:
    """Whatever the two are called, clients put what they got into paths."""
    name = CatalogName(metalake, catalog)
    service: Any = SimpleNamespace(metalake="default")

    assert catalog_name(service, prefix_of(name)) == name


async def test_names_in_messages_have_dots(node: Node) -> None:
    """As clients look for them."""
    await node.made("namespaces", {"namespace": ["a", "b"]})
    answer = await node.get("namespaces/a%1Fb/tables/c")

    assert answer.error[2] == f"Table does not exist: {Identifier(('a', 'b'), 'c')}"
    assert answer.error[2].endswith("a.b.c")


async def test_lists_of_any_length_are_whole(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are put together of pieces, some of which are not full; each name is there once."""
    monkeypatch.setattr("headgate.http.iceberg.lists.LIST_CHUNK_ENTRIES", 3)
    names: list[str] = []
    for name in sorted(["x", "y", *ODD[-6:]]):
        names.append(name)
        await node.made("namespaces/a/tables", new_table(name))
        await node.made("namespaces", {"namespace": ["a", name]})
        listed = (await node.get("namespaces/a/tables")).json
        children = (await node.get("namespaces?parent=a")).json
        assert listed == {
            "identifiers": [{"namespace": ["a"], "name": one} for one in sorted(names)],
            "next-page-token": None,
        }
        assert children == {
            "namespaces": [["a", one] for one in sorted(names)],
            "next-page-token": None,
        }
