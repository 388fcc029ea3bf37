"""pyiceberg: tables."""

import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from headgate.testing.headgate_server import HeadgateServer
from tests.clients.conftest import connect

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "city", StringType(), required=False),
)
PURGE_SECONDS_MAX = 20.0
ARROW = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.Table.from_pylist([{"id": id, "city": city} for id, city in pairs], schema=ARROW)


def content(table: Table, **scan: object) -> list[tuple[object, ...]]:
    """The rows of a scan, in order."""
    found = table.scan(**scan).to_arrow().to_pylist()  # type: ignore[arg-type]
    return sorted(tuple(row.values()) for row in found)


def files_of(table: Table) -> list[Path]:
    """Every file below the table's location."""
    folder = Path(urlsplit(table.location()).path)
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(name="table")
def _table(catalog: RestCatalog, namespace: str) -> Table:
    """A table with two rows."""
    table: Table = catalog.create_table((namespace, "cities"), SCHEMA)
    table.append(rows((1, "Aachen"), (2, "Bonn")))
    return table


def test_what_is_appended_is_read_back(catalog: RestCatalog, table: Table) -> None:
    """Rows of several appends are all there for who loads the table anew."""
    table.append(rows((3, "Celle")))

    loaded = catalog.load_table(table.name())
    assert content(loaded) == [(1, "Aachen"), (2, "Bonn"), (3, "Celle")]
    assert len(loaded.history()) == 2


def test_overwrite_and_delete_replace_rows(catalog: RestCatalog, table: Table) -> None:
    """An overwrite with a filter, an upsert and a delete change just what they name."""
    table.overwrite(rows((2, "Berlin")), overwrite_filter="id = 2")
    table.upsert(rows((2, "Bremen"), (4, "Dresden")), join_cols=["id"])
    table.delete("id = 1")

    assert content(catalog.load_table(table.name())) == [(2, "Bremen"), (4, "Dresden")]


def test_a_schema_evolves(catalog: RestCatalog, table: Table) -> None:
    """Columns are added, renamed, moved and dropped, and old rows are still read."""
    with table.update_schema() as update:
        update.add_column("people", LongType(), doc="how many live there")
        update.rename_column("city", "town")
        update.move_first("people")
    with table.update_schema() as update:
        update.delete_column("people")
        update.add_column("country", StringType())

    loaded = catalog.load_table(table.name())
    assert loaded.schema().column_names == ["id", "town", "country"]
    assert loaded.schema().find_field("country").field_id == 4
    assert content(loaded) == [(1, "Aachen", None), (2, "Bonn", None)]


def test_a_partition_spec_evolves(catalog: RestCatalog, table: Table) -> None:
    """A field that is added counts for new files, and old files keep their spec."""
    with table.update_spec() as update:
        update.add_identity("city")
    table.append(rows((3, "Celle")))
    with table.update_spec() as update:
        update.rename_field("city", "place")
        update.add_field("id", BucketTransform(4), "id_bucket")

    loaded = catalog.load_table(table.name())
    assert [field.name for field in loaded.spec().fields] == ["place", "id_bucket"]
    assert sorted(loaded.specs()) == [0, 1, 2]
    assert content(loaded, row_filter="city = 'Celle'") == [(3, "Celle")]
    assert content(loaded) == [(1, "Aachen"), (2, "Bonn"), (3, "Celle")]


def test_a_sort_order_evolves(catalog: RestCatalog, table: Table) -> None:
    """A new sort order is the table's own for all later loads."""
    with table.update_sort_order() as update:
        update.desc("id", IdentityTransform())

    order = catalog.load_table(table.name()).sort_order()
    assert [(field.source_id, field.direction.value) for field in order.fields] == [(1, "desc")]


def test_a_table_is_created_with_all_it_can_have(catalog: RestCatalog, namespace: str) -> None:
    """Partition spec, sort order, properties and a location of its own arrive."""
    location = f"{catalog.create_table((namespace, 'first'), SCHEMA).location()}-and-more"
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket"))
    order = SortOrder(SortField(2, IdentityTransform()))

    table = catalog.create_table(
        *((namespace, "second"), SCHEMA, location, spec, order), {"owner": "me"}
    )

    loaded = catalog.load_table(table.name())
    assert loaded.location() == location
    assert [str(field.transform) for field in loaded.spec().fields] == ["bucket[4]"]
    assert [field.source_id for field in loaded.sort_order().fields] == [2]
    assert loaded.properties["owner"] == "me"


def test_properties_are_set_and_removed(catalog: RestCatalog, table: Table) -> None:
    """A transaction of several changes is one commit."""
    before = len(table.metadata.metadata_log)
    with table.transaction() as transaction:
        transaction.set_properties(owner="me", purpose="tests")
        transaction.remove_properties("purpose")

    loaded = catalog.load_table(table.name())
    assert loaded.properties.get("owner") == "me"
    assert "purpose" not in loaded.properties
    assert len(loaded.metadata.metadata_log) == before + 1


