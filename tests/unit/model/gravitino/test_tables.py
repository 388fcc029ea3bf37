"""Tables of Gravitino as tables of Iceberg and back."""

from typing import Any

import pytest
from hypothesis import given

from headgate.errors import BadMetadata, BadRequest, Unsupported
from headgate.model.gravitino.tables import CreateTable, describe, new_table
from headgate.model.gravitino.wire import (
    Column,
    Distribution,
    Expression,
    Index,
    Partitioning,
    SortOrder,
    column,
)
from tests.unit.model.gravitino.descriptions import COLUMNS, day, outline, people

V3 = {"format-version": "3"}


@given(COLUMNS)
def test_a_table_is_shown_with_the_columns_it_was_made_of(columns: list[Column]) -> None:
    """Whatever their types, comments and nullability."""
    made = outline(CreateTable(name="t", columns=columns, properties=V3))

    assert describe(made).columns == columns


def test_a_name_with_dots_is_one_name() -> None:
    """Nobody takes it for a column in a struct."""
    dotted = Column(name="a.b", type="long")

    made = outline(
        people(
            columns=[dotted],
            partitioning=[Partitioning(strategy="identity", field_name=["a.b"])],
            sort_orders=[],
        )
    )

    assert describe(made).partitioning == [Partitioning(strategy="identity", field_name=["a.b"])]


def test_a_table_is_shown_as_it_was_made() -> None:
    """All of it: comment, partitioning, order, key."""
    key = Index(index_type="primary_key", name="pk", field_names=[["id"]])
    wanted = people(indexes=[key], properties={"k": "v", "location": "s3://bucket/x", **V3})

    shown = describe(outline(wanted))

    assert shown.comment == "all of them"
    assert shown.columns == wanted.columns
    assert shown.partitioning == wanted.partitioning
    assert shown.sort_orders == wanted.sort_orders
    assert shown.distribution == Distribution(strategy="range")
    assert shown.indexes == [
        Index(index_type="PRIMARY_KEY", name="PRIMARY", field_names=[["id"]], properties={})
    ]
    assert shown.properties == {
        "k": "v",
        "write.parquet.compression-codec": "zstd",
        "write.distribution-mode": "range",
        "format": "iceberg/parquet",
        "provider": "iceberg",
        "location": "s3://bucket/x",
        "format-version": "3",
        "current-snapshot-id": "none",
        "sort-order": "days(ts) ASC NULLS LAST",
        "identifier-fields": "[id]",
    }


@pytest.mark.parametrize(
    ("given", "name", "transform"),
    [
        ({"strategy": "IDENTITY", "field_name": ["id"]}, "id", "identity"),
        ({"strategy": "year", "field_name": ["ts"]}, "ts_year", "year"),
        ({"strategy": "month", "field_name": ["ts"]}, "ts_month", "month"),
        ({"strategy": "hour", "field_name": ["ts"]}, "ts_hour", "hour"),
        (
            {"strategy": "bucket", "num_buckets": 4, "field_names": [["id"]]},
            "id_bucket",
            "bucket[4]",
        ),
        (
            {"strategy": "truncate", "width": 3, "field_name": ["address", "street"]},
            "address.street_trunc",
            "truncate[3]",
        ),
        ({"strategy": "identity", "field_name": ["address.zip"]}, "address.zip", "identity"),
    ],
)
def test_partitions_are_named_as_iceberg_names_them(
    given: dict[str, Any], name: str, transform: str
) -> None:
    """So that every engine finds the same."""
    made = outline(people(partitioning=[Partitioning(**given)]))

    [field] = made.spec["fields"]
    assert (field["name"], field["transform"]) == (name, transform)
    [shown] = describe(made).partitioning
    names = [shown.field_name] if shown.field_name else shown.field_names
    assert names == [".".join(given.get("field_name") or given["field_names"][0]).split(".")]
    assert (shown.num_buckets, shown.width) == (given.get("num_buckets"), given.get("width"))


