"""Metadata files of tables: read, refused, written, and what survives."""

import gc
import json
from typing import Any

import pytest

from headgate.model.snapshots import Ref
from headgate.model.table_metadata import (
    current_schema,
    default_spec,
    encode,
    encode_refs,
    parse,
    previous_files,
    snapshot,
)
from tests.unit.model.tables import (
    FILE,
    LOCATION,
    OLD,
    START_MS,
    UUID,
    add_snapshot,
    commit,
    document,
    reread,
    set_main,
    set_ref,
    table,
    with_snapshots,
)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_comes_back_as_it_was_written(version: int) -> None:
    """Reading what was written gives an equal table, and writing that the same bytes."""
    metadata = with_snapshots(3, version)

    assert parse(encode(metadata)) == metadata
    assert encode(parse(encode(metadata))) == encode(metadata)


def test_small_members_come_first_and_long_arrays_last() -> None:
    """Who reads the beginning of a file sees what table it is."""
    names = list(document(with_snapshots(2)))

    assert names[:3] == ["format-version", "table-uuid", "location"]
    assert names[-3:] == ["metadata-log", "snapshot-log", "snapshots"]


@pytest.mark.parametrize(("version", "expected"), [(1, -1), (2, -1), (3, None)])
def test_no_current_snapshot_is_written_as_each_version_has_it(
    version: int, expected: int | None
) -> None:
    """Versions 1 and 2 write -1, version 3 writes null."""
    assert document(table(version))["current-snapshot-id"] == expected


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("spelled", [-1, None, ...])
def test_no_current_snapshot_is_read_in_every_spelling(version: int, spelled: Any) -> None:
    """-1, null and nothing at all are the same."""
    file = document(table(version))
    file["current-snapshot-id"] = spelled
    if spelled is ...:
        del file["current-snapshot-id"]

    assert reread(file) == table(version)


def test_version_1_repeats_schema_and_spec_for_old_readers() -> None:
    """The current schema and the fields of the default spec stand alone as well."""
    file = document(table(1))

    assert file["schema"] == file["schemas"][0]
    assert file["partition-spec"] == file["partition-specs"][0]["fields"]
    assert "last-sequence-number" not in file
    assert "next-row-id" not in file


def test_what_only_version_1_repeats_is_dropped_later() -> None:
    """A schema that is left over in a later version would go stale."""
    file = document(table(2)) | {"schema": {"stale": True}, "partition-spec": [], "next-row-id": 7}

    assert document(reread(file)).keys() == document(table(2)).keys()


def test_a_file_of_version_1_without_numbers_is_read() -> None:
    """One schema without a number, one spec without ids, no order, no log."""
    metadata = reread(OLD)

    assert current_schema(metadata).value["schema-id"] == 0
    assert default_spec(metadata).value["fields"][0]["field-id"] == 1000
    assert metadata.default_sort_order_id == 0
    assert metadata.sort_orders[-1].value == {"order-id": 0, "fields": []}
    assert metadata.last_partition_id == 1000
    assert metadata.last_sequence_number == 0
    assert metadata.refs == {}


def test_a_table_of_version_1_without_uuid_always_gets_the_same_one() -> None:
    """Its identity depends on its location only."""
    assert reread(OLD).table_uuid == reread(OLD).table_uuid
    assert reread(OLD).table_uuid != reread(OLD | {"location": "s3://other"}).table_uuid


def test_specs_without_field_ids_are_numbered_when_read() -> None:
    """Old files leave the ids of partition fields to be counted from 1000."""
    file = document(table(1))
    fields = [{"source-id": 1, "name": "id", "transform": "identity"}]
    file["partition-specs"] = [{"spec-id": 0, "fields": fields}]
    del file["last-partition-id"]

    metadata = reread(file)

    assert default_spec(metadata).value["fields"] == [{**fields[0], "field-id": 1000}]
    assert metadata.last_partition_id == 1000


def test_a_file_without_refs_has_main() -> None:
    """Main is where the current snapshot is, if the file names no refs or not this one."""
    file = document(with_snapshots(2))
    del file["refs"]
    other = {"tag": {"snapshot-id": 1, "type": "TAG"}}

    assert reread(file).refs == {"main": Ref(2, "branch")}
    assert reread(file | {"refs": other}).refs == {
        "main": Ref(2, "branch"),
        "tag": Ref(1, "tag"),
    }


