"""Metadata files of tables: read, refused, written, and what survives."""

import gc
import json
from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.model import table_metadata
from headgate.model.snapshots import Ref
from headgate.model.table_metadata import (
    current_schema,
    default_spec,
    encode,
    encode_refs,
    parse,
    previous_files,
    snapshot,
    verify,
)
from tests.unit.model.tables import (
    FILE,
    LOCATION,
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

OLD: dict[str, Any] = {
    "format-version": 1,
    "location": LOCATION,
    "last-updated-ms": START_MS,
    "last-column-id": 2,
    "schema": {
        "type": "struct",
        "fields": [{"id": 2, "name": "ts", "required": True, "type": "date"}],
    },
    "partition-spec": [{"source-id": 2, "name": "ts", "transform": "identity"}],
}


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


def test_earlier_files_are_listed_oldest_first() -> None:
    """As the metadata log has them."""
    metadata = commit(table(), set_ref_property("a"), previous=f"{LOCATION}/1.metadata.json")
    metadata = commit(metadata, set_ref_property("b"), previous=f"{LOCATION}/2.metadata.json")

    assert previous_files(metadata) == [
        f"{LOCATION}/1.metadata.json",
        f"{LOCATION}/2.metadata.json",
    ]


def set_ref_property(value: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": {"p": value}}


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"7", b"null", b"{", b'{"format-version":2', b"\xff\xfe", b'{"a":' * 3000]
)
def test_rubbish_is_refused(data: bytes) -> None:
    """What is no JSON object is no metadata."""
    with pytest.raises(BadMetadata, match="Cannot parse"):
        parse(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format-version": 4}, "Cannot read unsupported version 4"),
        ({"format-version": 0}, "Cannot read unsupported version 0"),
        ({"format-version": "2"}, "format-version"),
        ({"format-version": ...}, "format-version"),
        ({"location": ...}, "location"),
        ({"last-updated-ms": "x"}, "last-updated-ms"),
        ({"last-column-id": 2**31}, "last-column-id"),
        ({"table-uuid": ...}, "table-uuid must exist in format v2"),
        ({"last-sequence-number": ...}, "last-sequence-number must exist in format v2"),
        ({"last-partition-id": ...}, "last-partition-id must exist in format v2"),
        ({"schemas": ...}, "schemas must exist in format v2"),
        ({"partition-specs": ...}, "partition-specs must exist in format v2"),
        ({"sort-orders": ...}, "sort-orders must exist in format v2"),
        ({"schemas": []}, "nothing with current-schema-id=0"),
        ({"current-schema-id": ...}, "nothing with current-schema-id=None"),
        ({"partition-specs": []}, "nothing with default-spec-id=0"),
        ({"default-spec-id": 7}, "nothing with default-spec-id=7"),
        ({"sort-orders": []}, "nothing with default-sort-order-id=0"),
        ({"schemas": {}}, "Cannot parse schemas"),
        ({"schemas": [3]}, "Cannot parse schemas"),
        ({"sort-orders": [{"order-id": 0}] * 2}, "two have the same order-id"),
        ({"sort-orders": [{"order-id": "0"}]}, "Cannot parse order-id in sort-orders"),
        ({"properties": {"a": 1}}, "properties"),
        ({"refs": []}, "Cannot parse refs"),
        ({"refs": {"x": {"snapshot-id": 1, "type": "twig"}}}, "Invalid snapshot ref type: twig"),
        ({"refs": {"x": {"type": "tag"}}}, "Cannot parse ref x"),
        ({"refs": {"x": {"snapshot-id": 1}}}, "Cannot parse type of ref x"),
        ({"refs": {"main": {"snapshot-id": 1, "type": "branch"}}}, r"\(2 != 1\)"),
        ({"refs": {"x": {"snapshot-id": 9, "type": "tag"}}}, "Snapshot for reference x"),
        ({"current-snapshot-id": -1}, "Current snapshot is not set, but main branch exists"),
        ({"current-snapshot-id": 9, "refs": ...}, "Snapshot for reference main"),
        ({"snapshots": {}}, "Cannot parse snapshots"),
        ({"snapshots": [{}]}, "Cannot parse snapshots"),
        ({"snapshots": [{"snapshot-id": 2}] * 2}, "two have the same id"),
        ({"last-sequence-number": 1}, "sequence number 2 greater than last sequence number 1"),
        ({"snapshot-log": [{}]}, "Cannot parse snapshot-log"),
        ({"metadata-log": [{"timestamp-ms": START_MS}]}, "Cannot parse metadata-log"),
        ({"last-updated-ms": START_MS - 60_001}, "Invalid snapshot-log"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    """Each rule of the format that a file can break is named when it is broken."""
    file = document(with_snapshots(2)) | change
    file = {name: value for name, value in file.items() if value is not ...}

    with pytest.raises(BadMetadata, match=message):
        reread(file)


def test_version_3_must_say_the_next_row_id() -> None:
    """Without it rows would get ids that others have."""
    file = document(table(3))
    del file["next-row-id"]

    with pytest.raises(BadMetadata, match="next-row-id must exist in format v3"):
        reread(file)


def test_version_1_has_no_sequence_numbers() -> None:
    """A file that has one is not of version 1."""
    assert reread(OLD | {"last-sequence-number": 0}).last_sequence_number == 0
    with pytest.raises(BadMetadata, match="Sequence number must be 0 in v1: 3"):
        reread(OLD | {"last-sequence-number": 3})


@pytest.mark.parametrize("missing", ["schema", "partition-spec"])
def test_version_1_must_have_one_schema_and_spec(missing: str) -> None:
    """In a list or alone."""
    file = {name: value for name, value in OLD.items() if name != missing}

    with pytest.raises(BadMetadata, match="must exist in format v1"):
        reread(file)


def test_logs_may_run_backwards_as_far_as_clocks_differ() -> None:
    """A minute is the tolerance of Iceberg's readers."""
    file = document(with_snapshots(2))
    log = file["snapshot-log"]
    log[1]["timestamp-ms"] = log[0]["timestamp-ms"] - 60_000
    assert reread(file).current_snapshot_id == 2

    log[1]["timestamp-ms"] -= 1
    with pytest.raises(BadMetadata, match="Invalid snapshot-log"):
        reread(file)


def test_text_that_is_no_unicode_is_refused() -> None:
    """Also in what is kept encoded, for clients could not read the file."""
    data = encode(with_snapshots(1)).replace(b"snap-1", b"snap-\xff")

    with pytest.raises(BadMetadata, match="Cannot parse table metadata"):
        parse(data)


def test_a_long_file_is_verified_by_who_registers_it() -> None:
    """Reading one's own long file takes no second look at each snapshot."""
    file = document(with_snapshots(2))
    file["properties"]["padding"] = "x" * table_metadata.VERIFIED_AT_ONCE_BYTES_MAX
    file["last-sequence-number"] = 1
    metadata = reread(file)

    with pytest.raises(BadMetadata, match="greater than last sequence number"):
        verify(metadata)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (b'"format-version":2', b'"format-version":1,"format-version":2', "format-version"),
        (b'"format-version":2', b'"format-version":2, "format-version" : 2', "format-version"),
        (b'"last-updated-ms"', b'"location":"s3://b/x",\n"last-updated-ms"', "location"),
        (b'"last-updated-ms"', b'"l\\u006fcation":"s3://b/x","last-updated-ms"', "location"),
        (b'"last-updated-ms"', b'"x":1,"x":1,"y":1,"last-updated-ms"', "x"),
    ],
)
def test_a_member_that_stands_twice_is_refused(old: bytes, new: bytes, name: str) -> None:
    """One reader takes the first and another the last."""
    data = encode(with_snapshots(1))
    parse(data)

    with pytest.raises(BadMetadata, match=f"the member '{name}' stands in it more than once"):
        parse(data.replace(old, new, 1))


def test_columns_with_the_same_id_are_not_registered() -> None:
    """In any of the schemas, current or not."""
    file = document(table())
    fields = file["schemas"][0]["fields"]
    double = {"type": "struct", "schema-id": 7, "fields": [*fields, {**fields[0], "name": "other"}]}
    metadata = reread({**file, "schemas": [*file["schemas"], double]})

    with pytest.raises(BadMetadata, match="multiple fields with id 1: id and other"):
        verify(metadata)


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
