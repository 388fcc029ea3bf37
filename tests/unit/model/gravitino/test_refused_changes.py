"""Changes of tables that cannot be made."""

from typing import Any

import msgspec
import pytest

from headgate.errors import BadRequest, Unsupported
from headgate.model.gravitino.wire import Column, Index
from tests.unit.model.gravitino.table_changes import KEY, SEVEN, changed, plain

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
