"""Servers that come with another separator than those before them."""

from typing import Any

import msgspec
import pytest

from headgate.catalog import nesting, separator_changes
from headgate.catalog.calls import Call, Caller
from headgate.catalog.catalogs import (
    alter_catalog,
    change_catalog,
    create_catalog,
    find_catalog,
    list_catalogs,
)
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.lake import LakeOptions
from headgate.catalog.nesting import SEPARATOR
from headgate.catalog.separator_changes import settle_separator
from headgate.errors import Conflict
from headgate.model.separators import Governance
from tests.unit.catalog.lakes import MAIN, METALAKE, Node, World


@pytest.mark.parametrize("path", [("x|y",), ("a", "b", "x|y")])
async def test_a_separator_that_a_name_contains_is_refused(
    world: World, node: Node, path: tuple[str, ...]
) -> None:
    """At any level; the catalog, the name and other separators are named, and nothing changes."""
    await node.namespace(*path)
    before = await world.state()

    with pytest.raises(Conflict, match=r"default\.main: .*'x\|y'.*Try .*';'"):
        await settle_separator(node.kernel, "|", writable=True)
    assert await world.state() == before
    await settle_separator(node.kernel, ";", writable=True)


async def test_names_are_looked_at_once_for_each_separator(world: World, node: Node) -> None:
    """A start that changes nothing costs next to nothing, and writes nothing."""
    await settle_separator(node.kernel, "|", writable=True)
    [main] = await list_catalogs(node.kernel, METALAKE)
    before = await world.state()
    await settle_separator(node.kernel, "|", writable=True)

    assert main.properties[SEPARATOR] == "|"
    assert await world.state() == before