def test_a_transform_of_a_later_version_is_shown_as_a_function() -> None:
    """And one that is no more is not shown at all."""
    made = outline(people())
    fields = [
        {"source-id": 1, "field-id": 1000, "name": "a", "transform": "zorder"},
        {"source-id": 1, "field-id": 1001, "name": "b", "transform": "void"},
    ]
    made.spec["fields"] = fields

    made.order["fields"] = [{**made.order["fields"][0], "transform": "zorder"}]

    shown = describe(made)
    assert shown.partitioning == [
        Partitioning(strategy="function", func_name="zorder", func_args=[column(["id"])])
    ]
    assert shown.sort_orders[0].sort_term == Expression(
        type="function", func_name="zorder", func_args=[column(["ts"])]
    )
    assert shown.properties["sort-order"] == "zorder(ts) ASC NULLS LAST"


@pytest.mark.parametrize("strategy", ["year", "month", "day", "hour"])
def test_an_order_may_be_of_a_part_of_a_time(strategy: str) -> None:
    """And is shown as it was given."""
    term = Expression(type="function", func_name=strategy, func_args=[column(["ts"])])
    order = SortOrder(sort_term=term, direction="desc", null_ordering="nulls_first")

    made = outline(people(sort_orders=[order]))

    assert describe(made).sort_orders == [order]
    assert describe(made).properties["sort-order"] == f"{strategy}s(ts) DESC NULLS FIRST"


def test_an_order_may_be_of_several_terms() -> None:
    """Where nulls come is what is usual, unless it is said."""
    width = Expression(type="literal", data_type="integer", value="4")
    terms = [
        column(["id"]),
        Expression(type="function", func_name="bucket", func_args=[width, column(["id"])]),
        Expression(
            type="function", func_name="Truncate", func_args=[width, column(["address", "street"])]
        ),
    ]
    orders = [SortOrder(sort_term=term, direction="DESC") for term in terms]
    orders.append(SortOrder(sort_term=column(["address", "zip"])))

    shown = describe(outline(people(sort_orders=orders)))

    assert [one.sort_term.func_name for one in shown.sort_orders] == [
        None,
        "bucket",
        "truncate",
        None,
    ]
    assert [one.null_ordering for one in shown.sort_orders] == ["nulls_last"] * 3 + ["nulls_first"]
    assert shown.properties["sort-order"] == (
        "id DESC NULLS LAST, bucket(4, id) DESC NULLS LAST, "
        "truncate(address.street, 4) DESC NULLS LAST, address.zip ASC NULLS FIRST"
    )


@pytest.mark.parametrize(
    ("given", "partitioned", "mode"),
    [
        (None, True, "hash"),
        (None, False, "none"),
        ({"strategy": "none"}, True, "hash"),
        ({"strategy": "HASH"}, True, "hash"),
        ({"strategy": "range"}, True, "range"),
    ],
)
def test_a_distribution_is_what_suits_the_table(
    given: dict[str, Any] | None, partitioned: bool, mode: str
) -> None:
    """Unless a client chose one."""
    distribution = Distribution(**given) if given else None
    more: dict[str, Any] = {} if partitioned else {"partitioning": []}
    made = outline(people(sort_orders=[], distribution=distribution, **more))

    assert made.properties["write.distribution-mode"] == mode
    assert describe(made).distribution == Distribution(strategy=mode, number=0, func_args=[])


@pytest.mark.parametrize(
    ("provider", "format"),
    [("Parquet", "parquet"), ("orc", "orc"), ("avro", "avro"), ("iceberg", None)],
)
def test_a_provider_is_a_file_format(provider: str, format: str | None) -> None:
    """As Spark says it in USING."""
    shown = describe(outline(people(properties={"provider": provider}))).properties

    assert shown.get("write.format.default") == format
    assert shown["format"] == f"iceberg/{format or 'parquet'}"
    assert shown["provider"] == "iceberg"


