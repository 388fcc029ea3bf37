"""Namespaces: created with their parents, listed level by level, changed, dropped when empty."""

import asyncio

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.lake import LakeOptions
from headgate.catalog.namespaces import (
    create_namespace,
    drop_namespace,
    list_namespaces,
    load_namespace,
    update_namespace,
)
from headgate.catalog.paging import Paging
from headgate.errors import (
    BadName,
    BadRequest,
    Forbidden,
    NamespaceExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    Unprocessable,
)
from headgate.kernel.records import PointerKey
from headgate.limits import NAMESPACE_LEVELS_MAX
from headgate.model.separators import Governance
from tests.unit.catalog.lakes import METALAKE, Node, World, call

ODD_NAMES = [
    *("my.schema", "with space", "a/b", "100%", "a+b", "%2F"),
    *("Größe", "日本", "e\u0301", "\U0001f600"),
]


async def children(node: Node, *parent: str) -> list[tuple[str, ...]]:
    return (await list_namespaces(await node.opened(), parent, Paging())).entries


async def test_missing_parents_are_made_in_the_same_commit(world: World, node: Node) -> None:
    """Three new levels are one commit, and the properties belong to the last."""
    world.rig.backend.reset()
    await create_namespace(node.lake, await node.opened(), ("x", "y", "z"), {"k": "v"})

    assert world.rig.backend.calls["commit"] == 1
    assert await load_namespace(await node.opened(), ("x", "y", "z")) == {"k": "v"}
    assert await load_namespace(await node.opened(), ("x", "y")) == {}
    assert await load_namespace(await node.opened(), ("x",)) == {}


async def test_two_nodes_may_need_the_same_parent(world: World, node: Node) -> None:
    """The one that is later finds it made, and adds its own child only."""
    other = await world.node()
    await asyncio.gather(
        create_namespace(node.lake, await node.opened(), ("x", "y"), {}),
        create_namespace(other.lake, await other.opened(), ("x", "z"), {}),
        create_namespace(other.lake, await other.opened(), ("x", "y", "w"), {}),
        return_exceptions=True,
    )

    assert await children(node, "x") == [("x", "y"), ("x", "z")]
    assert await children(other, "x", "y") == [("x", "y", "w")]


async def test_of_two_that_make_the_same_one_is_told(world: World, node: Node) -> None:
    """Nothing is made twice, and what the first one set stays."""
    other = await world.node()
    outcomes = await asyncio.gather(
        create_namespace(node.lake, await node.opened(), ("x", "y"), {"by": "one"}),
        create_namespace(other.lake, await other.opened(), ("x", "y"), {"by": "two"}),
        return_exceptions=True,
    )
    [won] = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    [lost] = [outcome for outcome in outcomes if not isinstance(outcome, dict)]

    assert isinstance(lost, NamespaceExists)
    assert await load_namespace(await node.opened(), ("x", "y")) == won


async def test_if_one_level_is_refused_no_other_is_made(world: World, node: Node) -> None:
    """The levels before it would have been good."""
    before = await world.state()
    with pytest.raises(BadName):
        await create_namespace(node.lake, await node.opened(), ("new", "child", "bad\nname"), {})

    assert await world.state() == before


async def test_only_direct_children_are_listed(node: Node) -> None:
    """What lies below a child is not in the list, whatever it is called."""
    for levels in [("a", "b"), ("a", "b", "c"), ("a", "bb"), ("ab",), ("a", "b", "c", "d")]:
        await create_namespace(node.lake, await node.opened(), levels, {})

    assert await children(node) == [("a",), ("ab",)]
    assert await children(node, "a") == [("a", "b"), ("a", "bb")]
    assert await children(node, "a", "b") == [("a", "b", "c")]
    assert await children(node, "a", "b", "c", "d") == []


