"""Changes of tables in the words of Gravitino as updates of Iceberg."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest, Unsupported
from headgate.model import schemas
from headgate.model.gravitino.changes import TableChange
from headgate.model.gravitino.tables import describe, updates_for
from headgate.model.gravitino.wire import Column, Index
from headgate.model.table_outlines import TableOutline
from tests.unit.model.gravitino.descriptions import COLUMNS, outline, people

KEY = {"indexType": "PRIMARY_KEY", "name": "pk", "fieldNames": [["id"]]}
SEVEN = {"type": "literal", "dataType": "integer", "value": "7"}


def changes(*given: dict[str, Any]) -> list[TableChange]:
    """Changes as clients write them."""
    return msgspec.convert(list(given), list[TableChange])


def changed(table: TableOutline, *given: dict[str, Any]) -> TableOutline:
    """The table afterwards; its schema is one that Iceberg accepts."""
    for update in updates_for(table, changes(*given)):
        match update["action"]:
            case "add-schema":
                found = schemas.check(update["schema"], table.format_version)
                table = msgspec.structs.replace(
                    table,
                    schema=update["schema"],
                    last_column_id=max(table.last_column_id, *found),
                )
            case "set-properties":
                table = msgspec.structs.replace(
                    table, properties=table.properties | update["updates"]
                )
            case "remove-properties":
                kept = {
                    name: value
                    for name, value in table.properties.items()
                    if name not in update["removals"]
                }
                table = msgspec.structs.replace(table, properties=kept)
            case other:
                assert other == "set-current-schema"
    return table


def names(table: TableOutline) -> list[str]:
    return [column.name for column in describe(table).columns]


def plain(**more: Any) -> TableOutline:
    return outline(people(partitioning=[], sort_orders=[], **more))


def test_a_column_is_added_where_it_is_wanted() -> None:
    """First, behind another, or last; in the table or in a struct."""
    table = changed(
        plain(),
        {"@type": "addColumn", "fieldName": ["last"], "type": "string", "position": "default"},
        {"@type": "addColumn", "fieldName": ["first"], "type": "date", "position": "first"},
        {
            "@type": "addColumn",
            "fieldName": ["second"],
            "type": "string",
            "comment": "c",
            "position": {"after": "first"},
        },
        {
            "@type": "addColumn",
            "fieldName": ["address", "city"],
            "type": "string",
            "position": "first",
        },
    )

    assert names(table) == ["first", "second", "id", "ts", "address", "tags", "last"]
    shown = describe(table).columns
    assert shown[1] == Column(name="second", type="string", comment="c")
    assert isinstance(shown[4].type, dict)
    assert [field["name"] for field in shown[4].type["fields"]] == ["city", "street", "zip"]
    assert table.schema["fields"][0]["id"] == 9  # after the seven of the table, and `last`


def test_a_column_is_added_to_the_structs_of_a_list() -> None:
    """By the name of the list, with or without its `element`."""
    point = {"type": "struct", "fields": [{"name": "x", "type": "double", "nullable": True}]}
    points = Column(name="points", type={"type": "list", "elementType": point})
    table = plain(columns=[points])

    table = changed(
        table,
        {"@type": "addColumn", "fieldName": ["points", "element", "y"], "type": "double"},
        {"@type": "addColumn", "fieldName": ["points", "z"], "type": "double"},
    )

    fields = table.schema["fields"][0]["type"]["element"]["fields"]
    assert [(one["name"], one["id"]) for one in fields] == [("x", 3), ("y", 4), ("z", 5)]


def test_a_column_in_a_list_or_map_is_found_by_its_short_name() -> None:
    """Without `element` and `value`, and with dots instead of parts."""
    inner = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]}
    pairs = {"type": "map", "keyType": "string", "valueType": inner}
    table = plain(columns=[Column(name="m", type=pairs)])

    for name in (["m", "x"], ["m", "value", "x"], ["m.value.x"], ["m.x"]):
        change = {"@type": "renameColumn", "oldFieldName": name, "newFieldName": "y"}
        [field] = changed(table, change).schema["fields"][0]["type"]["value"]["fields"]
        assert field["name"] == "y"
    with pytest.raises(BadRequest, match=r"does not exist: m\.x\.z"):
        changed(table, {"@type": "deleteColumn", "fieldName": ["m", "x", "z"]})


@given(COLUMNS, st.data())
def test_a_column_that_is_added_and_deleted_leaves_nothing(
    columns: list[Column], data: st.DataObject
) -> None:
    """Not even an update; and one that is named back and forth neither."""
    wanted = data.draw(st.sampled_from(columns))
    table = plain(properties={"format-version": "3"})

    assert not updates_for(
        table,
        changes(
            {"@type": "addColumn", "fieldName": ["new"], "type": wanted.type},
            {"@type": "deleteColumn", "fieldName": ["new"]},
            {"@type": "renameColumn", "oldFieldName": ["id"], "newFieldName": "other"},
            {"@type": "renameColumn", "oldFieldName": ["other"], "newFieldName": "id"},
        ),
    )


def test_a_deleted_column_does_not_come_back() -> None:
    """One of the same name has another id."""
    table = plain()
    before = table.schema["fields"][3]["id"]

    table = changed(
        table,
        {"@type": "deleteColumn", "fieldName": ["tags"]},
        {"@type": "addColumn", "fieldName": ["tags"], "type": "string"},
        {"@type": "deleteColumn", "fieldName": ["none"], "ifExists": True},
    )

    assert table.schema["fields"][3]["id"] == table.last_column_id > before


def test_columns_are_changed_in_the_order_of_the_changes() -> None:
    """Each sees what those before it did."""
    table = changed(
        plain(),
        {"@type": "renameColumn", "oldFieldName": ["address", "zip"], "newFieldName": "code"},
        {"@type": "updateColumnType", "fieldName": ["address", "code"], "newType": "long"},
        {"@type": "updateColumnNullability", "fieldName": ["address", "code"], "nullable": True},
        {"@type": "updateColumnComment", "fieldName": ["address", "code"], "newComment": "c"},
        {
            "@type": "updateColumnPosition",
            "fieldName": ["address", "code"],
            "newPosition": "first",
        },
        {"@type": "updateColumnComment", "fieldName": ["id"]},
        {"@type": "updateColumnPosition", "fieldName": ["id"], "newPosition": {"after": "ts"}},
        {"@type": "updateColumnAutoIncrement", "fieldName": ["id"], "autoIncrement": False},
        {
            "@type": "updateColumnNullability",
            "fieldName": ["tags", "element"],
            "nullable": True,
        },
    )

    ts, id, address, tags = describe(table).columns
    assert (ts.name, id.comment) == ("ts", None)
    assert isinstance(address.type, dict)
    assert address.type["fields"][0] == {
        "name": "code",
        "type": "long",
        "nullable": True,
        "comment": "c",
    }
    assert tags.type == {"type": "list", "elementType": "string", "containsNull": True}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("integer", "long"),
        ("float", "double"),
        ("decimal(9,2)", "decimal(12,2)"),
        ("timestamp", "timestamp(6)"),
    ],
)
def test_a_type_may_widen(old: str, new: str) -> None:
    """What is stored is then still right."""
    table = plain(columns=[Column(name="a", type=old)])

    table = changed(table, {"@type": "updateColumnType", "fieldName": ["a"], "newType": new})

    assert describe(table).columns[0].type == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("long", "integer"),
        ("decimal(9,2)", "decimal(9,3)"),
        ("decimal(9,2)", "decimal(8,2)"),
        ("string", "long"),
        ("string", {"type": "list", "elementType": "string"}),
        ({"type": "list", "elementType": "string"}, "string"),
    ],
)
def test_a_type_may_not_become_another(old: Any, new: Any) -> None:
    """What is stored could not be read."""
    table = plain(columns=[Column(name="a", type=old)])

    with pytest.raises(BadRequest, match="does not widen"):
        changed(table, {"@type": "updateColumnType", "fieldName": ["a"], "newType": new})


def test_a_key_is_added_and_deleted() -> None:
    """It has the one name that Iceberg needs not keep."""
    table = changed(plain(), {"@type": "addTableIndex", "index": KEY})
    assert describe(table).indexes == [
        Index(index_type="PRIMARY_KEY", name="PRIMARY", field_names=[["id"]], properties={})
    ]

    table = changed(
        table,
        {"@type": "deleteTableIndex", "name": "PRIMARY"},
        {"@type": "deleteTableIndex", "name": "PRIMARY", "ifExists": True},
    )
    assert describe(table).indexes == []


def test_a_default_is_changed_for_rows_to_come() -> None:
    """Those that are there keep what they had."""
    table = plain(properties={"format-version": "3"})
    add = {"@type": "addColumn", "fieldName": ["n"], "type": "integer", "nullable": False}
    table = changed(table, {**add, "defaultValue": SEVEN})
    eight = {**SEVEN, "value": "8"}

    default = {"@type": "updateColumnDefaultValue", "fieldName": ["n"], "newDefaultValue": eight}
    field = changed(table, default).schema["fields"][-1]
    assert (field["initial-default"], field["write-default"]) == (7, 8)

    none = {"type": "literal", "dataType": "null", "value": "NULL"}
    field = changed(table, {**default, "newDefaultValue": none}).schema["fields"][-1]
    assert "write-default" not in field


def test_properties_are_set_and_removed_in_order() -> None:
    """The last word counts; the comment is one of them."""
    table = changed(
        plain(),
        {"@type": "setProperty", "property": "a", "value": "1"},
        {"@type": "setProperty", "property": "b", "value": "1"},
        {"@type": "removeProperty", "property": "a"},
        {"@type": "removeProperty", "property": "k"},
        {"@type": "setProperty", "property": "b", "value": "2"},
        {"@type": "updateComment", "newComment": "new"},
    )
    shown = describe(table)
    assert (shown.comment, shown.properties["b"]) == ("new", "2")
    assert {"a", "k"}.isdisjoint(shown.properties)

    table = changed(table, {"@type": "updateComment", "newComment": None})
    assert describe(table).comment is None


def test_properties_of_columns_follow_them() -> None:
    """Java's client refuses a table with metrics of a column that is not there."""
    mode, filter = "write.metadata.metrics.column.", "write.parquet.bloom-filter-enabled.column."
    table = plain(
        properties={f"{mode}address.zip": "full", f"{filter}tags": "true", f"{mode}id": "none"}
    )

    table = changed(
        table,
        {"@type": "renameColumn", "oldFieldName": ["address"], "newFieldName": "home"},
        {"@type": "deleteColumn", "fieldName": ["tags"]},
    )

    assert {name: value for name, value in table.properties.items() if ".column." in name} == {
        f"{mode}home.zip": "full",
        f"{mode}id": "none",
    }


