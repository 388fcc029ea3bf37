"""Snapshots of a table, sequence numbers, row lineage, branches and tags, and history."""

from typing import Any

import pytest

from headgate.errors import BadMetadata, RequirementFailed
from headgate.model.snapshots import RECENT_MAX, Ref
from headgate.model.table_metadata import TableMetadata, parse, snapshot
from headgate.model.table_metadata import encode as encoded
from tests.unit.model.tables import (
    LOCATION,
    START_MS,
    add_snapshot,
    appended,
    commit,
    document,
    reread,
    set_main,
    set_ref,
    table,
    with_snapshots,
)


def history(metadata: TableMetadata) -> list[int]:
    return [entry["snapshot-id"] for entry in document(metadata)["snapshot-log"]]


def ids(metadata: TableMetadata) -> list[int]:
    return [each["snapshot-id"] for each in document(metadata)["snapshots"]]


def remove_snapshots(*ids: int) -> dict[str, Any]:
    return {"action": "remove-snapshots", "snapshot-ids": ids}


def remove_ref(name: str) -> dict[str, Any]:
    return {"action": "remove-snapshot-ref", "ref-name": name}


def test_a_snapshot_is_kept_as_it_came() -> None:
    """With members that nobody knows; no branch points at it yet."""
    update = add_snapshot(table(), 7, future={"x": [1.50]}, key_id="k")
    metadata = commit(table(), update)

    assert snapshot(metadata, 7) == update["snapshot"]
    assert metadata.current_snapshot_id is None
    assert metadata.refs == {}
    assert history(metadata) == []


def test_an_append_moves_main_and_is_noted_in_history() -> None:
    """At the time of the snapshot, not of the commit."""
    metadata = table()
    made_ms = START_MS + 300
    updates = [add_snapshot(metadata, 7, timestamp_ms=made_ms), set_main(7)]
    metadata = commit(metadata, *updates, now_ms=START_MS + 900)

    assert metadata.current_snapshot_id == 7
    assert metadata.refs == {"main": Ref(7, "branch")}
    assert document(metadata)["snapshot-log"] == [{"timestamp-ms": made_ms, "snapshot-id": 7}]
    assert metadata.last_updated_ms == START_MS + 900


