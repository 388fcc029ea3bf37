"""Updates of a table as a whole: identity, version, place, properties, keys, and its own log."""

import json
from typing import Any

import pytest

from headgate.errors import BadMetadata, BadRequest
from headgate.model.table_metadata import previous_files
from headgate.model.table_updates import apply, decode_updates, expired_files
from tests.unit.model.tables import (
    FILE,
    LOCATION,
    SCHEMA,
    START_MS,
    UUID,
    add_snapshot,
    commit,
    document,
    reread,
    set_main,
    table,
    with_snapshots,
)

STAGED: list[dict[str, Any]] = [
    {"action": "assign-uuid", "uuid": UUID},
    {"action": "upgrade-format-version", "format-version": 2},
    {"action": "add-schema", "schema": {**SCHEMA, "schema-id": 0}, "last-column-id": 3},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "set-location", "location": LOCATION},
    {"action": "set-properties", "updates": {"write.parquet.compression-codec": "zstd"}},
]
KEY = {"key-id": "k", "encrypted-key-metadata": "aGk=", "future": 1}


def set_properties(**updates: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": updates}


def upgrade(version: int) -> dict[str, Any]:
    return {"action": "upgrade-format-version", "format-version": version}


def test_a_staged_create_makes_the_table_that_was_staged() -> None:
    """The updates that describe a new table rebuild it, with the ids that were sent."""
    assert commit(None, *STAGED, previous=None) == table()


def test_a_staged_create_can_bring_data() -> None:
    """Its first version has the snapshot, and no earlier file."""
    metadata = commit(None, *STAGED, add_snapshot(table(), 7), set_main(7))

    assert metadata.current_snapshot_id == 7
    assert metadata.last_sequence_number == 1
    assert previous_files(metadata) == []


def test_a_staged_create_is_of_the_first_version_it_names() -> None:
    """Wherever that stands in the list; later upgrades are upgrades; 2 if none is named."""
    unnamed = [each for each in STAGED if each != upgrade(2)]

    assert commit(None, *unnamed, upgrade(1)).format_version == 1
    assert commit(None, *unnamed, upgrade(1), upgrade(3)).format_version == 3
    assert commit(None, *unnamed).format_version == 2
    with pytest.raises(BadMetadata, match="unsupported format version: v4"):
        commit(None, upgrade(4), *STAGED)


def test_a_staged_create_need_not_say_that_it_is_neither_partitioned_nor_sorted() -> None:
    """Nor need its identity come before its schema."""
    needed = [STAGED[index] for index in (2, 0, 8, 9)]

    assert commit(None, *needed) == table()


def test_a_client_may_leave_the_identity_of_a_new_table_to_us() -> None:
    """The uuid that the catalog offers is taken then, and only then."""
    updates = decode_updates(json.dumps(STAGED[1:]).encode())
    own = decode_updates(json.dumps(STAGED).encode())

    def made(updates: Any) -> str:
        other = UUID.replace("9", "8")
        return apply(
            None, updates, now_ms=1, previous_location=None, new_uuid=other
        ).table_uuid.replace(other, "offered")

    assert made(updates) == "offered"
    assert made(own) == UUID


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (0, "UUID is required in format v2"),
        (8, "Table location is required in format v2"),
        (2, "Cannot set last added schema: no schema has been added"),
        (4, "Cannot set last added spec: no spec has been added"),
        (6, "Cannot set last added sort order: no sort order has been added"),
    ],
)
def test_a_staged_create_must_be_complete(missing: int, message: str) -> None:
    """What a table cannot do without is missed by name."""
    with pytest.raises(BadMetadata, match=message):
        commit(None, *[each for index, each in enumerate(STAGED) if index != missing])


def test_a_table_needs_a_schema() -> None:
    """Without one nothing can be partitioned, sorted or stored."""
    with pytest.raises(BadMetadata, match="before a schema is added"):
        commit(None, STAGED[0], STAGED[8])


def test_a_uuid_is_given_once() -> None:
    """To a new table; the same again, in any case of letters, is nothing new."""
    metadata = table()

    assert commit(metadata, {"action": "assign-uuid", "uuid": UUID.upper()}) is metadata
    with pytest.raises(BadMetadata, match="Cannot reassign uuid"):
        commit(metadata, {"action": "assign-uuid", "uuid": UUID.replace("9", "8")})
    with pytest.raises(BadMetadata, match="'x': it is not a UUID"):
        commit(None, {"action": "assign-uuid", "uuid": "x"}, *STAGED[1:])