ADD = {"@type": "addColumn", "fieldName": ["new"], "type": "string"}


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        ({**ADD, "fieldName": ["id"]}, BadRequest, "it exists"),
        ({**ADD, "fieldName": []}, BadRequest, "name is empty"),
        ({**ADD, "fieldName": ["x", "y"]}, BadRequest, "does not exist: x"),
        ({**ADD, "fieldName": ["id", "y"]}, BadRequest, "no struct"),
        ({**ADD, "nullable": False}, BadRequest, "no value for it"),
        ({**ADD, "autoIncrement": True}, BadRequest, "count by themselves"),
        ({**ADD, "position": {"after": "x"}}, BadRequest, "beside it"),
        ({**ADD, "position": "third"}, Unsupported, "third"),
        ({**ADD, "type": "integer", "defaultValue": SEVEN}, BadRequest, "format version 2"),
        (
            {"@type": "renameColumn", "oldFieldName": ["x"], "newFieldName": "y"},
            BadRequest,
            "does not exist: x",
        ),
        (
            {"@type": "renameColumn", "oldFieldName": ["id"], "newFieldName": "ts"},
            BadRequest,
            "there is a column ts",
        ),
        (
            {"@type": "renameColumn", "oldFieldName": ["id"], "newFieldName": ""},
            BadRequest,
            "new name is empty",
        ),
        (
            {"@type": "renameColumn", "oldFieldName": ["tags", "element"], "newFieldName": "y"},
            BadRequest,
            "element of a list",
        ),
        (
            {"@type": "updateColumnNullability", "fieldName": ["ts"], "nullable": False},
            BadRequest,
            "may be null",
        ),
        (
            {"@type": "updateColumnDefaultValue", "fieldName": ["id"], "newDefaultValue": SEVEN},
            BadRequest,
            "format version 2",
        ),
        (
            {"@type": "updateColumnPosition", "fieldName": ["id"], "newPosition": "default"},
            Unsupported,
            "default",
        ),
        (
            {"@type": "updateColumnAutoIncrement", "fieldName": ["id"], "autoIncrement": True},
            BadRequest,
            "count by themselves",
        ),
        ({"@type": "deleteColumn", "fieldName": ["x"]}, BadRequest, "does not exist: x"),
        ({"@type": "deleteColumn", "fieldName": ["tags", "element"]}, BadRequest, "element"),
        (
            {"@type": "addTableIndex", "index": {**KEY, "indexType": "FULLTEXT"}},
            BadRequest,
            "primary key",
        ),
        ({"@type": "deleteTableIndex", "name": "pk"}, BadRequest, "does not exist: pk"),
        (
            {"@type": "setProperty", "property": "format-version", "value": "3"},
            BadRequest,
            "format-version",
        ),
        (
            {"@type": "setProperty", "property": "location", "value": "s3://x"},
            BadRequest,
            "location",
        ),
        ({"@type": "removeProperty", "property": "comment"}, BadRequest, "comment"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(
    change: dict[str, Any], error: type[Exception], reason: str
) -> None:
    """With what is wrong about it, and all that come with it."""
    with pytest.raises(error, match=reason):
        changed(plain(), {"@type": "setProperty", "property": "a", "value": "1"}, change)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"@type": "deleteColumn", "fieldName": ["id"]}, "identifies rows"),
        (
            {"@type": "updateColumnNullability", "fieldName": ["id"], "nullable": True},
            "identifies rows",
        ),
        ({"@type": "addTableIndex", "index": KEY}, "no others"),
    ],
)
def test_the_columns_of_a_key_stay(change: dict[str, Any], reason: str) -> None:
    """Until the key is deleted."""
    table = plain(indexes=[msgspec.convert(KEY, Index)])

    with pytest.raises(BadRequest, match=reason):
        changed(table, change)


def test_the_last_column_stays() -> None:
    """A table without columns is none that clients can read."""
    table = plain(columns=[Column(name="a", type="long")])

    with pytest.raises(BadRequest, match="the last one"):
        changed(table, {"@type": "deleteColumn", "fieldName": ["a"]})


def test_the_keys_of_a_map_stay_as_they_are() -> None:
    """Their type too: rows could not be told apart as before."""
    pairs = {"type": "map", "keyType": "integer", "valueType": "integer"}
    table = plain(columns=[Column(name="m", type=pairs)])

    for change in (
        {"@type": "updateColumnType", "fieldName": ["m", "key"], "newType": "long"},
        {"@type": "updateColumnNullability", "fieldName": ["m", "key"], "nullable": True},
    ):
        with pytest.raises(BadRequest):
            changed(table, change)
    wider = {"@type": "updateColumnType", "fieldName": ["m", "value"], "newType": "long"}
    assert changed(table, wider).schema["fields"][0]["type"]["value"] == "long"