def test_many_appends_are_all_there() -> None:
    """More than are kept apart; ids stay unique over all of them."""
    count = 2 * RECENT_MAX + 3
    metadata = with_snapshots(count)

    assert ids(metadata) == history(metadata) == list(range(1, count + 1))
    for id in (1, count // 2, count):
        assert snapshot(metadata, id) == snapshot(parse(encoded(metadata)), id)
        with pytest.raises(BadMetadata, match=f"Snapshot already exists for id: {id}"):
            commit(metadata, add_snapshot(metadata, id))


def test_an_earlier_version_does_not_see_what_later_ones_added() -> None:
    """A commit that lost its race is tried again on the same version."""
    metadata = with_snapshots(1)
    first = commit(metadata, add_snapshot(metadata, 2), set_main(2))
    second = commit(metadata, add_snapshot(metadata, 2), set_main(2))

    assert first == second
    assert 2 not in metadata.snapshots


@pytest.mark.parametrize("version", [2, 3])
def test_a_stale_sequence_number_can_be_retried(version: int) -> None:
    """The client refreshes and takes the next number; it is no invalid request."""
    metadata = with_snapshots(3, version)

    for stale in (0, 2, 3):
        with pytest.raises(RequirementFailed) as failed:
            commit(metadata, add_snapshot(metadata, 9, sequence_number=stale))
        assert str(failed.value) == (
            "Validation failed, please retry: Cannot add snapshot with sequence number "
            f"{stale} older than last sequence number 3"
        )


@pytest.mark.parametrize("parent", [..., None, -1])
def test_a_snapshot_without_parent_may_have_any_sequence_number(parent: Any) -> None:
    """A replaced table begins anew; the table's own number does not go back."""
    metadata = with_snapshots(3)
    update = add_snapshot(metadata, 9, sequence_number=3, parent_snapshot_id=parent)

    assert commit(metadata, update).last_sequence_number == 3


def test_sequence_numbers_may_leave_gaps() -> None:
    """The table goes on from the highest."""
    metadata = with_snapshots(1)

    assert (
        commit(metadata, add_snapshot(metadata, 9, sequence_number=40)).last_sequence_number == 40
    )


def test_version_1_knows_no_sequence_numbers() -> None:
    """They are 0, written or not."""
    metadata = with_snapshots(2, version=1)

    assert commit(metadata, add_snapshot(metadata, 9, sequence_number=0)).last_sequence_number == 0
    with pytest.raises(BadMetadata, match="Sequence number must be 0 in v1: 3"):
        commit(metadata, add_snapshot(metadata, 9, sequence_number=3))


def test_rows_are_numbered_in_version_3() -> None:
    """Each snapshot takes its share, on any branch."""
    metadata = with_snapshots(2, version=3)
    assert metadata.next_row_id == 20

    side = commit(metadata, add_snapshot(metadata, 9, added_rows=5), set_ref("side", 9))
    assert side.next_row_id == 25

    gap = commit(side, add_snapshot(side, 10, first_row_id=100, added_rows=1))
    assert gap.next_row_id == 101


@pytest.mark.parametrize(
    ("first", "rows", "message"),
    [
        (None, 1, "Cannot add a snapshot: first-row-id is null"),
        (..., 1, "Cannot add a snapshot: first-row-id is null"),
        (-1, 1, "Invalid first-row-id"),
        (20, None, "Invalid added-rows"),
        (20, -1, "Invalid added-rows"),
    ],
)
def test_version_3_needs_row_ids(first: Any, rows: Any, message: str) -> None:
    """A snapshot without them was made by a client that does not know the format."""
    metadata = with_snapshots(2, version=3)

    with pytest.raises(BadMetadata, match=message):
        commit(metadata, add_snapshot(metadata, 9, first_row_id=first, added_rows=rows))


def test_stale_row_ids_can_be_retried() -> None:
    """Others took them; the client refreshes and takes the next."""
    metadata = with_snapshots(2, version=3)

    with pytest.raises(RequirementFailed) as failed:
        commit(metadata, add_snapshot(metadata, 9, first_row_id=19))
    assert str(failed.value) == (
        "Validation failed, please retry: Cannot add a snapshot, "
        "first-row-id is behind table next-row-id: 19 < 20"
    )


def test_row_ids_mean_nothing_before_version_3() -> None:
    """They are kept with the snapshot and not counted, but readers check them."""
    metadata = commit(table(), add_snapshot(table(), 9, first_row_id=5, added_rows=2))

    assert metadata.next_row_id == 0
    with pytest.raises(BadMetadata, match="Invalid first-row-id"):
        commit(table(), add_snapshot(table(), 9, first_row_id=-1, added_rows=2))


@pytest.mark.parametrize(
    "members",
    [
        {"snapshot_id": ...},
        {"timestamp_ms": ...},
        {"manifest_list": ...},
        {"manifest_list": ..., "manifests": ["a.avro"]},
        {"summary": {"operation": "append", "added": 3}},
        {"snapshot_id": 2**63},
    ],
)
def test_a_snapshot_must_be_whole(members: dict[str, Any]) -> None:
    """What readers need is there, and of the kind they expect."""
    with pytest.raises(BadMetadata, match="snapshot"):
        commit(table(), add_snapshot(table(), 7, **members))


def test_version_1_may_list_manifests_in_place() -> None:
    """A snapshot there has a list or the name of one."""
    update = add_snapshot(table(1), 7, manifest_list=..., manifests=["a.avro"])
    assert 7 in commit(table(1), update).snapshots

    with pytest.raises(BadMetadata, match="no manifest-list"):
        commit(table(1), add_snapshot(table(1), 7, manifest_list=...))


@pytest.mark.parametrize(
    ("present", "missing"),
    [(0, "a schema"), (1, "a partition spec"), (2, "a sort order")],
)
def test_a_snapshot_comes_after_what_it_is_made_by(present: int, missing: str) -> None:
    """In the list of a staged create."""
    definitions = [
        {"action": "add-schema", "schema": {"type": "struct", "fields": []}},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
    ]

    with pytest.raises(BadMetadata, match=f"before {missing} is added"):
        commit(None, *definitions[:present], add_snapshot(table(), 7))


def test_a_ref_needs_its_snapshot() -> None:
    """The name and the id are told."""
    with pytest.raises(BadMetadata, match="Cannot set side to unknown snapshot: 9"):
        commit(with_snapshots(1), set_ref("side", 9))


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (set_ref("main", 1, "tag"), "Cannot set main to a tag, it must be a branch"),
        (set_ref("t", 1, "tag", min_snapshots_to_keep=1), "minSnapshotsToKeep"),
        (set_ref("t", 1, "tag", max_snapshot_age_ms=1), "maxSnapshotAgeMs"),
        (set_ref("b", 1, min_snapshots_to_keep=0), "Min snapshots to keep"),
        (set_ref("b", 1, max_snapshot_age_ms=0), "Max snapshot age"),
        (set_ref("b", 1, max_ref_age_ms=0), "Max reference age"),
        (set_ref("b", 1, "twig"), "Invalid snapshot ref type: twig"),
    ],
)
def test_a_ref_keeps_the_rules_of_its_kind(update: dict[str, Any], message: str) -> None:
    """Main is a branch, tags keep no snapshots of their own, ages are positive."""
    with pytest.raises(BadMetadata, match=message):
        commit(with_snapshots(1), update)