async def test_listing_costs_what_the_children_are_not_what_lies_below(world: World) -> None:
    """Two lists of three children, one with 600 grandchildren, read the same number of rows."""
    first = await world.node()
    for child in ("a", "b", "c"):
        await first.namespace("small", child)
        await first.namespace("large", child)
        for number in range(200):
            await create_namespace(
                first.lake, await first.opened(), ("large", child, f"n{number:03}"), {}
            )
    costs = []
    for parent in ("small", "large"):
        cold = await world.node()
        await load_namespace(await cold.opened(), (parent,))
        world.rig.backend.reset()
        assert len(await children(cold, parent)) == 3
        costs.append(world.rig.backend.rows["fetch"])

    assert max(costs) <= 2, costs


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_any_text_is_a_name(node: Node, name: str) -> None:
    """A name comes back as it was given, as a parent and as a child."""
    await create_namespace(node.lake, await node.opened(), (name, "x", name), {"k": name})

    assert await load_namespace(await node.opened(), (name, "x", name)) == {"k": name}
    assert (name,) in await children(node)
    assert await children(node, name, "x") == [(name, "x", name)]


@pytest.mark.parametrize(
    "levels",
    [
        (),
        ("",),
        ("a", ""),
        (".",),
        ("..",),
        ("a\x1fb",),
        ("\ud800",),
        ("x" * 513,),
        ("x",) * (NAMESPACE_LEVELS_MAX + 1),
        ("a:b",),
    ],
)
async def test_what_is_no_name_is_refused(
    world: World, node: Node, levels: tuple[str, ...]
) -> None:
    """Empty, too long, too deep, control characters, dots alone, the separator: nothing is made."""
    before = await world.state()
    with pytest.raises(BadName):
        await create_namespace(node.lake, await node.opened(), levels, {})

    assert await world.state() == before


async def test_another_separator_frees_the_colon(world: World) -> None:
    """Only the separator of this server is kept out of names."""
    node = await world.node(LakeOptions(separator=";"))
    await create_namespace(node.lake, await node.opened(), ("a:b",), {})
    with pytest.raises(BadName, match="';'"):
        await create_namespace(node.lake, await node.opened(), ("a;b",), {})

    assert await children(node) == [("a:b",)]


@pytest.mark.parametrize("governance", Governance)
async def test_a_flat_catalog_has_one_level(world: World, governance: Governance) -> None:
    """There the separator is a character like others, unless it is reserved everywhere."""
    node = await world.node(LakeOptions(governance=governance))
    flat = CatalogEntity(0, "flat", f"{world.folder.as_posix()}/flat", {}, nested=False)
    await create_catalog(node.kernel, METALAKE, flat)
    await create_namespace(node.lake, await node.opened("flat"), ("a.b",), {})
    with pytest.raises(BadRequest, match="no nested namespaces"):
        await create_namespace(node.lake, await node.opened("flat"), ("a", "b"), {})
    if governance is Governance.UNRESTRICTED:
        await create_namespace(node.lake, await node.opened("flat"), ("a:b",), {})
        assert await load_namespace(await node.opened("flat"), ("a:b",)) == {}
    else:
        with pytest.raises(BadName, match="reserved for nested schemas"):
            await create_namespace(node.lake, await node.opened("flat"), ("a:b",), {})


async def test_properties_are_set_and_removed(node: Node) -> None:
    """The answer says what was set, what was removed, and what was not there."""
    await create_namespace(node.lake, await node.opened(), ("p",), {"old": "1", "kept": "2"})
    changes = await update_namespace(
        node.lake, await node.opened(), ("p",), {"new": "3", "kept": "4"}, ["old", "none"]
    )

    assert changes == (["new", "kept"], ["old"], ["none"])
    assert await load_namespace(await node.opened(), ("p",)) == {"kept": "4", "new": "3"}


async def test_a_child_is_changed_and_its_parents_are_not(node: Node) -> None:
    """Properties belong to one level."""
    await create_namespace(node.lake, await node.opened(), ("p", "c"), {})
    await update_namespace(node.lake, await node.opened(), ("p", "c"), {"k": "v"}, [])

    assert await load_namespace(await node.opened(), ("p", "c")) == {"k": "v"}
    assert await load_namespace(await node.opened(), ("p",)) == {}


async def test_changes_that_change_nothing_commit_nothing(world: World, node: Node) -> None:
    """The store is as before, and what was not there is named."""
    await create_namespace(node.lake, await node.opened(), ("p",), {"k": "v"})
    before = await world.state()
    changes = await update_namespace(
        node.lake, await node.opened(), ("p",), {"k": "v"}, ["none", "none"]
    )

    assert changes == (["k"], [], ["none"])
    assert await world.state() == before


