"""Tables in Gravitino's protocol: their shapes, their errors, and that they are Iceberg's."""

import asyncio
from typing import Any

import msgspec
import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity, Kind
from headgate.catalog.relations import find_relation
from headgate.catalog.reports import REPORTS, Reports, reports_pointer
from headgate.kernel.index import look
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import METALAKE, World, call
from tests.unit.http.gravitino.control import Control

SCHEMAS = "default/catalogs/main/schemas"
TABLES = f"{SCHEMAS}/a/tables"
ID = {"name": "id", "type": "long", "nullable": False, "comment": "key"}
TS = {"name": "ts", "type": "timestamp(6)"}
NEW: dict[str, Any] = {
    "name": "t",
    "comment": "all",
    "columns": [ID, TS],
    "partitioning": [{"strategy": "day", "fieldName": ["ts"]}],
    "properties": {"k": "v"},
}
ADD = {"@type": "addColumn", "fieldName": ["n"], "type": "string"}


@pytest.fixture(autouse=True)
async def schema(control: Control) -> None:
    """The schema `a`, made by a client of Iceberg."""
    await control.node.namespace("a")


async def make(control: Control, name: str = "t", **more: Any) -> Any:
    return (await control.done("POST", TABLES, {**NEW, "name": name, **more}))["table"]


async def alter(control: Control, *updates: dict[str, Any], name: str = "t") -> Any:
    return (await control.done("PUT", f"{TABLES}/{name}", {"updates": updates}))["table"]


async def test_a_new_table_has_all_that_clients_read(control: Control) -> None:
    """Made, loaded and loaded once more it is the same."""
    made = await control.done("POST", TABLES, NEW, user="ann")
    location = made["table"]["properties"]["location"]
    audit = made["table"]["audit"]

    assert made == {
        "code": 0,
        "table": {
            "name": "t",
            "comment": "all",
            "columns": [
                {**ID, "autoIncrement": False},
                {**TS, "nullable": True, "autoIncrement": False},
            ],
            "properties": {
                "k": "v",
                "format": "iceberg/parquet",
                "format-version": "2",
                "provider": "iceberg",
                "location": location,
                "current-snapshot-id": "none",
                "write.distribution-mode": "hash",
                "write.parquet.compression-codec": "zstd",
            },
            "partitioning": [{"strategy": "day", "fieldName": ["ts"]}],
            "distribution": {"strategy": "hash", "number": 0, "funcArgs": []},
            "sortOrders": [],
            "indexes": [],
            "audit": audit,
        },
    }
    assert audit["creator"] == "ann"
    assert set(audit) == {"creator", "createTime"}
    assert [await control.done("GET", f"{TABLES}/t") for _ in "12"] == [made, made]


async def test_a_table_is_the_same_for_both_protocols(control: Control) -> None:
    """What Gravitino's client makes, Iceberg's loads; and what one changes, the other sees."""
    await make(control)
    await control.node.table("u")

    metadata = (await control.node.load())["metadata"]
    assert metadata["schemas"][0]["fields"] == [
        {"id": 1, "name": "id", "required": True, "type": "long", "doc": "key"},
        {"id": 2, "name": "ts", "required": False, "type": "timestamp"},
    ]
    assert metadata["partition-specs"][0]["fields"] == [
        {"source-id": 2, "field-id": 1000, "name": "ts_day", "transform": "day"}
    ]
    assert metadata["properties"]["comment"] == "all"
    shown = (await control.done("GET", f"{TABLES}/u"))["table"]
    assert [(one["name"], one["type"]) for one in shown["columns"]] == [
        ("id", "long"),
        ("data", "string"),
    ]

    await control.node.made(
        "namespaces/a/tables/t",
        {
            "requirements": [],
            "updates": [{"action": "set-properties", "updates": {"by": "iceberg"}}],
        },
    )
    assert (await control.done("GET", f"{TABLES}/t"))["table"]["properties"]["by"] == "iceberg"