def test_branches_and_tags(catalog: RestCatalog, table: Table) -> None:
    """A tag stays where it is, a branch grows alone, and both can be removed."""
    first = table.current_snapshot()
    assert first
    table.manage_snapshots().create_tag(first.snapshot_id, "v1").create_branch(
        first.snapshot_id, "draft"
    ).commit()
    table.append(rows((3, "Celle")), branch="draft")
    table.append(rows((4, "Dresden")))

    loaded = catalog.load_table(table.name())
    ids = {
        name: sorted(loaded.scan().use_ref(name).to_arrow()["id"].to_pylist())
        for name in loaded.refs()
    }
    assert ids == {"main": [1, 2, 4], "draft": [1, 2, 3], "v1": [1, 2]}

    loaded.manage_snapshots().remove_tag("v1").remove_branch("draft").commit()
    assert list(catalog.load_table(table.name()).refs()) == ["main"]


def test_time_travel_and_expiry(catalog: RestCatalog, table: Table) -> None:
    """An old snapshot is read by its id until it is expired."""
    first = table.current_snapshot()
    assert first
    table.append(rows((3, "Celle")))

    loaded = catalog.load_table(table.name())
    assert len(content(loaded, snapshot_id=first.snapshot_id)) == 2
    loaded.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    left = catalog.load_table(table.name()).snapshots()
    assert [snapshot.parent_snapshot_id for snapshot in left] == [first.snapshot_id]


def test_a_scan_planned_by_the_server_finds_the_same(server: HeadgateServer, table: Table) -> None:
    """Files, filters, deletes and snapshots are seen alike by both kinds of planning."""
    table.append(rows((3, "Celle"), (4, "Dresden")))
    table.delete("id = 4")
    with closing(connect(server, scan_planning_mode="server")) as planning:
        assert planning.supports_server_side_planning()
        planned = planning.load_table(table.name())

        for scan in ({}, {"row_filter": "id > 1"}, {"selected_fields": ("city",)}):
            assert content(planned, **scan) == content(table, **scan)
        first = table.history()[0].snapshot_id
        assert len(content(planned, snapshot_id=first)) == 2
        plan = planned.scan(row_filter="id > 2").plan_files()
        assert {task.file.file_path for task in plan} == {
            task.file.file_path for task in table.scan(row_filter="id > 2").plan_files()
        }


def test_a_table_is_renamed(catalog: RestCatalog, table: Table) -> None:
    """The table is the same under the new name, and none is under the old one."""
    space, _ = table.name()
    catalog.create_namespace((space, "deeper"))

    renamed = catalog.rename_table(table.name(), (space, "deeper", "places"))

    assert renamed.metadata.table_uuid == table.metadata.table_uuid
    assert catalog.list_tables(space) == []
    assert catalog.list_tables((space, "deeper")) == [(space, "deeper", "places")]
    with pytest.raises(NoSuchTableError):
        catalog.load_table(table.name())


def test_a_staged_table_appears_when_it_is_committed(catalog: RestCatalog, namespace: str) -> None:
    """A create transaction with rows shows nothing before its end, and everything after."""
    name = (namespace, "staged")
    with catalog.create_table_transaction(name, SCHEMA) as transaction:
        transaction.append(rows((1, "Aachen")))
        assert not catalog.table_exists(name)

    assert content(catalog.load_table(name)) == [(1, "Aachen")]


def test_a_table_is_dropped_and_registered_again(catalog: RestCatalog, table: Table) -> None:
    """Dropping leaves the files, so that the table comes back from its metadata file."""
    where = catalog.load_table(table.name()).metadata_location
    catalog.drop_table(table.name())
    assert not catalog.table_exists(table.name())

    registered = catalog.register_table(table.name(), where)

    assert content(registered) == [(1, "Aachen"), (2, "Bonn")]
    assert registered.metadata.table_uuid == table.metadata.table_uuid


def test_a_purged_table_leaves_no_file(catalog: RestCatalog, table: Table) -> None:
    """The name is free at once, and soon every file is gone."""
    assert files_of(table)
    catalog.purge_table(table.name())

    assert not catalog.table_exists(table.name())
    deadline = time.monotonic() + PURGE_SECONDS_MAX
    while files_of(table):
        assert time.monotonic() < deadline, files_of(table)
        time.sleep(0.05)


def test_mistakes_are_told_as_pyiceberg_knows_them(catalog: RestCatalog, table: Table) -> None:
    """Errors arrive as the exceptions that programs catch."""
    space, _ = table.name()
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(table.name(), SCHEMA)
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table(("nowhere", "t"), SCHEMA)
    with pytest.raises(NoSuchTableError):
        catalog.load_table((space, "nothing"))
    with pytest.raises(NoSuchTableError):
        catalog.drop_table((space, "nothing"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("nowhere")


def test_a_true_conflict_is_told_and_loses_nothing(catalog: RestCatalog, table: Table) -> None:
    """Two schema changes from one state: the second fails, and can be repeated."""
    stale = catalog.load_table(table.name())
    with table.update_schema() as update:
        update.add_column("one", StringType())
    with pytest.raises(CommitFailedException), stale.update_schema() as update:
        update.add_column("two", StringType())

    with stale.refresh().update_schema() as update:
        update.add_column("two", StringType())
    assert catalog.load_table(table.name()).schema().column_names == ["id", "city", "one", "two"]
