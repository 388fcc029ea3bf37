"""Filters of both forms."""

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzType,
)

from headgate.errors import BadRequest
from headgate.planning.filters import Both, Constant, Either, Filter, Opaque, parse
from headgate.planning.predicates import Predicate, bound

SCHEMA = Schema(
    NestedField(1, "a", LongType(), required=False),
    NestedField(2, "s", StringType(), required=False),
    NestedField(3, "i", IntegerType(), required=False),
    NestedField(4, "p", StructType(NestedField(5, "q", IntegerType(), required=False))),
    NestedField(6, "l", ListType(7, IntegerType(), element_required=False)),
    NestedField(8, "dec", DecimalType(9, 2), required=False),
    NestedField(9, "bin", BinaryType(), required=False),
    NestedField(10, "f", FloatType(), required=False),
    NestedField(11, "ns", TimestampNanoType(), required=False),
    NestedField(12, "tz", TimestamptzType(), required=False),
    NestedField(13, "x", DoubleType(), required=False),
)
EQ = {"type": "eq", "term": "a", "value": 5}


def short(filter: Filter) -> Any:
    """A tree as tuples."""
    if isinstance(filter, Constant):
        return filter.holds
    if isinstance(filter, Both | Either):
        name = "and" if isinstance(filter, Both) else "or"
        return (name, short(filter.left), short(filter.right))
    if isinstance(filter, Opaque):
        return filter.json
    return (filter.operation, filter.column, filter.transform, *filter.values)


def parsed(filter: Any) -> Any:
    return short(parse(json.dumps(filter).encode()))


def only(filter: Any, *, case_sensitive: bool = True) -> Predicate:
    tree = parse(json.dumps(filter).encode())
    [predicate] = bound(tree, SCHEMA, case_sensitive=case_sensitive).values()
    return predicate


A = {"type": "reference", "name": "a"}


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (True, True),
        ({"type": "false"}, False),
        ({"type": "literal", "value": True}, True),
        (EQ, ("eq", "a", None, 5)),
        ({"type": "EQ", "term": "a", "value": 5}, ("eq", "a", None, 5)),
        ({"type": "is_null", "term": "a"}, ("is-null", "a", None)),
        ({"type": "eq", "term": {"type": "reference", "term": "a"}, "value": 5}, parsed(EQ)),
        ({"type": "eq", "left": A, "right": 5}, parsed(EQ)),
        ({"type": "eq", "left": A, "right": {"type": "literal", "value": 5}}, parsed(EQ)),
        (
            {
                "type": "eq",
                "left": {"type": "reference", "id": 1},
                "right": {"type": "literal", "value": 5, "data-type": "long"},
            },
            ("eq", 1, None, 5),
        ),
        ({"type": "lt", "left": 5, "right": A}, ("gt", "a", None, 5)),
        ({"type": "is-null", "child": A}, ("is-null", "a", None)),
        ({"type": "in", "term": "a", "values": [1, 2]}, ("in", "a", None, 1, 2)),
        (
            {
                "type": "not-in",
                "child": A,
                "values": {"type": "literals", "values": [1], "data-type": "int"},
            },
            ("not-in", "a", None, 1),
        ),
        (
            {
                "type": "eq",
                "term": {"type": "transform", "transform": "bucket[16]", "term": "a"},
                "value": 3,
            },
            ("eq", "a", "bucket[16]", 3),
        ),
        (
            {"type": "and", "left": EQ, "right": {"type": "or", "left": False, "right": EQ}},
            ("and", parsed(EQ), ("or", False, parsed(EQ))),
        ),
    ],
)
def test_both_forms_mean_the_same(filter: Any, expected: Any) -> None:
    """Each way to write a test is understood."""
    assert parsed(filter) == expected


@pytest.mark.parametrize(
    ("operation", "opposite"),
    [
        ("lt", "gt-eq"),
        ("gt", "lt-eq"),
        ("eq", "not-eq"),
        ("starts-with", "not-starts-with"),
        ("in", "not-in"),
        ("is-null", "not-null"),
        ("is-nan", "not-nan"),
    ],
)
def test_negations_move_to_the_tests(operation: str, opposite: str) -> None:
    """A negated test is the opposite one, both ways, and twice negated itself."""
    value = {"in": {"values": [1]}, "is-null": {}, "is-nan": {}}.get(operation, {"value": 1})
    yes = {"type": operation, "term": "a"} | value
    no = {"type": opposite, "term": "a"} | value

    assert parsed({"type": "not", "child": yes}) == parsed(no)
    assert parsed({"type": "not", "child": no}) == parsed(yes)
    assert parsed({"type": "not", "child": {"type": "not", "child": yes}}) == parsed(yes)


def test_negated_branches_change_sides() -> None:
    """Not both is either not; and constants flip."""
    inner = {"type": "and", "left": EQ, "right": {"type": "or", "left": True, "right": EQ}}
    no = ("not-eq", "a", None, 5)

    assert parsed({"type": "not", "child": inner}) == ("or", no, ("and", False, no))