async def test_changes_are_made_in_their_order_in_one_commit(control: Control) -> None:
    """Of columns and of properties alike; the table is answered as it is then."""
    await make(control)
    before = (await control.node.load())["metadata"]

    changed = await alter(
        control,
        ADD,
        {"@type": "renameColumn", "oldFieldName": ["n"], "newFieldName": "note"},
        {"@type": "updateColumnPosition", "fieldName": ["note"], "newPosition": "first"},
        {"@type": "setProperty", "property": "k", "value": "w"},
        {"@type": "updateComment", "newComment": None},
    )

    assert [one["name"] for one in changed["columns"]] == ["note", "id", "ts"]
    assert changed["properties"]["k"] == "w"
    assert "comment" not in changed
    metadata = (await control.node.load())["metadata"]
    assert len(metadata["metadata-log"]) == len(before["metadata-log"]) + 1
    assert [one["schema-id"] for one in metadata["schemas"]] == [0, 1]
    assert (await control.done("GET", f"{TABLES}/t"))["table"] == changed


async def test_who_changed_a_table_is_shown(control: Control, world: World) -> None:
    """Whichever protocol was used."""
    await control.done("POST", TABLES, NEW, user="ann")
    world.rig.clock.advance(1000)

    await control.done("PUT", f"{TABLES}/t", {"updates": [ADD]}, user="bob")

    audit = (await control.done("GET", f"{TABLES}/t"))["table"]["audit"]
    assert (audit["creator"], audit["lastModifier"]) == ("ann", "bob")
    assert audit["createTime"] < audit["lastModifiedTime"]


async def test_a_change_that_changes_nothing_is_no_commit(control: Control, world: World) -> None:
    """Not even a file is written."""
    made = await make(control)
    before = await world.state()

    same = await alter(control, {"@type": "setProperty", "property": "k", "value": "v"})

    assert same == made
    assert await world.state() == before


async def test_changes_at_once_on_several_nodes_are_all_made(
    control: Control, world: World
) -> None:
    """Each is worked out anew on what those before it did; so are those of Iceberg's clients."""
    await make(control)
    others = [Control(await world.node()) for _ in range(3)]

    async def add(control: Control, name: str) -> None:
        await alter(control, {**ADD, "fieldName": [name]})

    async def commit() -> None:
        updates = [{"action": "set-properties", "updates": {"by": "iceberg"}}]
        await control.node.made("namespaces/a/tables/t", {"requirements": [], "updates": updates})

    await asyncio.gather(*(add(one, f"c{at}") for at, one in enumerate(others)), commit())

    shown = (await control.done("GET", f"{TABLES}/t"))["table"]
    assert {one["name"] for one in shown["columns"]} == {"id", "ts", "c0", "c1", "c2"}
    assert shown["properties"]["by"] == "iceberg"
    ids = [one["id"] for one in (await control.node.load())["metadata"]["schemas"][-1]["fields"]]
    assert sorted(ids) == [1, 2, 3, 4, 5]


async def test_changes_at_once_on_one_node_wait_for_each_other(control: Control) -> None:
    """None is worked out in vain."""
    await make(control)
    names = [f"c{at}" for at in range(5)]

    await asyncio.gather(*(alter(control, {**ADD, "fieldName": [name]}) for name in names))

    shown = (await control.done("GET", f"{TABLES}/t"))["table"]
    assert [one["name"] for one in shown["columns"]][2:] == names
    assert control.lake.commits_repeated == 0


async def test_reports_about_a_dropped_table_go_with_it(control: Control) -> None:
    """They would be there for ever."""
    reports = Reports(control.lake)
    control.use(msgspec.structs.replace(control.service, reports=reports))
    await make(control)
    opened = await control.lake.open(call())
    await reports.add(opened, Identifier(("a",), "t"), b"{}")
    await reports.flush()

    async def kept() -> int:
        [head] = await opened.realm.heads(reports_pointer(opened.catalog.id))
        return await look(head.index(REPORTS), lambda tree: len(list(tree.scan(b"", None))))

    assert await kept() == 1
    await control.done("DELETE", f"{TABLES}/t")
    await reports.close()
    assert await kept() == 0


