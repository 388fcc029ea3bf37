"""What Gravitino's client is told if a table cannot be made, changed or found."""

from collections.abc import Callable, Iterator

import pytest
from gravitino import NameIdentifier
from gravitino.api.authorization.privileges import Privilege, Privileges
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.rel.column import Column
from gravitino.api.rel.expressions.distributions.distributions import Distributions
from gravitino.api.rel.expressions.named_reference import NamedReference
from gravitino.api.rel.expressions.transforms.transforms import Transforms
from gravitino.api.rel.indexes.indexes import Indexes
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.exceptions.base import (
    ForbiddenException,
    IllegalArgumentException,
    NoSuchSchemaException,
    NoSuchTableException,
    TableAlreadyExistsException,
    UnsupportedOperationException,
)
from gravitino.namespace import Namespace

from headgate.testing.headgate_server import HeadgateServer
from tests.gravitino.conftest import ADMIN, Clients
from tests.gravitino.relational import CITY, ID, INTEGER, STRING, Both, new_catalog

pytestmark = pytest.mark.filterwarnings("ignore:Missing value of non-optional type")

LAST = TableChange.ColumnPosition.default_pos()


@pytest.fixture(name="both", scope="module")
def _both(server: HeadgateServer, metalake: str, client: Clients) -> Iterator[Both]:
    """A catalog with the table `t`, which nothing here changes."""
    both = new_catalog(server, client(ADMIN), metalake, ADMIN)
    both.table(partitioning=[Transforms.identity("city")])
    yield both
    both.iceberg.close()


@pytest.fixture(autouse=True)
def _unchanged(both: Both) -> Iterator[None]:
    """Whatever is refused leaves the catalog as it was."""
    before = both.iceberg.load_table((both.schema, "t")).metadata_location
    yield
    assert both.iceberg.load_table((both.schema, "t")).metadata_location == before
    assert both.tables.list_tables(Namespace.of(both.schema)) == [both.named("t")]


def typed(type: Types) -> Callable[[Both], object]:
    return lambda both: both.table("new", [Column.of("a", type)])


def altered(*changes: TableChange) -> Callable[[Both], object]:
    return lambda both: both.alter(*changes)


@pytest.mark.parametrize(
    "ask",
    [
        typed(Types.ByteType.get()),
        typed(Types.ShortType.get()),
        typed(Types.IntegerType.unsigned()),
        typed(Types.VarCharType.of(3)),
        typed(Types.FixedCharType.of(3)),
        typed(Types.IntervalDayType.get()),
        typed(Types.TimestampType.without_time_zone(3)),
        typed(Types.UnionType.of(STRING)),
        lambda both: both.table("new", partitioning=[Transforms.list(["city"])]),
        lambda both: both.table("new", partitioning=[Transforms.range(["city"])]),
        altered(TableChange.add_column(["n"], Types.ByteType.get(), None, LAST)),
        lambda both: both.load().list_partition_names(),
        lambda both: both.load().list_partitions(),
        lambda both: both.load().get_partition("p"),
        lambda both: both.load().drop_partition("p"),
    ],
)
def test_what_iceberg_does_not_have_is_unsupported(
    both: Both, ask: Callable[[Both], object]
) -> None:
    """Types, ways to partition, and partitions as objects."""
    with pytest.raises(UnsupportedOperationException):
        ask(both)


@pytest.mark.parametrize(
    "ask",
    [
        lambda both: both.table("a.b"),
        lambda both: both.table("new", [ID, ID]),
        lambda both: both.table("new", [Column.of("n", INTEGER, auto_increment=True)]),
        lambda both: both.table("new", partitioning=[Transforms.day("city")]),
        lambda both: both.table("new", indexes=[Indexes.unique("u", [["id"]])]),
        lambda both: both.table("new", indexes=[Indexes.primary("pk", [["city"]])]),
        lambda both: both.table(
            "new", distribution=Distributions.hash(4, NamedReference.field(["id"]))
        ),
        lambda both: both.table("new", properties={"current-snapshot-id": "1"}),
        lambda both: both.table("new", properties={"format-version": "9"}),
        altered(TableChange.add_column(["id"], STRING, None, LAST)),
        altered(TableChange.add_column(["n"], STRING, None, LAST, nullable=False)),
        altered(TableChange.delete_column(["none"], False)),
        altered(TableChange.delete_column(["city"], False)),
        altered(TableChange.update_column_type(["city"], INTEGER)),
        altered(TableChange.set_property("location", "s3://x")),
        altered(TableChange.rename("u"), TableChange.update_comment("x")),
        altered(TableChange.update_comment("x"), TableChange.rename_column(["city"], "id")),
    ],
)
def test_what_cannot_be_is_illegal(both: Both, ask: Callable[[Both], object]) -> None:
    """All or none of several changes are made."""
    with pytest.raises(IllegalArgumentException):
        ask(both)


def test_what_is_not_there_is_missed(both: Both) -> None:
    """A table, or its schema."""
    with pytest.raises(NoSuchTableException):
        both.load("none")
    with pytest.raises(NoSuchTableException):
        both.alter(TableChange.update_comment("x"), name="none")
    with pytest.raises(NoSuchSchemaException):
        both.tables.list_tables(Namespace.of("none"))
    with pytest.raises(NoSuchSchemaException):
        both.tables.create_table(NameIdentifier.of("none", "t"), [ID])
    with pytest.raises(NoSuchSchemaException):
        both.alter(TableChange.rename("t", "none"))


def test_a_name_is_taken_once(both: Both) -> None:
    """By a new table."""
    with pytest.raises(TableAlreadyExistsException):
        both.table(columns=[CITY])


def test_a_client_may_say_what_it_is_going_to_do(both: Both, client: Clients) -> None:
    """Whoever may only read is told so when it loads, and not when it writes."""
    admin, name = client(ADMIN), both.catalog.name()
    admin.add_user("ann")
    rights = map(Privileges.allow, ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"))
    admin.create_role("reader", {}, [SecurableObjects.of_catalog(name, list(rights))])
    admin.grant_roles_to_user(["reader"], "ann")
    tables = client("ann").load_catalog(name).as_table_catalog()

    assert tables.load_table(both.named("t"), {Privilege.Name.SELECT_TABLE}).name() == "t"
    with pytest.raises(ForbiddenException):
        tables.load_table(both.named("t"), {Privilege.Name.MODIFY_TABLE})
    with pytest.raises(ForbiddenException):
        tables.drop_table(both.named("t"))
