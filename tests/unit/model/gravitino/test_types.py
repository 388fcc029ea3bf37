"""Types of Gravitino as types of Iceberg and back."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given

from headgate.errors import BadMetadata, BadRequest, InvalidInput, Unsupported
from headgate.limits import SCHEMA_LEVELS_MAX
from headgate.model import schemas
from headgate.model.gravitino import types
from tests.unit.model.gravitino.descriptions import TYPES


def to_iceberg(type: Any) -> Any:
    counter = count(1)
    return types.to_iceberg(type, lambda: next(counter))


@given(TYPES)
def test_what_iceberg_makes_of_a_type_is_shown_as_the_same_type(type: Any) -> None:
    """However deeply it is nested."""
    assert types.from_iceberg(to_iceberg(type)) == type


@given(TYPES)
def test_ids_are_given_as_iceberg_gives_them(type: Any) -> None:
    """A level first, then what is inside of it: to count anew changes nothing."""
    counter = count(2)
    member = types.to_iceberg(type, lambda: next(counter))
    field = {"id": 1, "name": "a", "required": False, "type": member}
    schema = {"type": "struct", "fields": [field]}

    fresh, renamed = schemas.with_fresh_ids(schema)

    assert fresh == {**schema, "schema-id": 0}
    assert all(old == new for old, new in renamed.items())


@pytest.mark.parametrize(
    ("theirs", "iceberg", "shown"),
    [
        ("INTEGER", "int", "integer"),
        ("time", "time", "time(6)"),
        ("Timestamp", "timestamp", "timestamp(6)"),
        ("timestamp_tz", "timestamptz", "timestamp_tz(6)"),
        ("timestamp ( 9 )", "timestamp_ns", "timestamp(9)"),
        ("decimal( 10 , 2 )", "decimal(10, 2)", "decimal(10,2)"),
        ("fixed(16)", "fixed[16]", "fixed(16)"),
        ("null", "unknown", "null"),
        ("geometry(srid:4326)", "geometry(srid:4326)", "geometry(srid:4326)"),
        ({"type": "unparsed", "unparsedType": "variant"}, "variant", "variant"),
    ],
)
def test_a_type_has_one_spelling_when_it_is_shown(theirs: Any, iceberg: str, shown: str) -> None:
    """Whatever case and blanks it was written with."""
    assert to_iceberg(theirs) == iceberg
    assert types.from_iceberg(iceberg) == shown


@pytest.mark.parametrize(
    ("type", "fix"),
    [
        ("byte", "integer"),
        ("short unsigned", "another type"),
        ("integer unsigned", "Use long"),
        ("long unsigned", "another type"),
        ("char(3)", "string"),
        ("varchar(30)", "string"),
        ("time(3)", "time(6)"),
        ("timestamp(3)", "timestamp(6)"),
        ("timestamp_tz(0)", "timestamp_tz(6)"),
        ("interval_year", "another type"),
        ("interval_day", "another type"),
        ("nonsense", "another type"),
        ({"type": "union", "types": ["long"]}, "another type"),
        ({"type": "external", "catalogString": "x"}, "another type"),
        ({"type": "unparsed", "unparsedType": "user-defined"}, "another type"),
        ({"type": "unparsed"}, "another type"),
        ({}, "another type"),
    ],
)
def test_what_iceberg_has_no_type_for_is_refused(type: Any, fix: str) -> None:
    """With what to use instead."""
    with pytest.raises(Unsupported) as refused:
        to_iceberg(type)

    assert fix in refused.value.fix


@pytest.mark.parametrize(
    "type",
    [
        "decimal(39,2)",
        "decimal(2,3)",
        {"type": "struct"},
        {"type": "struct", "fields": [{"name": "a"}]},
        {"type": "struct", "fields": [{"name": " ", "type": "long"}]},
        {"type": "struct", "fields": [], "more": 1},
        {"type": "list"},
        {"type": "list", "elementType": 3},
        {"type": "map", "keyType": "string"},
    ],
)
def test_a_type_that_cannot_be_read_is_refused(type: Any) -> None:
    """As what it is: the mistake of its client."""
    with pytest.raises((BadRequest, BadMetadata)) as refused:
        to_iceberg(type)

    assert isinstance(refused.value, InvalidInput)


def test_a_type_that_is_nested_without_end_is_refused() -> None:
    """Before it takes all of the stack."""
    type: Any = "long"
    for _ in range(SCHEMA_LEVELS_MAX):
        type = {"type": "list", "elementType": type}

    with pytest.raises(BadRequest, match="nested deeper"):
        to_iceberg(type)