def test_refs_are_set_with_their_retention() -> None:
    """Branches with all of it, tags with an age; the same again is no change."""
    branch = set_ref(
        "b", 1, "BRANCH", min_snapshots_to_keep=2, max_snapshot_age_ms=3, max_ref_age_ms=4
    )
    tag = set_ref("t", 2, "tag", max_ref_age_ms=5, min_snapshots_to_keep=None)
    metadata = commit(with_snapshots(2), branch, tag)

    assert metadata.refs["b"] == Ref(1, "branch", 2, 3, 4)
    assert metadata.refs["t"] == Ref(2, "tag", None, None, 5)
    assert commit(metadata, branch, tag) is metadata


def test_a_ref_that_is_the_same_keeps_what_nobody_knows() -> None:
    """Setting it again changes nothing, so nothing is lost."""
    file = document(with_snapshots(1))
    file["refs"]["main"]["future"] = 1
    metadata = reread(file)

    assert commit(metadata, set_main(1)) is metadata


def test_new_retention_of_main_is_not_history() -> None:
    """The current snapshot stays what it was."""
    metadata = commit(with_snapshots(2), set_main(2, max_ref_age_ms=9))

    assert metadata.refs["main"].max_ref_age_ms == 9
    assert history(metadata) == [1, 2]


def test_going_back_is_noted_when_it_happens() -> None:
    """A rollback is of the time of the commit, not of the old snapshot."""
    metadata = commit(with_snapshots(2), set_main(1), now_ms=START_MS + 9_000)

    assert metadata.current_snapshot_id == 1
    assert document(metadata)["snapshot-log"][-1] == {
        "timestamp-ms": START_MS + 9_000,
        "snapshot-id": 1,
    }


def test_a_removed_ref_leaves_its_snapshots() -> None:
    """Without main there is no current snapshot, but there is history."""
    metadata = commit(with_snapshots(2), set_ref("side", 1))
    assert commit(metadata, remove_ref("none")) is metadata

    metadata = commit(metadata, remove_ref("side"), remove_ref("main"))
    assert metadata.refs == {}
    assert metadata.current_snapshot_id is None
    assert ids(metadata) == history(metadata) == [1, 2]


def test_a_snapshot_that_was_never_current_is_not_history() -> None:
    """Several snapshots in one commit: only the last was ever seen as current."""
    metadata = with_snapshots(1)
    second = add_snapshot(metadata, 2)
    third = add_snapshot(metadata, 3, sequence_number=3, parent_snapshot_id=2)
    after = commit(metadata, second, set_main(2), third, set_main(3))

    assert ids(after) == [1, 2, 3]
    assert history(after) == [1, 3]
    assert history(commit(metadata, second, set_main(2), set_main(1))) == [1, 1]
    assert history(commit(metadata, second, set_main(2), remove_ref("main"))) == [1]
    assert history(commit(metadata, second, set_main(2), remove_snapshots(2))) == [1]