@pytest.mark.parametrize(
    "filter",
    [
        {"type": "lt", "left": A, "right": {"type": "reference", "name": "s"}},
        {"type": "eq", "left": {"type": "apply", "function": "f", "arguments": [A]}, "right": 1},
        {"type": "is-null", "child": {"type": "apply", "function": "f", "arguments": []}},
        {"type": "starts-with", "left": "x", "right": A},
    ],
)
def test_what_pruning_cannot_use_is_kept_for_the_client(filter: Any) -> None:
    """Comparisons of columns and functions stay as they are, also negated."""
    assert parsed(filter) == filter
    assert parsed({"type": "not", "child": filter}) == {"type": "not", "child": filter}


@pytest.mark.parametrize(
    "filter",
    [
        None,
        5,
        "true",
        [],
        {},
        {"type": 5},
        {"type": "between", "term": "a", "value": 1},
        {"type": "eq", "term": "a"},
        {"type": "eq", "value": 1},
        {"type": "eq", "term": 5, "value": 1},
        {"type": "eq", "term": {"type": "other"}, "value": 1},
        {"type": "eq", "term": {"type": "reference"}, "value": 1},
        {"type": "eq", "term": {"type": "transform", "transform": 5, "term": "a"}, "value": 1},
        {"type": "in", "term": "a", "values": 5},
        {"type": "in", "term": "a", "values": [[1]]},
        {"type": "in", "term": "a", "values": [None]},
        {"type": "not"},
        {"type": "and", "left": EQ},
    ],
)
def test_what_is_no_filter_is_refused(filter: Any) -> None:
    """The message shows the part that was not understood."""
    with pytest.raises(BadRequest, match="Cannot parse the filter"):
        parsed(filter)


@pytest.mark.parametrize(
    "filter",
    [
        {"type": "eq", "term": "zz", "value": 1},
        {"type": "eq", "left": {"type": "reference", "id": 99}, "right": 1},
        {"type": "eq", "term": "A", "value": 1},
        {"type": "eq", "term": "a", "value": "many"},
        {"type": "eq", "term": "a", "value": 1.5},
        {"type": "eq", "term": "tz", "value": "yesterday"},
        {"type": "in", "term": "a", "values": [1, "many"]},
        {"type": "starts-with", "term": "a", "value": "x"},
        {"type": "eq", "term": "l.element", "value": 1},
        {
            "type": "eq",
            "term": {"type": "transform", "transform": "day", "term": "s"},
            "value": 1,
        },
        {
            "type": "eq",
            "term": {"type": "transform", "transform": "bucket[x]", "term": "a"},
            "value": 1,
        },
    ],
)
def test_a_test_of_what_is_not_there_is_refused(filter: Any) -> None:
    """Unknown columns, values of another type, and transforms that do not apply."""
    with pytest.raises(BadRequest):
        only(filter)


@pytest.mark.parametrize(
    "filter",
    [
        {"type": "eq", "term": "dec", "value": "1.555"},
        {"type": "eq", "term": "bin", "value": "no hex"},
        {"type": "eq", "term": "f", "value": 1e300},
        {"type": "eq", "term": "ns", "value": "2020-01-01T00:00:00.000000001"},
    ],
)
def test_values_that_cannot_be_compared_with_bounds_prune_nothing(filter: Any) -> None:
    """They come back in the residual, for the client to judge."""
    assert str(only(filter).unbound) == "AlwaysTrue()"
    assert only(filter).json == filter


@pytest.mark.parametrize(
    ("filter", "literal"),
    [
        ({"type": "eq", "term": "dec", "value": "1.5"}, "Decimal('1.50')"),
        ({"type": "eq", "term": "dec", "value": 2}, "Decimal('2.00')"),
        ({"type": "eq", "term": "dec", "value": 1.25}, "Decimal('1.25')"),
        ({"type": "eq", "term": "bin", "value": "0aFF"}, "b'\\n\\xff'"),
        ({"type": "eq", "term": "f", "value": 1.1}, "1.100000023841858"),
        ({"type": "eq", "term": "tz", "value": "1970-01-01T00:00:00Z"}, "0"),
        ({"type": "eq", "term": "p.q", "value": 3}, "3"),
    ],
)
def test_values_take_the_type_of_their_column(filter: Any, literal: str) -> None:
    """Scales are filled up, digits become bytes, and floats have the precision of floats."""
    assert f"({literal})" in repr(only(filter).bound)


def test_values_out_of_range_decide_a_test() -> None:
    """No row of an int column is in a set of larger numbers."""
    assert str(only({"type": "in", "term": "i", "values": [1 << 40]}).bound) == "AlwaysFalse()"
    assert str(only({"type": "eq", "term": "i", "value": 1 << 40}).bound) == "AlwaysFalse()"


def test_columns_are_named_in_the_older_form() -> None:
    """References by id and the newer form come back as every client reads them."""
    by_id = {"type": "lt", "left": 5, "right": {"type": "reference", "id": 5}}
    by_transform = {
        "type": "in",
        "term": {"type": "transform", "transform": "bucket[4]", "term": "a"},
        "values": [1],
    }

    assert only(by_id).json == {"type": "gt", "term": "p.q", "value": 5}
    assert only(by_transform).json == by_transform
    assert only({"type": "is-null", "term": "A"}, case_sensitive=False).json["term"] == "A"
