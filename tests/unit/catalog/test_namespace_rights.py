"""Rights on namespaces are on the very ones that are changed, and on no others."""

from collections.abc import Awaitable, Callable

import pytest

from headgate.catalog.entities import FunctionEntity, Kind
from headgate.catalog.functions import create_function
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import create_namespace, drop_namespace, update_namespace
from headgate.catalog.new_tables import create_table
from headgate.catalog.openings import Opened
from headgate.catalog.relations import rename_relation
from headgate.catalog.versions import NewTable
from headgate.catalog.views import create_view
from headgate.errors import Forbidden, HeadgateError, NamespaceNotFound
from headgate.model.names import Identifier
from tests.unit.catalog.guarded import Guarded, rights
from tests.unit.catalog.lakes import CATALOG, SCHEMA, Node, World, new_view

NEW, OTHER = Identifier(("a",), "new"), Identifier(("b",), "t")
TABLE = NewTable("new", SCHEMA)
FUNCTION = FunctionEntity(b"{}")

Do = Callable[[Lake, Opened], Awaitable[object]]
CHANGES: list[tuple[Do, type[HeadgateError]]] = [
    (lambda lake, on: update_namespace(lake, on, ("a",), {"x": "1"}, []), NamespaceNotFound),
    (lambda lake, on: drop_namespace(lake, on, ("a",)), NamespaceNotFound),
    (lambda lake, on: rename_relation(lake, on, OTHER, NEW, Kind.TABLE), NamespaceNotFound),
    (lambda lake, on: create_function(lake, on, NEW, FUNCTION), NamespaceNotFound),
    (lambda lake, on: create_namespace(lake, on, ("a", "new"), {}), Forbidden),
    (lambda lake, on: create_table(lake, on, ("a",), TABLE), Forbidden),
    (lambda lake, on: create_view(lake, on, NEW, None, new_view("new")), Forbidden),
]
EACH = pytest.mark.parametrize(("do", "error"), CHANGES)


@pytest.fixture
async def owned(node: Node, guarded: Guarded) -> Guarded:
    """Bob owns two schemas, and a table in the second one."""
    await node.namespace("b")
    await node.table(namespace="b")
    await guarded.users("bob")
    await guarded.role("uses", rights("catalog", CATALOG, "use_catalog"))
    await guarded.assign("bob", "uses")
    for kind, name in (("schema", "a"), ("schema", "b"), ("table", "b.t")):
        await guarded.own(kind, f"{CATALOG}.{name}", "bob")
    return guarded


@EACH
async def test_another_one_of_the_same_name_is_not_touched(
    world: World, node: Node, owned: Guarded, do: Do, error: type[HeadgateError]
) -> None:
    """It came after the caller's rights were looked at, and nobody gave any on it."""
    opened = await owned.catalog("bob")
    assert (await node.delete("namespaces/a")).status == 204
    await node.namespace("a")
    before = await world.state()

    with pytest.raises(error):
        await do(owned.lake, opened)
    assert await world.state() == before


@EACH
async def test_the_one_that_was_meant_is(
    owned: Guarded, node: Node, do: Do, error: type[HeadgateError]
) -> None:
    """Whatever else changes meanwhile."""
    opened = await owned.catalog("bob")
    await node.namespace("c")

    await do(owned.lake, opened)


async def test_what_comes_between_is_asked_about(owned: Guarded, node: Node) -> None:
    """Who makes a schema in one that others made a moment ago needs to be allowed that."""
    opened = await owned.catalog("bob")
    await node.namespace("a", "between")
    await create_namespace(owned.lake, opened, ("a", "between", "new"), {})

    opened = await owned.catalog("bob")
    await node.namespace("a", "other")
    await owned.own("schema", f"{CATALOG}.a", "olga")
    with pytest.raises(Forbidden):
        await create_namespace(owned.lake, opened, ("a", "other", "new"), {})