async def test_a_property_cannot_be_set_and_removed(world: World, node: Node) -> None:
    """Which of the two was meant cannot be known."""
    before = await world.state()
    with pytest.raises(Unprocessable, match="both"):
        await update_namespace(node.lake, await node.opened(), ("a",), {"x": "1", "y": "2"}, ["y"])

    assert await world.state() == before


async def test_the_location_of_a_namespace_lies_in_its_catalog(world: World, node: Node) -> None:
    """A namespace cannot send its tables elsewhere, neither when made nor later."""
    before = await world.state()
    with pytest.raises(Forbidden):
        await create_namespace(node.lake, await node.opened(), ("p",), {"location": "/elsewhere"})
    with pytest.raises(Forbidden):
        await update_namespace(
            node.lake, await node.opened(), ("a",), {"location": "/elsewhere"}, []
        )

    assert await world.state() == before


async def test_what_does_not_exist_cannot_be_used(world: World, node: Node) -> None:
    """A missing parent is as missing as a missing child."""
    before = await world.state()
    for levels in [("none",), ("a", "none"), ("none", "a"), ()]:
        with pytest.raises(NamespaceNotFound, match="Namespace does not exist"):
            await load_namespace(await node.opened(), levels)
        with pytest.raises(NamespaceNotFound):
            await drop_namespace(node.lake, await node.opened(), levels)
        with pytest.raises(NamespaceNotFound):
            await update_namespace(node.lake, await node.opened(), levels, {"k": "v"}, [])
        if levels:
            with pytest.raises(NamespaceNotFound):
                await children(node, *levels)

    assert await world.state() == before


async def test_a_namespace_that_holds_something_stays(world: World, node: Node) -> None:
    """The error names what is in the way, be it a namespace, a table or a view."""
    await node.namespace("n", "child")
    await node.namespace("t")
    await node.table("tab", "t")
    await node.namespace("v")
    await node.view("vie", "v")
    before = await world.state()
    for name, content in [
        ("n", "namespace child"),
        ("t", "table or view tab"),
        ("v", "table or view vie"),
    ]:
        with pytest.raises(NamespaceNotEmpty, match=f"Namespace {name} is not empty.*{content}"):
            await drop_namespace(node.lake, await node.opened(), (name,))

    assert await world.state() == before


async def test_an_empty_namespace_is_dropped_alone(node: Node) -> None:
    """Its parent stays, and a new one of its name is another one."""
    await create_namespace(node.lake, await node.opened(), ("p", "c"), {"k": "v"})
    await drop_namespace(node.lake, await node.opened(), ("p", "c"))
    assert await children(node, "p") == []
    await create_namespace(node.lake, await node.opened(), ("p", "c"), {})

    assert await load_namespace(await node.opened(), ("p", "c")) == {}
    await drop_namespace(node.lake, await node.opened(), ("p", "c"))
    await drop_namespace(node.lake, await node.opened(), ("p",))
    assert await children(node) == [("a",)]


async def test_the_log_tells_what_was_done(node: Node) -> None:
    """One record for each change, with the path and who did it."""
    await create_namespace(node.lake, await node.opened(), ("p", "c"), {})
    await update_namespace(node.lake, await node.opened(), ("p", "c"), {"k": "v"}, [])
    await drop_namespace(node.lake, await node.opened(), ("p", "c"))
    opened = await node.lake.open(call())
    key = PointerKey(opened.realm.id, opened.pointer)
    notes = [
        group.note async for commit in node.kernel.log.oldest_first(key) for group in commit.groups
    ]

    expected = [
        {"do": do, "kind": "namespace", "name": ["p", "c"], "by": "anonymous"}
        for do in ("create", "alter", "drop")
    ]
    assert notes[-3:] == expected


async def test_dots_that_were_to_separate_levels_are_explained(node: Node) -> None:
    """Whether there is such a namespace or not: the caller may not know it."""
    await node.namespace("a", "b")

    for name in ("a.b", "a.c"):
        with pytest.raises(NamespaceNotFound, match="separated by %1F"):
            await load_namespace(await node.opened(), (name,))
    for levels in (("a.",), ("a", "c")):
        with pytest.raises(NamespaceNotFound) as caught:
            await load_namespace(await node.opened(), levels)
        assert caught.value.fix == ""
