"""Tables that Gravitino's client and pyiceberg make, change and see: the same ones."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from gravitino import NameIdentifier
from gravitino.api.rel.column import Column
from gravitino.api.rel.expressions.distributions.distributions import Distributions
from gravitino.api.rel.expressions.function_expression import FunctionExpression
from gravitino.api.rel.expressions.literals.literals import Literals
from gravitino.api.rel.expressions.named_reference import NamedReference
from gravitino.api.rel.expressions.sorts.sort_orders import SortOrders
from gravitino.api.rel.expressions.transforms.transforms import Transforms
from gravitino.api.rel.indexes.indexes import Indexes
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.namespace import Namespace
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from headgate.testing.headgate_server import HeadgateServer
from tests.gravitino.conftest import ADMIN, Clients
from tests.gravitino.relational import CITY, ID, INTEGER, LONG, STRING, Both, new_catalog

pytestmark = pytest.mark.filterwarnings("ignore:Missing value of non-optional type")
"""The client says so of every member that the protocol leaves out."""

Field = Types.StructType.Field
POINT = Types.StructType.of(
    Field("x", Types.DecimalType.of(10, 2), False, "east"),
    Field("y", Types.DoubleType.get(), True, None),
)
NANOS = Types.TimestampType.without_time_zone(9)
FIRST = TableChange.ColumnPosition.first()
ALL_TYPES = Schema(
    NestedField(1, "boolean", BooleanType()),
    NestedField(2, "integer", IntegerType()),
    NestedField(3, "long", LongType(), required=True, doc="key"),
    NestedField(4, "float", FloatType()),
    NestedField(5, "double", DoubleType()),
    NestedField(6, "decimal(10,2)", DecimalType(10, 2)),
    NestedField(7, "date", DateType()),
    NestedField(8, "time(6)", TimeType()),
    NestedField(9, "timestamp(6)", TimestampType()),
    NestedField(10, "timestamp_tz(6)", TimestamptzType()),
    NestedField(11, "string", StringType()),
    NestedField(12, "uuid", UUIDType()),
    NestedField(13, "fixed(4)", FixedType(4)),
    NestedField(14, "binary", BinaryType()),
    identifier_field_ids=[3],
)
"""Each column has the name that Gravitino has for its type."""


@pytest.fixture(name="both")
def _both(server: HeadgateServer, metalake: str, client: Clients) -> Iterator[Both]:
    """A new catalog with the schema `shop`."""
    both = new_catalog(server, client(ADMIN), metalake, ADMIN)
    yield both
    both.iceberg.close()


def test_pyiceberg_loads_what_gravitino_made(both: Both) -> None:
    """Columns with their ids, types and comments, the key, the partitions and the order."""
    both.table(
        columns=[
            ID,
            Column.of("ts", Types.TimestampType.with_time_zone(6)),
            Column.of("points", Types.ListType.of(POINT, False), "where"),
            Column.of("names", Types.MapType.of(STRING, Types.UUIDType.get(), True)),
        ],
        comment="all",
        properties={"k": "v"},
        partitioning=[Transforms.day("ts"), Transforms.bucket(4, ["id"])],
        sort_orders=[
            SortOrders.descending(NamedReference.field(["id"])),
            SortOrders.ascending(FunctionExpression.of("day", NamedReference.field(["ts"]))),
        ],
        indexes=[Indexes.primary("pk", [["id"]])],
    )

    table = both.iceberg.load_table((both.schema, "t"))

    assert table.schema() == Schema(
        NestedField(1, "id", LongType(), required=True, doc="key"),
        NestedField(2, "ts", TimestamptzType()),
        NestedField(
            3,
            "points",
            ListType(
                5,
                StructType(
                    NestedField(6, "x", DecimalType(10, 2), required=True, doc="east"),
                    NestedField(7, "y", DoubleType()),
                ),
                element_required=True,
            ),
            doc="where",
        ),
        NestedField(4, "names", MapType(8, StringType(), 9, UUIDType(), value_required=False)),
        identifier_field_ids=[1],
    )
    assert table.spec() == PartitionSpec(
        PartitionField(2, 1000, DayTransform(), "ts_day"),
        PartitionField(1, 1001, BucketTransform(4), "id_bucket"),
    )
    assert table.sort_order() == SortOrder(
        SortField(1, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),
        SortField(2, DayTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST),
    )
    assert table.properties["comment"] == "all"
    assert table.properties["write.distribution-mode"] == "range"
    assert table.format_version == 2


def test_gravitino_shows_every_type_that_pyiceberg_made(both: Both) -> None:
    """With its name, its comment and whether it may be null."""
    spec = PartitionSpec(PartitionField(7, 1000, DayTransform(), "by_day"))
    order = SortOrder(SortField(3, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_LAST))
    both.iceberg.create_table((both.schema, "t"), ALL_TYPES, partition_spec=spec, sort_order=order)

    table = both.load()

    columns = table.columns()
    shown = [column.data_type().simple_string() for column in columns]
    assert shown[-1] == "unparsed(binary)"  # this client does not know the word
    assert shown[:-1] == [field.name for field in ALL_TYPES.fields[:-1]]
    assert [column.name() for column in columns if not column.nullable()] == ["long"]
    assert columns[2].comment() == "key"
    assert table.partitioning() == [Transforms.day("date")]
    [order_shown] = table.sort_order()
    assert order_shown.expression().field_name() == ["long"]
    assert table.index()[0].field_names() == [["long"]]
    assert table.distribution() == Distributions.NONE


def test_gravitino_shows_nested_types_of_format_version_3(both: Both) -> None:
    """Also those that came with it."""
    schema = Schema(
        NestedField(1, "nanos", TimestampNanoType()),
        NestedField(2, "nothing", UnknownType()),
        NestedField(
            3,
            "deep",
            StructType(NestedField(4, "list", ListType(5, StringType(), element_required=True))),
        ),
    )
    both.iceberg.create_table((both.schema, "t"), schema, properties={"format-version": "3"})

    nanos, nothing, deep = both.load().columns()

    assert nanos.data_type() == NANOS
    assert nothing.data_type() == Types.NullType.get()
    [inner] = deep.data_type().fields()
    assert inner.type() == Types.ListType.of(STRING, False)
    assert both.load().properties()["format-version"] == "3"


def test_gravitino_makes_tables_of_format_version_3(both: Both) -> None:
    """With default values, which both clients read."""
    made = both.table(
        columns=[
            ID,
            Column.of("nanos", NANOS),
            Column.of("n", INTEGER, default_value=Literals.integer_literal(7)),
        ],
        properties={"format-version": "3"},
    )

    table = both.iceberg.load_table((both.schema, "t"))

    assert table.format_version == 3
    fields = table.schema().fields
    assert fields[1].field_type == TimestampNanoType()
    assert (fields[2].initial_default, fields[2].write_default) == (7, 7)
    assert str(made.columns()[2].default_value().value()) == "7"


def test_rows_survive_what_gravitino_changes(both: Both) -> None:
    """A column keeps its values under another name and type; a new one is null in old rows."""
    both.table(columns=[ID, CITY, Column.of("n", INTEGER)])
    table = both.iceberg.load_table((both.schema, "t"))
    fields = [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("city", pa.string()),
        pa.field("n", pa.int32()),
    ]
    rows = [{"id": 1, "city": "Aachen", "n": 5}]
    table.append(pa.Table.from_pylist(rows, schema=pa.schema(fields)))

    changed = both.alter(
        TableChange.rename_column(["city"], "town"),
        TableChange.update_column_type(["n"], LONG),
        TableChange.add_column(["country"], STRING, "where", FIRST),
        TableChange.update_column_comment(["id"], "its number"),
        TableChange.update_column_nullability(["id"], True),
        TableChange.update_column_position(["n"], TableChange.ColumnPosition.after("id")),
        TableChange.set_property("k", "v"),
        TableChange.update_comment("towns"),
    )

    assert [one.name() for one in changed.columns()] == ["country", "id", "n", "town"]
    assert (changed.comment(), changed.properties()["k"]) == ("towns", "v")
    table.refresh()
    assert table.scan().to_arrow().to_pylist() == [
        {"country": None, "id": 1, "n": 5, "town": "Aachen"}
    ]
    assert table.properties["comment"] == "towns"


def test_gravitino_sees_what_pyiceberg_changes(both: Both) -> None:
    """New columns, new properties, and the snapshot that is current."""
    both.table()
    assert both.load().properties()["current-snapshot-id"] == "none"
    table = both.iceberg.load_table((both.schema, "t"))

    with table.update_schema() as update:
        update.add_column("since", DateType(), doc="when")
        update.rename_column("city", "town")
    with table.transaction() as transaction:
        transaction.set_properties(k="w")
    table.append(
        pa.Table.from_pylist(
            [{"id": 1}], schema=pa.schema([pa.field("id", pa.int64(), nullable=False)])
        )
    )

    seen = both.load()
    assert [one.name() for one in seen.columns()] == ["id", "town", "since"]
    assert seen.columns()[2].comment() == "when"
    assert seen.properties()["k"] == "w"
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert seen.properties()["current-snapshot-id"] == str(snapshot.snapshot_id)


def test_a_column_is_deleted_and_a_key_comes_and_goes(both: Both) -> None:
    """As pyiceberg sees it."""
    both.table(columns=[ID, CITY, Column.of("n", INTEGER)])

    both.alter(
        TableChange.delete_column(["n"], False),
        TableChange.delete_column(["none"], True),
        TableChange.add_index(Indexes.primary("pk", [["id"]]).type(), "pk", [["id"]]),
    )

    table = both.iceberg.load_table((both.schema, "t"))
    assert table.schema().column_names == ["id", "city"]
    assert table.schema().identifier_field_ids == [1]
    both.alter(TableChange.delete_index("PRIMARY", False))
    assert both.load().index() == []


def test_a_table_has_one_name_for_both(both: Both) -> None:
    """In whichever protocol it was given; also in a nested schema."""
    both.table()
    both.iceberg.create_namespace((both.schema, "inner"))
    inner = f"{both.schema}:inner"

    both.alter(TableChange.rename("u", inner))
    assert both.iceberg.list_tables((both.schema, "inner")) == [(both.schema, "inner", "u")]
    both.iceberg.rename_table((both.schema, "inner", "u"), (both.schema, "w"))

    assert both.tables.list_tables(Namespace.of(both.schema)) == [both.named("w")]
    assert both.tables.list_tables(Namespace.of(inner)) == []
    assert both.tables.table_exists(both.named("w"))
    assert not both.tables.table_exists(NameIdentifier.of(inner, "u"))


def test_a_dropped_table_is_gone_for_both(both: Both) -> None:
    """Purged or not; what is not there cannot be dropped."""
    for drop in (both.tables.drop_table, both.tables.purge_table):
        both.table()
        assert drop(both.named("t")) is True
        assert not both.iceberg.table_exists((both.schema, "t"))
        assert drop(both.named("t")) is False