def test_null_arrays_are_empty() -> None:
    """Some writers say null where others leave out."""
    arrays = ["snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics"]
    file = document(table()) | dict.fromkeys([*arrays, "encryption-keys", "refs"])

    assert reread(file) == table()


def test_blank_arrays_are_empty() -> None:
    """An array of blanks has no elements, and takes one."""
    data = encode(table()).replace(b'"snapshots":[]', b'"snapshots":[ \n ]')
    metadata = parse(data)

    assert metadata == table()
    assert commit(metadata, add_snapshot(metadata, 1)).snapshots.get(1)


def test_files_with_line_breaks_are_read() -> None:
    """Blanks inside of what is kept encoded do no harm."""
    pretty = json.dumps(document(with_snapshots(3)), indent=2).encode()
    metadata = parse(pretty)

    assert document(metadata) == document(with_snapshots(3))
    assert commit(metadata, add_snapshot(metadata, 4), set_main(4)).current_snapshot_id == 4


def test_unknown_members_survive_at_every_level() -> None:
    """What this version does not know is kept through a commit that changes its neighbours."""
    future = {"future": {"list": [1, 2.50, None]}}
    file = document(with_snapshots(2))
    file |= future
    file["refs"]["main"] |= future | {"unknown": 1}
    for name in ("schemas", "partition-specs", "sort-orders", "snapshots", "snapshot-log"):
        file[name][0] |= future
    file["schemas"][0]["fields"][0] |= future
    file["metadata-log"][0] |= future
    metadata = reread(file)

    after = document(
        commit(metadata, add_snapshot(metadata, 3), set_ref("side", 3), now_ms=START_MS + 9_000)
    )

    assert after.keys() == file.keys()
    assert after["future"] == future["future"]
    assert after["refs"]["main"] == file["refs"]["main"]
    for name in ("schemas", "partition-specs", "sort-orders"):
        assert after[name] == file[name]
    for name in ("snapshots", "snapshot-log", "metadata-log"):
        assert after[name][:1] == file[name][:1]


def test_snapshots_of_refs_only() -> None:
    """The short form has the snapshots that branches and tags point at, each once."""
    metadata = commit(with_snapshots(5), set_ref("old", 2, "tag"), set_ref("same", 5))
    short = json.loads(encode_refs(metadata))
    whole = document(metadata)

    assert sorted(each["snapshot-id"] for each in short.pop("snapshots")) == [2, 5]
    whole.pop("snapshots")
    assert short == whole


def test_a_snapshot_is_found_by_its_id() -> None:
    """Also after a commit, and None if there is none."""
    metadata = with_snapshots(2)
    again = parse(encode(metadata))

    for each in (metadata, again):
        assert (snapshot(each, 1) or {})["manifest-list"] == f"{LOCATION}/metadata/snap-1.avro"
        assert snapshot(each, 2) == document(metadata)["snapshots"][1]
        assert snapshot(each, 3) is None


def set_ref_property(value: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": {"p": value}}


def test_earlier_files_are_listed_oldest_first() -> None:
    """As the metadata log has them."""
    metadata = commit(table(), set_ref_property("a"), previous=f"{LOCATION}/1.metadata.json")
    metadata = commit(metadata, set_ref_property("b"), previous=f"{LOCATION}/2.metadata.json")

    assert previous_files(metadata) == [
        f"{LOCATION}/1.metadata.json",
        f"{LOCATION}/2.metadata.json",
    ]


def test_the_last_slashes_of_a_location_do_not_count() -> None:
    """As Iceberg reads it, so that one place has one name."""
    assert reread(document(table()) | {"location": f"{LOCATION}//"}) == table()


def test_a_metadata_file_is_named_by_its_uuid_and_place() -> None:
    """The attributes that the catalog looks at."""
    metadata = with_snapshots(1)

    assert (metadata.table_uuid, metadata.location) == (UUID, LOCATION)
    assert metadata.current_snapshot_id == 1
    assert metadata.last_updated_ms == START_MS + 1_000
    assert previous_files(metadata) == [FILE]


def test_the_garbage_collector_looks_at_no_table() -> None:
    """Caches hold very many of them, and a full collection would stop everybody."""
    metadata = with_snapshots(3)

    assert not gc.is_tracked(parse(encode(metadata)))
    assert not gc.is_tracked(metadata.refs["main"])
