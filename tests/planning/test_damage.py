"""Tables with statistics, specs and metadata that are not as they should be."""

import json
from pathlib import Path

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from headgate.errors import BadMetadata, BadRequest, FileMissing, StorageUnavailable
from headgate.planning import scan
from headgate.planning.files import LocalFiles
from tests.planning.plans import files, plan
from tests.planning.tables import SCHEMA, MetadataTable, data_file

BY_ID = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
LOWER_BOUND = 2  # its position in a summary
EQ = {"type": "eq", "term": "id", "value": 5}


def test_bounds_of_another_type_prune_nothing(tmp_path: Path) -> None:
    """A file is left out only if its statistics prove that it does not match."""
    table = MetadataTable(tmp_path)
    found = data_file("odd", lower_bounds={1: b"\x01\x02\x03"}, upper_bounds={1: b"\x01"})
    table.snapshot(1, [table.manifest([found])])

    assert files(plan(table, filter=EQ)) == ["odd"]


def test_summaries_of_another_type_prune_nothing(tmp_path: Path) -> None:
    """The same for what a manifest list says of a manifest."""
    table = MetadataTable(tmp_path, specs=(BY_ID,))
    manifest = table.manifest([data_file("five", partition=[5])])
    assert manifest.partitions is not None
    manifest.partitions[0][LOWER_BOUND] = b"\x01"
    table.snapshot(1, [manifest])

    assert files(plan(table, filter=EQ)) == ["five"]


def test_a_partition_of_another_type_prunes_nothing(tmp_path: Path) -> None:
    """A column can change its type after its partitions were written."""
    table = MetadataTable(tmp_path, specs=(BY_ID,))
    table.snapshot(1, [table.manifest([data_file("five", partition=[5])])])
    schema = json.loads(SCHEMA.model_dump_json())
    schema["fields"][0]["type"] = "string"
    table.extra = {"schemas": [schema]}

    assert files(plan(table, filter={"type": "lt", "term": "id", "value": "a"})) == ["five"]


@pytest.mark.parametrize(
    "extra",
    [
        {"schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1}]}]},
        {"schemas": [{"type": "struct", "schema-id": 0}]},
        {"partition-specs": [{"spec-id": 0, "fields": [{"name": "x"}]}]},
        {"snapshots": "none"},
    ],
)
def test_metadata_that_cannot_be_understood_is_refused(
    tmp_path: Path, extra: dict[str, object]
) -> None:
    """The message says which part it was."""
    table = MetadataTable(tmp_path)
    table.snapshot(1, [table.manifest([data_file("one")])])
    table.extra = extra

    with pytest.raises(BadMetadata):
        plan(table)


def test_a_current_schema_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Filters have nothing to be bound to."""
    table = MetadataTable(tmp_path)
    table.extra = {"current-schema-id": 7}

    with pytest.raises(BadRequest, match="no schema 7"):
        plan(table)


def test_the_oldest_metadata_has_one_schema_and_one_spec(tmp_path: Path) -> None:
    """Format 1 began without lists of them."""
    table = MetadataTable(tmp_path, version=1, specs=(BY_ID,))
    table.snapshot(1, [table.manifest([data_file(f"{n}", partition=[n]) for n in (4, 5)])])
    metadata = json.loads(table.metadata())
    [metadata["schema"]] = metadata.pop("schemas")
    [spec] = metadata.pop("partition-specs")
    metadata["partition-spec"] = spec["fields"]
    del metadata["current-schema-id"], metadata["schema"]["schema-id"]
    request = json.dumps({"filter": EQ}).encode()

    answer = json.loads(next(scan.plan(LocalFiles(), json.dumps(metadata).encode(), request)))

    assert files(answer) == ["5"]
    assert answer["file-scan-tasks"][0]["residual-filter"] is True


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_local_files_have_three_spellings(tmp_path: Path, prefix: str) -> None:
    """Percent signs are part of names: writers put them into folders of partitions."""
    (tmp_path / "p=a%20b?#").write_bytes(b"x")

    assert LocalFiles().read(f"{prefix}{tmp_path}/p=a%20b?#") == b"x"


def test_a_local_file_that_cannot_be_read_is_no_missing_one(tmp_path: Path) -> None:
    """A purge must not take a failing disk for an empty one."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    with pytest.raises(StorageUnavailable):
        LocalFiles().read(str(tmp_path / "loop"))
    with pytest.raises(FileMissing):
        LocalFiles().read(str(tmp_path))
    with pytest.raises(StorageUnavailable):
        LocalFiles().read(str(tmp_path / ("n" * 300)))