def test_a_table_is_upgraded_and_never_downgraded() -> None:
    """From 1 by 2 to 3; ids stay, and rows are counted from 0."""
    first = with_snapshots(2, version=1)
    second = commit(first, upgrade(2))
    third = commit(second, upgrade(3))

    assert (second.format_version, second.last_sequence_number) == (2, 0)
    assert (third.format_version, third.next_row_id) == (3, 0)
    assert third.snapshots == first.snapshots
    assert document(third)["current-snapshot-id"] == 2
    assert commit(third, upgrade(3)) is third
    with pytest.raises(BadMetadata, match="Cannot downgrade v3 table to v2"):
        commit(third, upgrade(2))
    with pytest.raises(BadMetadata, match=r"unsupported format version: v4 \(supported: v3\)"):
        commit(third, upgrade(4))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("s3://b/t//", "s3://b/t"), ("s3://", "s3://"), ("file:/x/", "file:/x"), ("/a", "/a")],
)
def test_a_location_loses_its_last_slashes(given: str, kept: str) -> None:
    """But not those of its scheme."""
    assert commit(table(), {"action": "set-location", "location": given}).location == kept


def test_a_location_is_not_empty() -> None:
    """A table lies somewhere; where it lies already is no change."""
    metadata = table()

    assert commit(metadata, {"action": "set-location", "location": f"{LOCATION}/"}) is metadata
    with pytest.raises(BadMetadata, match="must not be null or empty"):
        commit(metadata, {"action": "set-location", "location": "//"})


def test_properties_are_merged_and_removed() -> None:
    """Missing ones are removed already; older clients use other words."""
    metadata = commit(table(), set_properties(a="1", b="2"))
    metadata = commit(metadata, {"action": "set-properties", "updated": {"b": "3"}})
    metadata = commit(metadata, {"action": "remove-properties", "removals": ["a", "none"]})
    assert metadata.properties == table().properties | {"b": "3"}

    metadata = commit(metadata, {"action": "remove-properties", "removed": ["b"]})
    assert metadata.properties == table().properties


def test_the_new_word_for_properties_wins_over_the_old_one() -> None:
    """If a client sends both."""
    both = {"action": "set-properties", "updates": {"a": "new"}, "updated": {"a": "old"}}

    assert commit(table(), both).properties["a"] == "new"


@pytest.mark.parametrize("action", ["set-properties", "remove-properties"])
def test_changes_of_properties_must_say_which(action: str) -> None:
    """Under one of the two names."""
    with pytest.raises(BadMetadata, match=f"Cannot parse {action}"):
        commit(table(), {"action": action})


def test_reserved_properties_are_not_stored() -> None:
    """What metadata says itself is not said twice."""
    metadata = table()
    reserved = {"format-version": "3", "uuid": "x", "snapshot-count": "9", "current-schema": "{}"}

    assert commit(metadata, {"action": "set-properties", "updates": reserved}) is metadata


@pytest.mark.parametrize(
    "updates",
    [
        [],
        [set_properties()],
        [{"action": "remove-properties", "removals": ["none"]}],
        [set_properties(x="1"), {"action": "remove-properties", "removals": ["x"]}],
        [{"action": "remove-encryption-key", "key-id": "none"}],
    ],
)
def test_nothing_new_is_no_new_version(updates: list[dict[str, Any]]) -> None:
    """The same object comes back, so that no file is written."""
    metadata = with_snapshots(1)

    assert commit(metadata, *updates) is metadata


def test_encryption_keys_are_added_once_and_removed() -> None:
    """By their id, and kept as they came."""
    add = {"action": "add-encryption-key", "encryption-key": KEY}
    other = {"action": "add-encryption-key", "encryption-key": {**KEY, "key-id": "l"}}
    metadata = commit(table(3), add, other)
    assert document(metadata)["encryption-keys"][0] == KEY
    assert commit(metadata, add) is metadata

    metadata = commit(metadata, {"action": "remove-encryption-key", "key-id": "k"})
    assert [key["key-id"] for key in document(metadata)["encryption-keys"]] == ["l"]

    metadata = commit(metadata, {"action": "remove-encryption-key", "key-id": "l"})
    assert "encryption-keys" not in document(metadata)