async def test_another_separator_is_said_once(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """Another node may still have the one before; a catalog that had none is no news."""
    await settle_separator(node.kernel, ":", writable=True)
    assert caplog.messages == []
    for _ in range(2):
        await settle_separator(node.kernel, "|", writable=True)

    [said] = caplog.messages
    assert said.startswith("catalog default.main was last served with the separator ':', and now")
    assert said.endswith("with '|'; all nodes need the same")


async def test_a_server_that_only_reads_writes_nothing(world: World, node: Node) -> None:
    """It refuses as others do."""
    before = await world.state()
    await settle_separator(node.kernel, "|", writable=False)
    assert await world.state() == before
    await node.namespace("x|y")

    with pytest.raises(Conflict):
        await settle_separator(node.kernel, "|", writable=False)


async def test_a_catalog_with_levels_stays_nested(world: World, node: Node) -> None:
    """One of the namespaces is named; without them it can become flat."""
    await node.namespace("top")
    await alter_catalog(node.kernel, MAIN, {"nested": False}, ":")
    await alter_catalog(node.kernel, MAIN, {"nested": True}, ":")
    await node.namespace("top", "in.side")
    before = await world.state()

    with pytest.raises(Conflict, match=r"main cannot do without.*it has top\.in\.side"):
        await alter_catalog(node.kernel, MAIN, {"nested": False}, ":")
    assert await world.state() == before


async def test_flat_catalogs_have_no_levels_to_separate(node: Node) -> None:
    """Their names may contain anything; what was checked before they became flat is forgotten."""
    await settle_separator(node.kernel, ";", writable=True)
    flat = await alter_catalog(node.kernel, MAIN, {"nested": False}, ":")
    await node.namespace("x|y")
    await settle_separator(node.kernel, "|", writable=True)

    assert SEPARATOR not in flat.properties


async def test_metalakes_that_are_switched_off_are_left_alone(node: Node) -> None:
    """They serve nobody."""
    await node.namespace("x|y")
    await node.kernel.realms.deactivate(METALAKE)

    await settle_separator(node.kernel, "|", writable=True)


async def test_one_level_is_looked_at_like_another(node: Node) -> None:
    """What keeps a server from starting keeps a flat catalog from becoming nested as well.

    Older servers let a catalog with levels become flat.
    """
    await node.namespace("a", "x|y")
    call = Call(MAIN, Caller("test"))
    await change_catalog(
        node.kernel, call, lambda now: msgspec.structs.replace(now, nested=False, properties={})
    )
    with pytest.raises(Conflict, match=r"'x\|y'"):
        await alter_catalog(node.kernel, MAIN, {"nested": True}, "|")

    assert not (await find_catalog(node.kernel, MAIN)).nested


async def test_a_catalog_that_becomes_nested_remembers_the_separator(node: Node) -> None:
    """That of whoever changes it; one that is nested already keeps what it has."""
    await alter_catalog(node.kernel, MAIN, {"nested": False}, ";")
    nested = await alter_catalog(node.kernel, MAIN, {"nested": True}, ";")
    again = await alter_catalog(node.kernel, MAIN, {"nested": True}, "|")

    assert nested.properties[SEPARATOR] == again.properties[SEPARATOR] == ";"


async def test_a_catalog_made_nested_with_another_separator_is_not_served(world: World) -> None:
    """A name has the server's own, which would mean two things; the error says what to do."""
    node = await world.node(LakeOptions(separator=";", governance=Governance.UNRESTRICTED))
    await alter_catalog(node.kernel, MAIN, {"nested": False}, ";")
    await node.namespace("x;y")
    assert (await node.get("namespaces/x%3By")).status == 200
    await alter_catalog(node.kernel, MAIN, {"nested": True}, ":")

    for path in ("namespaces", "namespaces/x%3By"):
        status, _, message = (await node.get(path)).error
        assert status == 400
        assert "default.main cannot be served with the separator ';'" in message
        assert "'x;y'" in message
        assert "schema.separator=':'" in message
    with pytest.raises(Conflict, match="'x;y'"):
        await settle_separator(node.kernel, ";", writable=True)
    await alter_catalog(node.kernel, MAIN, {"nested": False}, ";")
    assert (await node.get("namespaces/x%3By")).status == 200


async def test_a_catalog_made_nested_with_another_separator_is_served_if_its_names_fit(
    world: World, node: Node
) -> None:
    """Until a server with the other separator makes a name that does not."""
    other = await world.node(LakeOptions(separator="|"))
    place = f"{world.folder.as_posix()}/bars"
    bars = CatalogEntity(0, "bars", place, {SEPARATOR: "|"})
    await create_catalog(node.kernel, METALAKE, bars)
    for name in ("a", "b"):
        await node.made("namespaces", {"namespace": [name]}, catalog="bars")
        assert (await node.get(f"namespaces/{name}", catalog="bars")).status == 200
    world.rig.backend.reset()
    await node.get("namespaces/a", catalog="bars")
    assert set(world.rig.backend.calls) == {"read_pointers"}
    await other.made("namespaces", {"namespace": ["a", "x:y"]}, catalog="bars")

    assert (await node.get("namespaces/a", catalog="bars")).status == 400
    assert (await other.get("namespaces/a%7Cx%3Ay", catalog="bars")).status == 200


async def test_names_that_were_looked_at_are_not_looked_at_again(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit to a catalog with another separator costs no look at all of its names."""
    bars = CatalogEntity(0, "bars", f"{world.folder.as_posix()}/bars", {SEPARATOR: "|"})
    await create_catalog(node.kernel, METALAKE, bars)
    await node.made("namespaces", {"namespace": ["a"]}, catalog="bars")
    await node.get("namespaces", catalog="bars")
    monkeypatch.setattr(nesting, "_namespaces", None)  # what looks at all of them
    for name in ("b", "c"):
        await node.made("namespaces", {"namespace": [name]}, catalog="bars")

    assert (await node.get("namespaces/c", catalog="bars")).status == 200


async def test_other_properties_that_change_meanwhile_are_kept(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the separator is set, in the catalog as it is then."""
    real = change_catalog

    async def later(*arguments: Any) -> CatalogEntity:
        monkeypatch.setattr(separator_changes, "change_catalog", real)
        await alter_catalog(node.kernel, MAIN, {"properties": {"k": "v"}, "comment": "c"}, ":")
        return await real(*arguments)

    monkeypatch.setattr(separator_changes, "change_catalog", later)
    await settle_separator(node.kernel, "|", writable=True)

    main = await find_catalog(node.kernel, MAIN)
    assert (main.properties, main.comment) == ({"k": "v", SEPARATOR: "|"}, "c")


async def test_a_name_that_came_meanwhile_is_found(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the separator was recorded; then it is as before."""
    await settle_separator(node.kernel, ";", writable=True)
    real = change_catalog

    async def later(*arguments: Any) -> CatalogEntity:
        monkeypatch.setattr(separator_changes, "change_catalog", real)
        await node.namespace("x|y")
        return await real(*arguments)

    monkeypatch.setattr(separator_changes, "change_catalog", later)
    with pytest.raises(Conflict, match=r"'x\|y'"):
        await settle_separator(node.kernel, "|", writable=True)

    assert (await find_catalog(node.kernel, MAIN)).properties[SEPARATOR] == ";"
    await settle_separator(node.kernel, ";", writable=True)


async def test_what_another_server_recorded_meanwhile_stays(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked at the names too, and later."""
    real = change_catalog

    async def later(*arguments: Any) -> CatalogEntity:
        monkeypatch.setattr(separator_changes, "change_catalog", real)
        await settle_separator(node.kernel, "!", writable=True)
        return await real(*arguments)

    monkeypatch.setattr(separator_changes, "change_catalog", later)
    await settle_separator(node.kernel, "|", writable=True)

    assert (await find_catalog(node.kernel, MAIN)).properties[SEPARATOR] == "!"


async def test_a_catalog_that_became_flat_meanwhile_stays_so(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has nothing to remember."""
    real = change_catalog

    async def later(*arguments: Any) -> CatalogEntity:
        monkeypatch.setattr(separator_changes, "change_catalog", real)
        await alter_catalog(node.kernel, MAIN, {"nested": False}, ":")
        return await real(*arguments)

    monkeypatch.setattr(separator_changes, "change_catalog", later)
    await settle_separator(node.kernel, "|", writable=True)

    main = await find_catalog(node.kernel, MAIN)
    assert (main.nested, main.properties) == (False, {})
