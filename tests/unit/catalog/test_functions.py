"""Functions: made by those who can, listed and loaded by all."""

import pytest

from headgate.catalog.entities import FunctionEntity
from headgate.catalog.functions import create_function
from headgate.catalog.namespaces import drop_namespace
from headgate.errors import AlreadyExists, BadName, NamespaceNotEmpty, NamespaceNotFound
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import Node, World

METADATA = b'{"function-uuid":"u","format-version":1,"definitions":[],"definition-log":[]}'


async def test_functions_are_listed_and_loaded(node: Node) -> None:
    """Their names are their own: a table may have the same."""
    await node.table("f")
    for name, place in [("f", "/w/f.json"), ("g g", "")]:
        entity = FunctionEntity(METADATA, place)
        await create_function(node.lake, await node.opened(), Identifier(("a",), name), entity)
    listed = await node.get("namespaces/a/functions")
    page = await node.get("namespaces/a/functions?pageSize=1")
    loaded = [(await node.get(f"namespaces/a/functions/{name}")).json for name in ("f", "g%20g")]

    assert listed.json == {"identifiers": [["a", "f"], ["a", "g g"]], "next-page-token": None}
    assert page.json["identifiers"] == [["a", "f"]]
    assert loaded[0]["metadata-location"] == "/w/f.json"
    assert loaded[0]["metadata"]["function-uuid"] == "u"
    assert loaded[1].keys() == {"metadata"}


async def test_a_function_that_cannot_be_made(world: World, node: Node) -> None:
    """Its name is taken or none, or its namespace is missing."""
    function = FunctionEntity(METADATA)
    await create_function(node.lake, await node.opened(), Identifier(("a",), "f"), function)
    before = await world.state()
    for identifier, error in [
        (Identifier(("a",), "f"), AlreadyExists),
        (Identifier(("a",), ""), BadName),
        (Identifier(("none",), "f"), NamespaceNotFound),
    ]:
        with pytest.raises(error):
            await create_function(node.lake, await node.opened(), identifier, function)

    assert await world.state() == before


async def test_a_namespace_with_functions_is_not_empty(node: Node) -> None:
    """The error says that it is a function."""
    await create_function(
        node.lake, await node.opened(), Identifier(("a",), "f"), FunctionEntity(METADATA)
    )
    with pytest.raises(NamespaceNotEmpty, match="function f"):
        await drop_namespace(node.lake, await node.opened(), ("a",))