@pytest.mark.parametrize("key", [{}, {"key-id": "k"}, {**KEY, "encrypted-key-metadata": "?"}, 3])
def test_what_is_no_encryption_key_is_refused(key: Any) -> None:
    """A key has an id and bytes in base64."""
    with pytest.raises(BadMetadata, match="encryption key"):
        commit(table(3), {"action": "add-encryption-key", "encryption-key": key})


def test_time_does_not_run_backwards() -> None:
    """A server whose clock is behind writes the time of the last version again."""
    metadata = commit(table(), set_properties(a="1"), now_ms=START_MS - 5)

    assert metadata.last_updated_ms == START_MS
    assert document(metadata)["metadata-log"][0]["timestamp-ms"] == START_MS


def test_several_updates_are_one_version() -> None:
    """One entry in the log, with the file and the time of the version before."""
    metadata = table()
    after = commit(metadata, set_properties(a="1"), set_properties(b="1"), upgrade(3))

    assert document(after)["metadata-log"] == [{"timestamp-ms": START_MS, "metadata-file": FILE}]
    assert after.last_updated_ms == START_MS + 1_000


def test_a_version_without_a_file_is_not_logged() -> None:
    """A table that is changed before it is first written."""
    assert previous_files(commit(table(), set_properties(a="1"), previous=None)) == []


def test_the_log_of_files_is_as_long_as_the_table_says() -> None:
    """A new limit holds at once; what falls out is told, oldest first."""
    metadata = table()
    for number in range(5):
        metadata = commit(metadata, set_properties(n=str(number)), previous=f"f{number}")
    limit = "write.metadata.previous-versions-max"
    shorter = commit(metadata, set_properties(**{limit: "2"}), previous="f5")
    longer = commit(shorter, set_properties(**{limit: "4"}), previous="f6")
    none = commit(longer, set_properties(**{limit: "-3"}), previous="f7")

    assert previous_files(shorter) == ["f4", "f5"]
    assert expired_files(metadata, shorter) == ["f0", "f1", "f2", "f3"]
    assert previous_files(longer) == ["f4", "f5", "f6"]
    assert expired_files(shorter, longer) == []
    assert previous_files(none) == ["f7"]
    assert expired_files(None, none) == expired_files(none, none) == []


def test_a_hundred_files_are_logged_unless_told_otherwise() -> None:
    """The default of Iceberg."""
    metadata = table()
    for number in range(102):
        metadata = commit(metadata, set_properties(n=str(number)), previous=f"f{number}")

    assert previous_files(metadata) == [f"f{number}" for number in range(2, 102)]


def test_a_limit_that_is_no_number_is_refused_until_it_is_mended() -> None:
    """As Iceberg does; the commit that mends it passes."""
    limit = "write.metadata.previous-versions-max"
    with pytest.raises(BadMetadata, match=f"{limit} must have integer value"):
        commit(table(), set_properties(**{limit: "many"}))

    file = document(table())
    file["properties"][limit] = "many"
    assert previous_files(commit(reread(file), set_properties(**{limit: "1"}))) == [FILE]


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({}, "Cannot parse updates"),
        ([[]], "Cannot parse update"),
        ([{}], "Cannot parse update: its action"),
        ([{"action": 3}], "Cannot parse update: its action"),
        ([{"action": "explode"}], "Unknown update 'explode'. Known are: add-encryption-key, add-"),
        ([{"action": "add-view-version"}], "Cannot apply update add-view-version to a table"),
        (
            [{"action": "Set-Current-View-Version", "view-version-id": 1}],
            "Cannot apply update set-current-view-version to a table",
        ),
        ([{"action": "set-location"}], "Cannot parse update set-location"),
        ([{"action": "set-current-schema", "schema-id": 2**31}], "schema-id"),
        ([{"action": "remove-snapshots", "snapshot-ids": [2**63]}], "snapshot-ids"),
        ([{"action": "set-properties", "updates": {"a": None}}], "updates"),
    ],
)
def test_what_is_no_update_of_a_table_is_refused(updates: Any, message: str) -> None:
    """An update that is not understood must not be left out."""
    with pytest.raises(BadRequest, match=message):
        decode_updates(json.dumps(updates).encode())


def test_actions_are_read_in_any_case_of_letters() -> None:
    """As Iceberg's own server does."""
    update = {"action": "SET-Properties", "updates": {"a": "1"}}

    assert commit(table(), update).properties["a"] == "1"
