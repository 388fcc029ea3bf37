"""Rows, filters over them, and what a filter means: an oracle that knows nothing of planning."""

import uuid
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    UUIDType,
)

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "s", StringType(), required=False),
    NestedField(3, "d", DateType(), required=False),
    NestedField(4, "ts", TimestampType(), required=False),
    NestedField(5, "u", UUIDType(), required=False),
    NestedField(6, "f", DoubleType(), required=False),
    NestedField(7, "dec", DecimalType(9, 2), required=False),
    NestedField(8, "i", IntegerType(), required=False),
)
NAMES = [field.name for field in SCHEMA.fields]

TRANSFORMS: dict[int, list[Any]] = {
    1: [IdentityTransform(), BucketTransform(4), TruncateTransform(10), VoidTransform()],
    2: [IdentityTransform(), BucketTransform(3), TruncateTransform(1), TruncateTransform(2)],
    3: [IdentityTransform(), YearTransform(), MonthTransform(), DayTransform(), BucketTransform(3)],
    4: [YearTransform(), MonthTransform(), DayTransform(), HourTransform(), BucketTransform(3)],
    5: [IdentityTransform(), BucketTransform(3)],
    7: [IdentityTransform(), TruncateTransform(50), BucketTransform(3)],
    8: [IdentityTransform(), BucketTransform(4), TruncateTransform(3)],
}

Row = tuple[Any, ...]

_DATES = st.dates(date(1969, 11, 1), date(1970, 3, 1))
_TIMES = st.datetimes(datetime(1969, 12, 30), datetime(1970, 1, 3)).map(  # noqa: DTZ001
    lambda found: found.replace(microsecond=0)
)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001


def _pairs(values: st.SearchStrategy[Any], stored: Callable[[Any], Any], shown: Any = None) -> Any:
    """A value as it is stored, and as it stands in JSON."""
    return values.map(lambda found: (stored(found), shown(found) if shown else found))


VALUES: dict[str, st.SearchStrategy[tuple[Any, Any]]] = {
    "id": _pairs(st.integers(-40, 40), int),
    "s": _pairs(st.text("ab\u00e4\U0001f600", max_size=3), str),
    "d": _pairs(_DATES, lambda found: (found - date(1970, 1, 1)).days, date.isoformat),
    "ts": _pairs(
        _TIMES,
        lambda found: int((found - _EPOCH).total_seconds()) * 1_000_000,
        datetime.isoformat,
    ),
    "u": _pairs(st.integers(0, 5).map(lambda n: uuid.UUID(int=n << 100)), lambda u: u.bytes, str),
    "f": _pairs(st.integers(-8, 8).map(lambda n: n / 4), float),
    "dec": _pairs(st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)), Decimal, str),
    "i": _pairs(st.integers(-10, 10), int),
}
_NAN = st.just((float("nan"), None))

rows = st.tuples(
    *(
        st.one_of(
            st.none(),
            (st.one_of(VALUES[name], _NAN) if name == "f" else VALUES[name]).map(lambda p: p[0]),
        )
        for name in NAMES
    )
)


@st.composite
def specs(draw: st.DrawFn, spec_id: int) -> PartitionSpec:
    sources = draw(st.lists(st.sampled_from(sorted(TRANSFORMS)), max_size=2, unique=True))
    fields = [
        PartitionField(
            source_id=source,
            field_id=1000 + 10 * spec_id + position,
            transform=draw(st.sampled_from(TRANSFORMS[source])),
            name=f"p{spec_id}_{position}",
        )
        for position, source in enumerate(sources)
    ]
    return PartitionSpec(*fields, spec_id=spec_id)


def partition_of(row: Row, spec: PartitionSpec) -> tuple[Any, ...]:
    return tuple(
        field.transform.transform(SCHEMA.fields[field.source_id - 1].field_type)(
            row[field.source_id - 1]
        )
        for field in spec.fields
    )


@st.composite
def _leaves(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(NAMES))
    kinds = ["is-null", "not-null", "lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq", "in", "not-in"]
    kinds += ["starts-with", "not-starts-with"] if name == "s" else []
    kinds += ["is-nan", "not-nan"] if name == "f" else []
    kind = draw(st.sampled_from(kinds))
    leaf: dict[str, Any] = {"type": kind, "term": name}
    if kind in {"in", "not-in"}:
        pairs = draw(st.lists(VALUES[name], max_size=4))
        leaf |= {"values": [shown for _, shown in pairs], "stored": [kept for kept, _ in pairs]}
    elif not kind.startswith(("is-", "not-nu", "not-na")):
        stored, shown = draw(VALUES[name])
        leaf |= {"value": shown, "stored": [stored]}
    return leaf


filters: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_leaves(), st.booleans()),
    lambda inner: st.one_of(
        st.builds(lambda child: {"type": "not", "child": child}, inner),
        st.builds(
            lambda kind, left, right: {"type": kind, "left": left, "right": right},
            st.sampled_from(["and", "or"]),
            inner,
            inner,
        ),
    ),
    max_leaves=6,
)
"""Filters as JSON. Their tests also carry the values as they are stored, for the oracle."""


def on_the_wire(filter: Any) -> Any:
    """A filter without what only the oracle needs."""
    if not isinstance(filter, dict):
        return filter
    return {name: on_the_wire(part) for name, part in filter.items() if name != "stored"}


def passes(filter: Any, row: Row, stored: Callable[[dict[str, Any]], list[Any]]) -> bool:
    """Whether a row passes a filter. Negations are pushed to the tests first, as Iceberg does."""
    return _passes(filter, row, stored, negated=False)


def _passes(filter: Any, row: Row, stored: Callable[..., list[Any]], *, negated: bool) -> bool:
    if isinstance(filter, bool):
        return filter != negated
    if filter["type"] == "not":
        return _passes(filter["child"], row, stored, negated=not negated)
    if filter["type"] in {"and", "or"}:
        sides = [_passes(filter[side], row, stored, negated=negated) for side in ("left", "right")]
        return all(sides) if (filter["type"] == "and") != negated else any(sides)
    value = row[NAMES.index(filter["term"])]
    return _holds(filter["type"], value, stored(filter), negated=negated)


def _holds(kind: str, value: Any, values: list[Any], *, negated: bool) -> bool:
    """Comparisons with null fail, also negated ones; inequalities with null hold."""
    order = {"lt": "gt-eq", "gt-eq": "lt", "gt": "lt-eq", "lt-eq": "gt"}
    if kind in order:
        kind = order[kind] if negated else kind
        if value is None:
            return False
        other = values[0]
        return bool(
            {"lt": value < other, "gt": value > other}.get(
                kind, value <= other if kind == "lt-eq" else value >= other
            )
        )
    positive = {"not-null": "is-null", "not-nan": "is-nan", "not-eq": "eq", "not-in": "in"}
    positive["not-starts-with"] = "starts-with"
    if kind in positive:
        return _holds(positive[kind], value, values, negated=not negated)
    if kind == "is-null":
        return (value is None) != negated
    if kind == "is-nan":
        return (value is not None and value != value) != negated  # noqa: PLR0124
    if kind == "starts-with":
        return (value is not None and value.startswith(values[0])) != negated
    return (value is not None and value in values) != negated