def test_removed_snapshots_take_what_points_at_them() -> None:
    """Refs and statistics go; the parents that others name stay; unknown ids are ignored."""
    metadata = commit(with_snapshots(3), set_ref("side", 2), set_ref("label", 1, "tag"))
    after = commit(metadata, remove_snapshots(2, 99))

    assert ids(after) == [1, 3]
    assert after.refs.keys() == {"main", "label"}
    assert (snapshot(after, 3) or {})["parent-snapshot-id"] == 2
    assert commit(after, remove_snapshots(2)) is after
    assert 2 not in after.snapshots


def test_a_removed_snapshot_can_be_added_again() -> None:
    """Its id is free, for versions after the removal."""
    metadata = commit(with_snapshots(3), remove_snapshots(1))

    assert ids(commit(metadata, add_snapshot(metadata, 1))) == [2, 3, 1]


@pytest.mark.parametrize(
    ("removed", "kept"), [((1,), [2, 3, 4]), ((2,), [3, 4]), ((1, 3), [4]), ((9,), [1, 2, 3, 4])]
)
def test_history_has_no_gaps(removed: tuple[int, ...], kept: list[int]) -> None:
    """A gap would look as if the snapshot before it had lasted longer than it did."""
    assert history(commit(with_snapshots(4), remove_snapshots(*removed))) == kept


def test_removing_the_current_snapshot_ends_history() -> None:
    """Main goes with it."""
    metadata = commit(with_snapshots(2), remove_snapshots(2))

    assert (metadata.current_snapshot_id, metadata.refs, history(metadata)) == (None, {}, [])


def test_all_snapshots_can_be_removed() -> None:
    """And new ones added after that."""
    metadata = commit(with_snapshots(2), remove_snapshots(1, 2))
    assert document(metadata)["snapshots"] == []
    assert ids(appended(metadata, 5)) == [5]


def test_a_table_without_history_can_expire_snapshots() -> None:
    """Some writers keep no log."""
    file = document(with_snapshots(3))
    del file["snapshot-log"]

    assert history(commit(reread(file), remove_snapshots(1))) == []


def test_history_that_ends_elsewhere_is_refused() -> None:
    """As Iceberg does: the last entry is the current snapshot."""
    file = document(with_snapshots(3))
    file["snapshot-log"].pop()

    with pytest.raises(BadMetadata, match="latest entry is not the current snapshot"):
        commit(reread(file), remove_snapshots(1))


@pytest.mark.parametrize(
    ("offset_ms", "message"),
    [(-60_001, "before last snapshot timestamp"), (60_001, "before last snapshot log entry")],
)
def test_clocks_of_clients_may_not_differ_by_more_than_a_minute(
    offset_ms: int, message: str
) -> None:
    """Readers would refuse the whole table."""
    metadata = with_snapshots(1)
    now_ms = metadata.last_updated_ms

    def at(offset_ms: int) -> TableMetadata:
        update = add_snapshot(metadata, 2, timestamp_ms=now_ms + offset_ms)
        return commit(metadata, update, set_main(2), now_ms=now_ms)

    nearer_ms = offset_ms + 1 if offset_ms < 0 else offset_ms - 1
    assert at(nearer_ms).current_snapshot_id == 2
    with pytest.raises(BadMetadata, match=message):
        at(offset_ms)


def test_a_branch_has_its_own_snapshots() -> None:
    """Main and its history do not move."""
    metadata = with_snapshots(1)
    after = commit(metadata, add_snapshot(metadata, 2), set_ref("audit", 2))

    assert after.current_snapshot_id == 1
    assert history(after) == [1]
    assert after.refs["audit"].snapshot_id == 2
    assert (snapshot(after, 2) or {})["manifest-list"] == f"{LOCATION}/metadata/snap-2.avro"