async def test_a_table_keeps_its_id_under_another_name(control: Control) -> None:
    """Also in another schema; the old name is free."""
    await make(control)
    await control.node.namespace("b")

    async def id(schema: str, name: str) -> int:
        opened = await control.lake.open(call())
        return (await find_relation(opened, Identifier((schema,), name), Kind.TABLE)).entry.id

    first = await id("a", "t")
    moved = await alter(
        control,
        {"@type": "rename", "newName": "u"},
        {"@type": "rename", "newName": "w", "newSchemaName": "b"},
    )

    assert moved["name"] == "w"
    assert await id("b", "w") == first
    gone = await control.get(f"{TABLES}/t")
    assert gone.error == (404, 1003, "NoSuchTableException")


async def test_a_new_name_comes_alone(control: Control, world: World) -> None:
    """Gravitino refuses it together with other changes, and so do we."""
    await make(control)
    before = await world.state()

    answer = await control.put(
        f"{TABLES}/t", {"updates": [{"@type": "rename", "newName": "u"}, ADD]}
    )

    assert answer.error == (400, 1001, "IllegalArgumentException")
    assert await world.state() == before


async def test_tables_are_listed_with_all_of_their_names(control: Control) -> None:
    """Those of the schema, not its views, nor those of schemas inside of it."""
    await control.node.namespace("a", "b")
    await control.node.view("v")
    await make(control)
    await control.done("POST", f"{SCHEMAS}/a%3Ab/tables", {**NEW, "name": "u"})

    assert await control.done("GET", TABLES) == {
        "code": 0,
        "identifiers": [{"namespace": ["default", "main", "a"], "name": "t"}],
    }
    listed = await control.done("GET", f"{SCHEMAS}/a:b/tables/")
    assert listed["identifiers"] == [{"namespace": ["default", "main", "a:b"], "name": "u"}]
    assert (await control.done("GET", f"{SCHEMAS}/a:b/tables/u"))["table"]["name"] == "u"


async def test_a_long_list_is_whole(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pieces it is encoded in."""
    monkeypatch.setattr("headgate.http.gravitino.relations.LIST_CHUNK_ENTRIES", 2)
    names = [f"t{at}" for at in range(5)]
    for name in names:
        await control.node.table(name)

    listed = await control.done("GET", TABLES)

    assert [one["name"] for one in listed["identifiers"]] == names


async def test_a_dropped_table_is_gone_and_dropping_it_again_does_nothing(
    control: Control, world: World
) -> None:
    """Its files stay, unless they are to be purged."""
    await make(control)
    await make(control, "u")
    files = world.files()

    assert await control.done("DELETE", f"{TABLES}/t") == {"code": 0, "dropped": True}
    assert await control.done("DELETE", f"{TABLES}/t") == {"code": 0, "dropped": False}
    assert world.files() == files

    assert (await control.done("DELETE", f"{TABLES}/u?purge=True"))["dropped"] is True
    while world.files() == files:
        await asyncio.sleep(0.01)
    assert (await control.done("DELETE", f"{SCHEMAS}/none/tables/t"))["dropped"] is False


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "partitions"),
        ("GET", "partitions?details=true"),
        ("POST", "partitions"),
        ("GET", "partitions/dt=1"),
        ("DELETE", "partitions/dt=1"),
    ],
)
async def test_partitions_are_not_listed(control: Control, method: str, path: str) -> None:
    """Iceberg keeps no list of them; of a table that is not there nothing else is said."""
    await make(control)

    answer = await control.send(method, f"{TABLES}/t/{path}")
    assert answer.error == (405, 1006, "UnsupportedOperationException")
    answer = await control.send(method, f"{TABLES}/u/{path}")
    assert answer.error == (404, 1003, "NoSuchTableException")


ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


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


async def test_what_is_large_is_worked_on_elsewhere(control: Control) -> None:
    """Long requests, and metadata that takes long to be read."""
    workers = control.node.workers
    columns = [ID, TS, *({"name": f"c{at}", "type": "string"} for at in range(400))]
    await make(control, "wide", columns=columns)
    assert workers.counts["create"] == 1

    await make(control, properties={"long": "x" * (1 << 20)})
    changed = await alter(control, ADD)
    assert workers.counts["outline"] >= 1
    assert [one["name"] for one in changed["columns"]] == ["id", "ts", "n"]
    many = [{**ADD, "fieldName": [f"n{at}"], "comment": "x" * 100} for at in range(200)]
    assert len((await alter(control, *many))["columns"]) == 203
