"""What a metadata file tells of a table's health, and what it leaves open."""

import msgspec
import pytest

from headgate.pipelines.upkeep_health import Health, Looks, health_of, looks_for
from headgate.pipelines.upkeep_policy import PREFIX, Level, Policy, Step, policy_of
from headgate.pipelines.upkeep_snapshots import Metadata, Snapshot


def policy(**said: str) -> Policy:
    """A policy of a table's own properties; `__` stands for a dot and `_` for a dash."""
    names = {name.replace("__", ".").replace("_", "-"): text for name, text in said.items()}
    return policy_of([Level("table t", {PREFIX + name: text for name, text in names.items()})])


def snapshot(**summary: str) -> Snapshot:
    return Snapshot(
        1, 1_000, None, {name.replace("_", "-"): text for name, text in summary.items()}
    )


@pytest.mark.parametrize(
    ("summary", "looks"),
    [
        ({"total_data_files": "4", "total_delete_files": "0"}, Looks()),
        ({"total_data_files": "5", "total_delete_files": "0"}, Looks(small_files=True)),
        ({"total_data_files": "4", "total_delete_files": "1"}, Looks(deletes=True)),
        ({"total_data_files": "49", "total_delete_files": "1"}, Looks(True, True, True)),
        ({"total_data_files": "4"}, Looks(True, True, True)),
        ({}, Looks(True, True, True)),
    ],
)
def test_manifests_are_opened_only_where_they_can_matter(
    summary: dict[str, str], looks: Looks
) -> None:
    """A table of a few files needs no Spark; one that does not sum up what it has does."""
    table = Metadata(2, current_snapshot_id=1, snapshots=[snapshot(**summary)])
    found = health_of(table, policy(), 2_000)

    assert looks_for(table, policy(), found) == looks
    assert looks_for(table, policy(), found, frozenset({Step.EXPIRE})) == Looks()


def test_nobody_looks_into_a_table_that_is_empty_or_switched_off() -> None:
    """There is nothing to see, or nothing to do."""
    empty, full = Metadata(2), Metadata(2, current_snapshot_id=1, snapshots=[snapshot()])
    off = policy(compact__enabled="false", manifests__enabled="false")

    assert looks_for(empty, policy(), health_of(empty, policy(), 1)) == Looks()
    assert looks_for(full, off, health_of(full, off, 1)) == Looks()


def test_a_metadata_file_tells_most_of_the_health() -> None:
    """Its snapshots, references, totals and how old all of it is."""
    table = msgspec.convert(
        {
            "format-version": 2,
            "properties": {"gc.enabled": "False"},
            "current-snapshot-id": 2,
            "snapshots": [
                {"snapshot-id": 1, "timestamp-ms": 1_000, "summary": {"operation": "append"}},
                {
                    "snapshot-id": 2,
                    "timestamp-ms": 9_000,
                    "parent-snapshot-id": 1,
                    "summary": {
                        "total-data-files": "7",
                        "total-files-size": "700",
                        "total-records": "70",
                        "total-delete-files": "1",
                    },
                },
            ],
            "refs": {"main": {"snapshot-id": 2, "type": "branch"}},
            "metadata-log": [{"metadata-file": "f", "timestamp-ms": 1}],
        },
        Metadata,
    )

    assert health_of(table, policy(expire__max_snapshot_age_ms="5000"), 10_000) == Health(
        data_files=7,
        data_bytes=700,
        records=70,
        delete_files=1,
        snapshots=2,
        oldest_snapshot_age_ms=9_000,
        branches_and_tags=1,
        metadata_files=2,
        gc_enabled=False,
        older_than_ms=5_000,
        expiring_snapshots=1,
        expiring_refs=0,
        changed_records=None,
    )
