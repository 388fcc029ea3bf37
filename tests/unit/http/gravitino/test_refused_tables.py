"""What clients of Gravitino are told if a table cannot be made, changed or found."""

from typing import Any

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from tests.unit.catalog.lakes import METALAKE, World
from tests.unit.http.gravitino.control import Control
from tests.unit.http.gravitino.table_requests import (
    ADD,
    ID,
    ILLEGAL,
    NEW,
    SCHEMAS,
    TABLES,
    UNSUPPORTED,
    make,
)


@pytest.fixture(autouse=True)
async def schema(control: Control) -> None:
    """The schema `a`, made by a client of Iceberg."""
    await control.node.namespace("a")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": ""}, ILLEGAL),
        ({"name": "a.b"}, ILLEGAL),
        ({"name": "*"}, ILLEGAL),
        ({"name": "x" * 65}, ILLEGAL),
        ({"name": None}, ILLEGAL),
        ({"more": 1}, ILLEGAL),
        ({"columns": []}, ILLEGAL),
        ({"columns": [ID, ID]}, ILLEGAL),
        ({"columns": [{"name": "a"}]}, ILLEGAL),
        ({"columns": [{"name": "a", "type": "interval_day"}]}, UNSUPPORTED),
        ({"columns": [{"name": "a", "type": "varchar(3)"}]}, UNSUPPORTED),
        ({"columns": [{"name": "a", "type": "variant"}], "partitioning": []}, ILLEGAL),
        ({"partitioning": [{"strategy": "list", "fieldNames": [["id"]]}]}, UNSUPPORTED),
        ({"partitioning": [{"strategy": "day", "fieldName": ["id"]}]}, ILLEGAL),
        ({"indexes": [{"indexType": "UNIQUE_KEY", "fieldNames": [["id"]]}]}, ILLEGAL),
        ({"indexes": [{"indexType": "PRIMARY_KEY", "fieldNames": [["ts"]]}]}, ILLEGAL),
        ({"distribution": {"strategy": "hash", "number": 4, "funcArgs": []}}, ILLEGAL),
        ({"properties": {"identifier-fields": "x"}}, ILLEGAL),
        ({"properties": {"format-version": "4"}}, ILLEGAL),
        ({"properties": {"location": "/elsewhere/t"}}, (403, 1008, "ForbiddenException")),
        ({"properties": {"a": 1}}, ILLEGAL),
    ],
)
async def test_a_table_that_cannot_be_made_leaves_nothing(
    control: Control, world: World, change: dict[str, Any], error: tuple[int, int, str]
) -> None:
    """Each mistake is answered with its code."""
    before = await world.state()

    answer = await control.post(TABLES, {**NEW, **change})

    assert answer.error == error, answer.json
    assert await world.state() == before


@pytest.mark.parametrize(
    ("update", "error"),
    [
        ({"@type": "nonsense"}, ILLEGAL),
        ({**ADD, "more": 1}, ILLEGAL),
        ({**ADD, "fieldName": ["id"]}, ILLEGAL),
        ({**ADD, "type": "byte"}, UNSUPPORTED),
        ({"@type": "deleteColumn", "fieldName": ["x"], "ifExists": False}, ILLEGAL),
        ({"@type": "deleteColumn", "fieldName": ["ts"], "ifExists": False}, ILLEGAL),
        ({"@type": "updateColumnType", "fieldName": ["id"], "newType": "integer"}, ILLEGAL),
        ({"@type": "setProperty", "property": "location", "value": "x"}, ILLEGAL),
    ],
)
async def test_a_change_that_cannot_be_made_takes_the_others_with_it(
    control: Control, world: World, update: dict[str, Any], error: tuple[int, int, str]
) -> None:
    """All or none: also of a column by which the table is partitioned."""
    await make(control)
    before = await world.state()

    answer = await control.put(
        f"{TABLES}/t", {"updates": [{"@type": "updateComment", "newComment": "x"}, update]}
    )

    assert answer.error == error, answer.json
    assert await world.state() == before


async def test_changes_must_be_some(control: Control) -> None:
    """An empty list is a mistake of its client, and so is no body at all."""
    await make(control)

    bodies: list[object] = [{"updates": []}, {}, None, b"{"]
    for body in bodies:
        assert (await control.put(f"{TABLES}/t", body)).error == ILLEGAL


async def test_what_is_not_there_is_not_found(control: Control) -> None:
    """The table, its schema, its catalog or its metalake, each by its own name."""
    await control.node.view("v")
    await make(control)
    for path, type in (
        (f"{TABLES}/none", "NoSuchTableException"),
        (f"{TABLES}/v", "NoSuchTableException"),
        (f"{SCHEMAS}/none/tables", "NoSuchSchemaException"),
        ("default/catalogs/none/schemas/a/tables", "NoSuchCatalogException"),
        ("none/catalogs/main/schemas/a/tables", "NoSuchMetalakeException"),
    ):
        assert (await control.get(path)).error == (404, 1003, type)
    answer = await control.post(f"{SCHEMAS}/none/tables", NEW)
    assert answer.error == (404, 1003, "NoSuchSchemaException")
    answer = await control.put(f"{TABLES}/none", {"updates": [ADD]})
    assert answer.error == (404, 1003, "NoSuchTableException")
    move = {"@type": "rename", "newName": "t", "newSchemaName": "none"}
    answer = await control.put(f"{TABLES}/t", {"updates": [move]})
    assert answer.error == (404, 1003, "NoSuchSchemaException")


async def test_a_name_is_given_once(control: Control, world: World) -> None:
    """To a table or to a view."""
    await make(control)
    await make(control, "u")
    await control.node.view("v")
    before = await world.state()

    exists = (409, 1004, "TableAlreadyExistsException")
    assert (await control.post(TABLES, NEW)).error == exists
    answer = await control.put(f"{TABLES}/t", {"updates": [{"@type": "rename", "newName": "u"}]})
    assert answer.error == exists
    answer = await control.post(TABLES, {**NEW, "name": "v"})
    assert answer.error == (409, 1004, "ViewAlreadyExistsException")
    assert await world.state() == before


async def test_a_catalog_of_another_provider_has_no_tables(control: Control, world: World) -> None:
    """It is told what is, whatever is asked of it."""
    other = CatalogEntity(0, "other", f"{world.folder}/other", {}, provider="hive")
    await create_catalog(control.lake.kernel, METALAKE, other)
    tables = "default/catalogs/other/schemas/a/tables"

    for method, path in (("GET", tables), ("POST", tables), ("DELETE", f"{tables}/t")):
        answer = await control.send(method, path, NEW if method == "POST" else None)
        assert answer.error == UNSUPPORTED
        assert "hive" in answer.json["message"]
