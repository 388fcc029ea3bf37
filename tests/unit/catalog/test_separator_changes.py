"""Servers that come with another separator than those before them."""

import pytest

from headgate.catalog.catalogs import SEPARATOR, alter_catalog, list_catalogs
from headgate.catalog.separator_changes import settle_separator
from headgate.errors import Conflict
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


async def test_a_server_that_only_reads_writes_nothing(world: World, node: Node) -> None:
    """It refuses as others do."""
    before = await world.state()
    await settle_separator(node.kernel, "|", writable=False)
    assert await world.state() == before
    await node.namespace("x|y")

    with pytest.raises(Conflict):
        await settle_separator(node.kernel, "|", writable=False)


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
