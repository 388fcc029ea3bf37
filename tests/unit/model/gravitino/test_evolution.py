"""Changes of tables in the words of Gravitino as updates of Iceberg."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest
from headgate.model.gravitino.tables import describe, updates_for
from headgate.model.gravitino.wire import Column, Index
from tests.unit.model.gravitino.descriptions import COLUMNS
from tests.unit.model.gravitino.table_changes import KEY, SEVEN, changed, changes, names, plain


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
