"""Tables of any shape in the words of Gravitino, to test with."""

from typing import Any

from hypothesis import strategies as st

from headgate.model.gravitino.tables import CreateTable, new_table
from headgate.model.gravitino.wire import Column, Expression, Partitioning, SortOrder, column
from headgate.model.table_creation import new_table as new_iceberg_table
from headgate.model.table_metadata import encode, parse
from headgate.model.table_outlines import TableOutline, table_outline

PLAIN = (
    "boolean", "integer", "long", "float", "double", "date", "time(6)", "timestamp(6)",
    "timestamp_tz(6)", "string", "uuid", "binary", "fixed(7)", "decimal(10,2)",
)  # fmt: skip
NEW = ("timestamp(9)", "timestamp_tz(9)", "variant", "geometry", "geography(OGC:CRS84,karney)")
COMMENTS = st.none() | st.text(max_size=5)
NAMES = st.text("abcdefgh-é_ ", min_size=1, max_size=6).filter(lambda name: name.strip())


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Types around other types."""
    field = st.builds(
        lambda name, kind, nullable, comment: {
            "name": name,
            "type": kind,
            "nullable": nullable,
            **({} if comment is None else {"comment": comment}),
        },
        NAMES,
        inner,
        st.booleans(),
        COMMENTS,
    )
    return st.one_of(
        st.builds(
            lambda fields: {"type": "struct", "fields": fields},
            st.lists(field, min_size=1, max_size=4, unique_by=lambda one: one["name"]),
        ),
        st.builds(
            lambda kind, null: {"type": "list", "elementType": kind, "containsNull": null},
            inner,
            st.booleans(),
        ),
        st.builds(
            lambda key, value, null: {
                "type": "map",
                "keyType": key,
                "valueType": value,
                "valueContainsNull": null,
            },
            inner,
            inner,
            st.booleans(),
        ),
    )


TYPES = st.recursive(st.sampled_from(PLAIN + NEW), nested, max_leaves=8)
COLUMNS = st.lists(
    st.builds(Column, name=NAMES, type=TYPES, comment=COMMENTS, nullable=st.booleans()),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one.name,
)


def day(direction: str = "asc") -> SortOrder:
    term = Expression(type="function", func_name="day", func_args=[column(["ts"])])
    return SortOrder(sort_term=term, direction=direction, null_ordering="nulls_last")


def people(**more: Any) -> CreateTable:
    """A table that has something of everything."""
    address = [
        {"name": "street", "type": "string", "nullable": True, "comment": "and number"},
        {"name": "zip", "type": "integer", "nullable": False},
    ]
    given = {
        "name": "people",
        "columns": [
            Column(name="id", type="long", nullable=False, comment="key"),
            Column(name="ts", type="timestamp(6)"),
            Column(name="address", type={"type": "struct", "fields": address}),
            Column(
                name="tags",
                type={"type": "list", "elementType": "string", "containsNull": False},
            ),
        ],
        "comment": "all of them",
        "properties": {"k": "v"},
        "partitioning": [Partitioning(strategy="day", field_name=["ts"])],
        "sort_orders": [day()],
    }
    return CreateTable(**{**given, **more})


def outline(wanted: CreateTable) -> TableOutline:
    """The table that Iceberg makes of it, as its file says it."""
    request = new_table(wanted)
    metadata = new_iceberg_table(
        request["schema"],
        request["partition-spec"],
        request["write-order"],
        request["properties"],
        location=request["location"] or "s3://bucket/people",
        uuid="9c12d441-03fe-4693-9a96-a0705ddf69c1",
        now_ms=1_700_000_000_000,
    )
    return table_outline(parse(encode(metadata)))