def test_a_default_value_is_shown_where_the_format_has_some() -> None:
    """Rows that are there and rows to come have it."""
    default = Expression(type="literal", data_type="integer", value="7")
    wanted = Column(name="n", type="integer", default_value=default)

    made = outline(people(columns=[wanted], partitioning=[], sort_orders=[], properties=V3))

    assert made.schema["fields"][0]["initial-default"] == 7
    assert describe(made).columns == [wanted]
    null = Expression(type="literal", data_type="null", value="NULL")
    bare = Column(name="n", type="integer", default_value=null)
    assert (
        "write-default"
        not in new_table(people(columns=[bare], partitioning=[], sort_orders=[]))["schema"][
            "fields"
        ][0]
    )
    with pytest.raises(BadRequest, match="format version 2 have none"):
        new_table(people(columns=[wanted]))


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        ({"columns": []}, BadRequest, "no columns"),
        ({"columns": [Column(name="", type="long")]}, BadRequest, "name is empty"),
        (
            {"columns": [Column(name="a", type="long", auto_increment=True)]},
            BadRequest,
            "count by themselves",
        ),
        ({"partitioning": [Partitioning(strategy="list")]}, Unsupported, "list"),
        ({"partitioning": [Partitioning(strategy="range")]}, Unsupported, "range"),
        ({"partitioning": [Partitioning(strategy="function")]}, Unsupported, "function"),
        ({"partitioning": [Partitioning(strategy="identity")]}, BadRequest, "names 0"),
        (
            {"partitioning": [Partitioning(strategy="identity", field_name=["x"])]},
            BadRequest,
            "does not exist: x",
        ),
        (
            {"partitioning": [Partitioning(strategy="bucket", field_names=[["id"]])]},
            BadRequest,
            "numBuckets is None",
        ),
        (
            {
                "partitioning": [
                    Partitioning(strategy="bucket", num_buckets=4, field_names=[["id"], ["ts"]])
                ]
            },
            BadRequest,
            "names 2",
        ),
        (
            {"partitioning": [Partitioning(strategy="truncate", width=0, field_name=["id"])]},
            BadRequest,
            "width is 0",
        ),
        ({"sort_orders": [day("up")]}, BadRequest, "direction up"),
        (
            {"sort_orders": [SortOrder(sort_term=column(["id"]), null_ordering="first")]},
            BadRequest,
            "nullOrdering",
        ),
        (
            {"sort_orders": [SortOrder(sort_term=Expression(type="literal", value="1"))]},
            Unsupported,
            "sort by literal",
        ),
        (
            {
                "sort_orders": [
                    SortOrder(sort_term=Expression(type="function", func_name="abs", func_args=[]))
                ]
            },
            Unsupported,
            "sort by abs",
        ),
        ({"distribution": Distribution(strategy="even")}, BadRequest, "does not know"),
        (
            {"distribution": Distribution(func_args=[column(["id"])])},
            BadRequest,
            "partitioned or sorted",
        ),
        ({"distribution": Distribution(number=4)}, BadRequest, "any number"),
        ({"distribution": Distribution(), "partitioning": []}, BadRequest, "not partitioned"),
        (
            {
                "distribution": Distribution(strategy="range"),
                "partitioning": [],
                "sort_orders": [],
            },
            BadRequest,
            "neither",
        ),
        (
            {"indexes": [Index(index_type="UNIQUE_KEY", field_names=[["id"]])]},
            BadRequest,
            "primary key",
        ),
        (
            {"indexes": [Index(index_type="PRIMARY_KEY", field_names=[])]},
            BadRequest,
            "no columns",
        ),
        (
            {"indexes": [Index(index_type="PRIMARY_KEY", field_names=[["id"]])] * 2},
            BadRequest,
            "one primary key",
        ),
        ({"properties": {"comment": "x"}}, BadRequest, "comment"),
        ({"properties": {"write.distribution-mode": "hash"}}, BadRequest, "distribution-mode"),
        ({"properties": {"uuid": "x"}}, BadRequest, "uuid"),
        ({"properties": {" ": "x"}}, BadRequest, "name is empty"),
        ({"properties": {"provider": "hudi"}}, BadRequest, "hudi"),
        ({"properties": {"format-version": "two"}}, BadMetadata, "integer"),
    ],
)
def test_what_no_table_can_be_is_refused(
    change: dict[str, Any], error: type[Exception], reason: str
) -> None:
    """With what is wrong about it."""
    with pytest.raises(error, match=reason):
        new_table(people(**change))


def test_a_key_of_nullable_columns_is_refused() -> None:
    """Iceberg says so, when the table is made."""
    key = Index(index_type="PRIMARY_KEY", field_names=[["ts"]])

    with pytest.raises(BadMetadata, match="not a required field"):
        outline(people(indexes=[key]))
