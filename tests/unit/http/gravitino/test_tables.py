"""Tables in Gravitino's protocol: their shapes, their errors, and that they are Iceberg's."""

import asyncio

import msgspec
import pytest

from headgate.catalog.entities import Kind
from headgate.catalog.relations import find_relation
from headgate.catalog.reports import REPORTS, Reports, reports_pointer
from headgate.kernel.index import look
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import World, call
from tests.unit.http.gravitino.control import Control
from tests.unit.http.gravitino.table_requests import (
    ADD,
    ID,
    NEW,
    SCHEMAS,
    TABLES,
    TS,
    alter,
    make,
)


@pytest.fixture(autouse=True)
async def schema(control: Control) -> None:
    """The schema `a`, made by a client of Iceberg."""
    await control.node.namespace("a")


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
