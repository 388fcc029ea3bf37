"""Default values: literals of Gravitino as Iceberg's JSON and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest, Unsupported
from headgate.model.gravitino import defaults
from headgate.model.gravitino.wire import Expression, Type

VALUES = st.one_of(
    st.tuples(st.just("boolean"), st.booleans()),
    st.tuples(st.just("int"), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just("long"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("double"), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just("string"), st.text()),
    st.tuples(st.just("date"), st.dates().map(str)),
    st.tuples(st.just("time"), st.times().map(lambda time: time.isoformat("microseconds"))),
    st.tuples(st.just("timestamp"), st.datetimes().map(lambda time: time.isoformat())),
    st.tuples(st.just("uuid"), st.uuids().map(str)),
    st.tuples(st.just("binary"), st.binary(max_size=4).map(bytes.hex)),
    st.tuples(
        st.just("decimal(20, 3)"),
        st.integers(-(10**19), 10**19).map(
            lambda number: (
                f"{'-' if number < 0 else ''}{abs(number) // 1000}.{abs(number) % 1000:03}"
            )
        ),
    ),
)


def literal(value: str | None, type: Type = "string") -> Expression:
    return Expression(type="literal", data_type=type, value=value)


@given(VALUES)
def test_a_default_that_is_shown_is_read_as_the_same(pair: tuple[str, object]) -> None:
    """Of every type."""
    type, value = pair

    assert defaults.to_iceberg(defaults.from_iceberg(value, type), type) == value


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("TRUE", "boolean", True),
        ("5", "decimal(9, 2)", "5.00"),
        ("1.50", "decimal(9, 1)", "1.5"),
        ("2024-02-29 12:00:00", "timestamp", "2024-02-29T12:00:00"),
        ("2024-02-29T12:00:00Z", "timestamptz", "2024-02-29T12:00:00+00:00"),
        ("2024-02-29T12:00:00.123456789", "timestamp_ns", "2024-02-29T12:00:00.123456789"),
        (None, "long", None),
    ],
)
def test_a_value_is_written_as_iceberg_writes_it(
    text: str | None, type: str, value: object
) -> None:
    """Readers refuse the whole table for any other form."""
    assert defaults.to_iceberg(literal(text), type) == value


def test_the_null_of_gravitino_is_no_default() -> None:
    """It is written as a literal of the type null."""
    assert defaults.to_iceberg(literal("NULL", "null"), "long") is None


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("yes", "boolean"),
        ("1.5", "int"),
        ("1_000", "long"),
        (str(2**31), "int"),
        ("nan", "double"),
        ("1e999", "double"),
        ("1.234", "decimal(9, 2)"),
        ("x", "decimal(9, 2)"),
        ("2023-02-29", "date"),
        ("2024-02-29T12:00:00+01:00", "timestamptz"),
        ("zz", "binary"),
        ("x", "unknown"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text: str, type: str) -> None:
    """Nothing is rounded or cut."""
    with pytest.raises(BadRequest, match="cannot have it"):
        defaults.to_iceberg(literal(text), type)


def test_a_nested_column_has_no_default() -> None:
    """Iceberg has none for lists, maps and structs."""
    with pytest.raises(BadRequest, match="list"):
        defaults.to_iceberg(literal("[]"), {"type": "list"})


def test_what_would_have_to_be_worked_out_is_refused() -> None:
    """A function, or an expression that nobody parsed."""
    for kind in ("function", "field", "unparsed"):
        with pytest.raises(Unsupported, match="literal"):
            defaults.to_iceberg(Expression(type=kind), "long")
