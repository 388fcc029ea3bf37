"""Views in Gravitino's protocol: their shapes, their errors, and that they are Iceberg's."""

import asyncio
from typing import Any

import pytest

from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.control import Control

SCHEMAS = "default/catalogs/main/schemas"
VIEWS = f"{SCHEMAS}/a/views"
SPARK = {"type": "sql", "dialect": "spark", "sql": "SELECT id FROM t"}
TRINO = {"type": "sql", "dialect": "trino", "sql": "SELECT id FROM t"}
ID = {"name": "id", "type": "long", "comment": "key", "nullable": True, "autoIncrement": False}
NEW: dict[str, Any] = {
    "name": "v",
    "comment": "one",
    "columns": [ID],
    "representations": [SPARK],
    "defaultCatalog": "main",
    "defaultSchema": "a:b",
    "properties": {"k": "v"},
}
REPLACE = {"@type": "replaceView", "columns": [ID], "representations": [SPARK, TRINO]}


@pytest.fixture(autouse=True)
async def schema(control: Control) -> None:
    """The schema `a`, made by a client of Iceberg."""
    await control.node.namespace("a")


async def make(control: Control, name: str = "v", **more: Any) -> Any:
    return (await control.done("POST", VIEWS, {**NEW, "name": name, **more}))["view"]


async def alter(control: Control, *updates: dict[str, Any]) -> Any:
    return (await control.done("PUT", f"{VIEWS}/v", {"updates": updates}))["view"]


async def test_a_new_view_has_all_that_clients_read(control: Control) -> None:
    """Made and loaded it is the same, and what was sent."""
    made = await control.done("POST", VIEWS, NEW, user="ann")
    audit = made["view"]["audit"]

    assert made == {"code": 0, "view": {**NEW, "audit": audit}}
    assert audit["creator"] == "ann"
    assert await control.done("GET", f"{VIEWS}/v") == made


async def test_what_a_view_does_not_say_is_left_out(control: Control) -> None:
    """Its names are looked up in its own schema; columns and properties are there if empty."""
    made = await make(control, "w", comment=None, columns=[], properties=None, defaultCatalog=None)
    bare = (await control.done("POST", VIEWS, {"name": "u", "representations": [SPARK]}))["view"]

    assert (made["columns"], made["properties"]) == ([], {})
    assert {"comment", "defaultCatalog"}.isdisjoint(made)
    assert bare["defaultSchema"] == "a"


async def test_a_view_is_the_same_for_both_protocols(control: Control) -> None:
    """What Gravitino's client makes, Iceberg's loads, and the other way round."""
    await make(control)
    await control.node.view("w")

    answer = await control.node.get("namespaces/a/views/v")
    [version] = answer.json["metadata"]["versions"]
    assert version["representations"] == [SPARK]
    assert (version["default-catalog"], version["default-namespace"]) == ("main", ["a", "b"])
    assert answer.json["metadata"]["properties"] == {"k": "v", "comment": "one"}
    shown = (await control.done("GET", f"{VIEWS}/w"))["view"]
    assert shown["representations"] == [{"type": "sql", "dialect": "spark", "sql": "select 1"}]
    assert [one["name"] for one in shown["columns"]] == ["id", "data"]


async def test_changes_are_made_in_their_order_in_one_commit(
    control: Control, world: World
) -> None:
    """A replacement has the comment that it says, and stays where it was."""
    await make(control)
    before = world.files()

    changed = await alter(
        control,
        {"@type": "setProperty", "property": "x", "value": "1"},
        REPLACE,
        {"@type": "removeProperty", "property": "k"},
    )

    assert changed["representations"] == [SPARK, TRINO]
    assert changed["properties"] == {"x": "1"}
    assert "comment" not in changed
    assert changed["defaultSchema"] == "a:b"
    assert len(world.files() - before) == 1
    assert await control.done("GET", f"{VIEWS}/v") == {"code": 0, "view": changed}


async def test_changes_at_once_on_several_nodes_are_all_made(
    control: Control, world: World
) -> None:
    """Each is worked out anew on what those before it did."""
    await make(control)
    others = [Control(await world.node()) for _ in range(3)]

    await asyncio.gather(
        alter(control, REPLACE),
        *(
            alter(one, {"@type": "setProperty", "property": f"p{at}", "value": "1"})
            for at, one in enumerate(others)
        ),
    )

    shown = (await control.done("GET", f"{VIEWS}/v"))["view"]
    assert set(shown["properties"]) == {"k", "p0", "p1", "p2"}
    assert len(shown["representations"]) == 2


