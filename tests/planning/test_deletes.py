"""Which delete files come with which data files."""

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform, VoidTransform

from tests.planning.plans import deletes, plan
from tests.planning.tables import EQUALITY, POSITIONS, MetadataTable, data_file, entry

PATH_COLUMN = 2147483546
BY_ID = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"), spec_id=1)
BY_NOTHING_ANY_MORE = PartitionSpec(PartitionField(1, 1000, VoidTransform(), "id"), spec_id=2)
SPECS = (UNPARTITIONED_PARTITION_SPEC, BY_ID, BY_NOTHING_ANY_MORE)


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    return MetadataTable(tmp_path, specs=SPECS)


def test_position_deletes_apply_to_data_that_is_not_newer(table: MetadataTable) -> None:
    """A writer may delete positions of a file that it adds in the same commit."""
    data = [
        entry(data_file(f"data-{number}"), sequence_number=number, file_sequence_number=number)
        for number in (1, 2, 3)
    ]
    removed = table.manifest([data_file("removed", content=POSITIONS)], number=2)
    table.snapshot(1, [table.manifest(data, number=3), removed])

    assert deletes(plan(table)) == {"data-1": {"removed"}, "data-2": {"removed"}, "data-3": set()}


def test_equality_deletes_apply_to_older_data_only(table: MetadataTable) -> None:
    """An upsert deletes the old row and adds the new one under one number."""
    data = [
        entry(data_file(f"data-{number}"), sequence_number=number, file_sequence_number=number)
        for number in (1, 2, 3)
    ]
    removed = table.manifest([data_file("removed", content=EQUALITY, equality_ids=[1])], number=2)
    table.snapshot(1, [table.manifest(data, number=3), removed])
    answer = plan(table)

    assert deletes(answer) == {"data-1": {"removed"}, "data-2": set(), "data-3": set()}
    assert answer["delete-files"][0]["content"] == "equality-deletes"
    assert answer["delete-files"][0]["equality-ids"] == [1]


def test_deletes_stay_in_their_partition(table: MetadataTable) -> None:
    """Both kinds of deletes concern only files of the same spec and partition."""
    data = [data_file("one", partition=[1]), data_file("two", partition=[2])]
    removed = [
        data_file("positions", partition=[1], content=POSITIONS),
        data_file("values", partition=[2], content=EQUALITY, equality_ids=[2]),
    ]
    table.snapshot(
        1,
        [
            table.manifest(data, number=1, spec_id=1),
            table.manifest([data_file("elsewhere")], number=1),
            table.manifest(removed, number=2, spec_id=1),
        ],
    )

    assert deletes(plan(table)) == {"one": {"positions"}, "two": {"values"}, "elsewhere": set()}


@pytest.mark.parametrize(("spec_id", "partition"), [(0, []), (2, [None])])
def test_equality_deletes_without_a_partition_apply_everywhere(
    table: MetadataTable, spec_id: int, partition: list[None]
) -> None:
    """A spec without fields, or with void ones only, makes a delete a global one."""
    removed = data_file("gone", partition=partition, content=EQUALITY, equality_ids=[1])
    table.snapshot(
        1,
        [
            table.manifest([data_file("one", partition=[1])], number=1, spec_id=1),
            table.manifest([data_file("flat")], number=1),
            table.manifest([removed], number=2, spec_id=spec_id),
        ],
    )

    assert deletes(plan(table)) == {"one": {"gone"}, "flat": {"gone"}}


def test_position_deletes_of_one_file_apply_to_that_file(table: MetadataTable) -> None:
    """A delete file names its only data file by a field, or by equal bounds of its paths."""
    removed = [
        data_file("by-field", content=POSITIONS, referenced_data_file="one"),
        data_file(
            "by-bounds",
            content=POSITIONS,
            lower_bounds={PATH_COLUMN: b"two"},
            upper_bounds={PATH_COLUMN: b"two"},
        ),
        data_file(
            "by-range",
            content=POSITIONS,
            lower_bounds={PATH_COLUMN: b"a"},
            upper_bounds={PATH_COLUMN: b"p"},
        ),
    ]
    table.version = 3
    data = [data_file("one"), data_file("two")]
    table.snapshot(1, [table.manifest(data, number=1), table.manifest(removed, number=2)])

    assert deletes(plan(table)) == {"one": {"by-field", "by-range"}, "two": {"by-bounds"}}


def test_a_deletion_vector_stands_for_all_position_deletes_of_its_file(
    table: MetadataTable,
) -> None:
    """The vector holds the older deletes too; equality deletes still apply beside it."""
    vector: dict[str, Any] = {"content": POSITIONS, "file_format": "PUFFIN"}
    removed = [
        data_file("old", content=POSITIONS),
        data_file("values", content=EQUALITY, equality_ids=[1]),
        data_file(
            "vectors",
            referenced_data_file="one",
            content_offset=4,
            content_size_in_bytes=40,
            **vector,
        ),
        data_file(
            "vectors",
            referenced_data_file="two",
            content_offset=44,
            content_size_in_bytes=50,
            **vector,
        ),
    ]
    table.version = 3
    data = [data_file(name) for name in ("one", "two", "three")]
    table.snapshot(1, [table.manifest(data, number=1), table.manifest(removed, number=2)])
    answer = plan(table)

    assert deletes(answer) == {
        "one": {"vectors", "values"},
        "two": {"vectors", "values"},
        "three": {"old", "values"},
    }
    vectors = [file for file in answer["delete-files"] if file["file-format"] == "puffin"]
    assert [
        (file["referenced-data-file"], file["content-offset"], file["content-size-in-bytes"])
        for file in vectors
    ] == [("one", 4, 40), ("two", 44, 50)]


def test_delete_files_of_other_partitions_are_not_sent(table: MetadataTable) -> None:
    """Clients refuse delete files that no task refers to."""
    removed = [data_file(f"removed-{n}", partition=[n], content=POSITIONS) for n in (1, 2)]
    data = [data_file(f"data-{n}", partition=[n]) for n in (1, 2)]
    table.snapshot(
        1,
        [table.manifest(data, number=1, spec_id=1), table.manifest(removed, number=2, spec_id=1)],
    )

    one = plan(table, filter={"type": "eq", "term": "id", "value": 1})
    none = plan(table, filter={"type": "eq", "term": "id", "value": 3})

    assert [file["file-path"] for file in one["delete-files"]] == ["removed-1"]
    assert none["file-scan-tasks"] == []
    assert "delete-files" not in none
