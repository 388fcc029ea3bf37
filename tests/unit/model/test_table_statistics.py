"""Statistics files of a table."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from tests.unit.model.tables import commit, document, with_snapshots

PARTITION_FILE = {"snapshot-id": 1, "statistics-path": "s3://a", "file-size-in-bytes": 9}
FILE = {
    **PARTITION_FILE,
    "file-footer-size-in-bytes": 4,
    "blob-metadata": [
        {"type": "ndv", "snapshot-id": 1, "sequence-number": 1, "fields": [1], "properties": {}}
    ],
    "future": 1,
}
KINDS = [("statistics", FILE), ("partition-statistics", PARTITION_FILE)]


def put(kind: str, file: Any) -> dict[str, Any]:
    return {"action": f"set-{kind}", kind: file}


def remove(kind: str, id: int) -> dict[str, Any]:
    return {"action": f"remove-{kind}", "snapshot-id": id}


@pytest.mark.parametrize(("kind", "file"), KINDS)
def test_a_snapshot_has_one_file(kind: str, file: dict[str, Any]) -> None:
    """A later one takes the place of an earlier one; the same again is no change."""
    other, newer = {**file, "snapshot-id": 2}, {**file, "statistics-path": "s3://b"}
    metadata = commit(with_snapshots(2), put(kind, file), put(kind, other))
    assert document(metadata)[kind] == [file, other]
    assert commit(metadata, put(kind, file)) is metadata

    assert document(commit(metadata, put(kind, newer)))[kind] == [other, newer]


@pytest.mark.parametrize(("kind", "file"), KINDS)
def test_files_are_removed(kind: str, file: dict[str, Any]) -> None:
    """By hand, and with their snapshot; what is not there is removed already."""
    metadata = commit(with_snapshots(2), put(kind, file), put(kind, {**file, "snapshot-id": 2}))

    by_hand = commit(metadata, remove(kind, 1))
    assert [each["snapshot-id"] for each in document(by_hand)[kind]] == [2]
    assert commit(by_hand, remove(kind, 1)) is by_hand

    expired = commit(metadata, {"action": "remove-snapshots", "snapshot-ids": [1]})
    assert document(expired)[kind] == document(by_hand)[kind]


@pytest.mark.parametrize(("kind", "file"), KINDS)
def test_what_is_no_file_is_refused(kind: str, file: dict[str, Any]) -> None:
    """Each member that readers need is missed."""
    for name in file.keys() - {"future"}:
        with pytest.raises(BadMetadata, match=name):
            commit(with_snapshots(1), put(kind, {**file, name: None}))