async def test_a_view_gets_another_name(control: Control) -> None:
    """The last one of several."""
    await make(control)

    renamed = await alter(
        control, {"@type": "rename", "newName": "u"}, {"@type": "rename", "newName": "w"}
    )

    assert renamed["name"] == "w"
    listed = await control.done("GET", VIEWS)
    assert listed["identifiers"] == [{"namespace": ["default", "main", "a"], "name": "w"}]
    assert (await control.get(f"{VIEWS}/v")).error == (404, 1003, "NoSuchViewException")


async def test_a_dropped_view_is_gone_and_dropping_it_again_does_nothing(
    control: Control,
) -> None:
    """A table of the same name is no view."""
    await make(control)
    await control.node.table("t")

    assert await control.done("DELETE", f"{VIEWS}/v") == {"code": 0, "dropped": True}
    for name in ("v", "t"):
        assert await control.done("DELETE", f"{VIEWS}/{name}") == {"code": 0, "dropped": False}
    assert await control.node.load("t")


ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "a.b"}, ILLEGAL),
        ({"more": 1}, ILLEGAL),
        ({"representations": []}, ILLEGAL),
        ({"representations": [SPARK, {**SPARK, "dialect": "SPARK"}]}, ILLEGAL),
        ({"representations": [{**SPARK, "type": "python"}]}, UNSUPPORTED),
        ({"columns": [{"name": "a", "type": "union"}]}, UNSUPPORTED),
        ({"columns": [ID, ID]}, ILLEGAL),
        ({"properties": {"version.history.num-entries": "0"}}, ILLEGAL),
    ],
)
async def test_a_view_that_cannot_be_made_leaves_nothing(
    control: Control, world: World, change: dict[str, Any], error: tuple[int, int, str]
) -> None:
    """Each mistake is answered with its code."""
    before = await world.state()

    answer = await control.post(VIEWS, {**NEW, **change})

    assert answer.error == error, answer.json
    assert await world.state() == before


@pytest.mark.parametrize(
    "updates",
    [
        [],
        [{"@type": "updateComment", "newComment": "x"}],
        [REPLACE, {"@type": "rename", "newName": "w"}],
        [{"@type": "rename", "newName": "a b"}],
        [{"@type": "setProperty", "property": "x", "value": "1"}, {**REPLACE, "columns": [ID, ID]}],
        [{**REPLACE, "representations": [TRINO]}],
    ],
)
async def test_a_change_that_cannot_be_made_takes_the_others_with_it(
    control: Control, world: World, updates: list[dict[str, Any]]
) -> None:
    """Also one that loses a dialect: it has to be allowed first."""
    await make(control)
    before = await world.state()

    answer = await control.put(f"{VIEWS}/v", {"updates": updates})

    assert answer.error == ILLEGAL, answer.json
    assert await world.state() == before


async def test_what_is_not_there_is_not_found(control: Control) -> None:
    """A view, or its schema; and a table is no view."""
    await control.node.table("t")

    absent = (404, 1003, "NoSuchViewException")
    assert (await control.get(f"{VIEWS}/v")).error == absent
    assert (await control.get(f"{VIEWS}/t")).error == absent
    assert (await control.put(f"{VIEWS}/v", {"updates": [REPLACE]})).error == absent
    no_schema = (404, 1003, "NoSuchSchemaException")
    assert (await control.get(f"{SCHEMAS}/none/views")).error == no_schema
    assert (await control.post(f"{SCHEMAS}/none/views", NEW)).error == no_schema


async def test_a_name_is_given_once(control: Control) -> None:
    """To a table or to a view."""
    await make(control)
    await control.node.table("t")

    answer = await control.post(VIEWS, NEW)
    assert answer.error == (409, 1004, "ViewAlreadyExistsException")
    answer = await control.post(VIEWS, {**NEW, "name": "t"})
    assert answer.error == (409, 1004, "TableAlreadyExistsException")


async def test_what_is_large_is_worked_on_elsewhere(control: Control) -> None:
    """Long requests, and metadata that takes long to be read."""
    workers = control.node.workers
    long = {**SPARK, "sql": f"SELECT '{'x' * (64 << 10)}'"}

    made = await make(control, representations=[long])
    assert made["representations"] == [long]
    assert (workers.counts["create"], workers.counts["outline"]) == (1, 1)

    longer = {**long, "sql": f"{long['sql']} FROM t"}
    changed = await alter(control, {**REPLACE, "representations": [longer]})
    assert changed["representations"] == [longer]
    assert workers.counts["commit"] >= 1
