"""Tables made of metadata alone: manifests of every format version, and no data behind them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    construct_partition_summaries,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
)
DATA, POSITIONS, EQUALITY = DataFileContent
ADDED = ManifestEntryStatus.ADDED


def data_file(path: str, *, partition: Sequence[Any] = (), **fields: Any) -> DataFile:
    """A file of a manifest; what is not given is as in an unremarkable file."""
    given = {
        "content": DATA,
        "file_format": "PARQUET",
        "record_count": 10,
        "file_size_in_bytes": 1_000,
        **fields,
    }
    return DataFile.from_args(3, file_path=path, partition=Record(*partition), **given)


def bounds(lower: int, upper: int, *, column: int = 1) -> dict[str, Any]:
    return {
        "lower_bounds": {column: to_bytes(LongType(), lower)},
        "upper_bounds": {column: to_bytes(LongType(), upper)},
    }


def entry(file: DataFile, status: ManifestEntryStatus = ADDED, **fields: Any) -> ManifestEntry:
    return ManifestEntry.from_args(3, status=status, data_file=file, **fields)


@dataclass
class Written:
    """A snapshot: its manifests, in the order of the list."""

    manifests: list[ManifestFile]
    sequence_number: int
    parent: int | None = None
    operation: str = "append"
    schema_id: int | None = None


@dataclass
class MetadataTable:
    """A table in a folder."""

    folder: Path
    schema: Schema = SCHEMA
    specs: tuple[PartitionSpec, ...] = (UNPARTITIONED_PARTITION_SPEC,)
    version: Literal[1, 2, 3] = 2
    properties: dict[str, str] = field(default_factory=dict)
    snapshots: dict[int, Written] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def manifest(
        self,
        entries: Sequence[ManifestEntry | DataFile],
        *,
        number: int = 1,
        snapshot: int = 1,
        spec_id: int = 0,
        first_row_id: int | None = None,
    ) -> ManifestFile:
        """Write a manifest with what its list will say of it."""
        rows = [found if isinstance(found, ManifestEntry) else entry(found) for found in entries]
        if self.version == 1:  # nothing is inherited there
            for row in rows:
                row.snapshot_id = snapshot
        spec = next(spec for spec in self.specs if spec.spec_id == spec_id)
        deletes = any(row.data_file.content != DATA for row in rows)
        path = self.folder / f"manifest-{len(list(self.folder.iterdir()))}.avro"
        partition_type = spec.partition_type(self.schema)
        file_schema = manifest_entry_schema_with_data_file(
            self.version, data_file_with_partition(partition_type, self.version)
        )
        self._write(path, file_schema, "manifest_entry", rows, {"partition-spec-id": str(spec_id)})
        live = [row for row in rows if row.status != ManifestEntryStatus.DELETED]
        return ManifestFile.from_args(
            3,
            manifest_path=str(path),
            manifest_length=path.stat().st_size,
            partition_spec_id=spec_id,
            content=ManifestContent.DELETES if deletes else ManifestContent.DATA,
            sequence_number=number,
            min_sequence_number=min([number, *(row.sequence_number or number for row in rows)]),
            added_snapshot_id=snapshot,
            added_files_count=sum(row.status == ADDED for row in rows),
            existing_files_count=sum(row.status == ManifestEntryStatus.EXISTING for row in rows),
            deleted_files_count=len(rows) - len(live),
            added_rows_count=sum(row.data_file.record_count for row in live if row.status == ADDED),
            existing_rows_count=sum(
                row.data_file.record_count for row in live if row.status != ADDED
            ),
            deleted_rows_count=0,
            partitions=construct_partition_summaries(
                spec, self.schema, [row.data_file.partition for row in rows]
            ),
            first_row_id=first_row_id,
        )

    def snapshot(self, id: int, manifests: Sequence[ManifestFile], **fields: Any) -> None:
        """Add a snapshot and make it the current one."""
        number = max((manifest.sequence_number for manifest in manifests), default=1)
        written = Written(list(manifests), number, **fields)
        self.snapshots[id] = written
        self._write(
            self.folder / f"snap-{id}.avro",
            MANIFEST_LIST_FILE_SCHEMAS[self.version],
            "manifest_file",
            written.manifests,
            {},
        )

    def metadata(self) -> bytes:
        """The metadata file."""
        return json.dumps(
            {
                "format-version": self.version,
                "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
                "location": str(self.folder),
                "last-sequence-number": max(
                    [0, *(found.sequence_number for found in self.snapshots.values())]
                ),
                "last-updated-ms": 1,
                "last-column-id": self.schema.highest_field_id,
                "schemas": [json.loads(self.schema.model_dump_json())],
                "current-schema-id": self.schema.schema_id,
                "partition-specs": [json.loads(spec.model_dump_json()) for spec in self.specs],
                "default-spec-id": self.specs[-1].spec_id,
                "last-partition-id": 1000 + sum(len(spec.fields) for spec in self.specs),
                "sort-orders": [{"order-id": 0, "fields": []}],
                "default-sort-order-id": 0,
                "properties": self.properties,
                "current-snapshot-id": next(reversed(self.snapshots), None),
                "snapshots": [self._snapshot(id) for id in self.snapshots],
                **self.extra,
            }
        ).encode()

    def _snapshot(self, id: int) -> dict[str, Any]:
        written = self.snapshots[id]
        found = {
            "snapshot-id": id,
            "sequence-number": written.sequence_number,
            "timestamp-ms": id,
            "manifest-list": str(self.folder / f"snap-{id}.avro"),
            "summary": {"operation": written.operation},
            "schema-id": written.schema_id,
            "parent-snapshot-id": written.parent,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _write(
        self,
        path: Path,
        schema: Schema,
        name: str,
        rows: Sequence[Record],
        meta: dict[str, str],
    ) -> None:
        """Rows have the fields of format 3; those that the version does not have are left out."""
        record_schema = {
            "manifest_entry": lambda: manifest_entry_schema_with_data_file(
                3, data_file_with_partition(self._partition_type(schema), 3)
            ),
            "manifest_file": lambda: MANIFEST_LIST_FILE_SCHEMAS[3],
        }[name]()
        with AvroOutputFile[Record](
            PyArrowFileIO().new_output(str(path)),
            file_schema=schema,
            record_schema=record_schema,
            schema_name=name,
            metadata={"format-version": str(self.version), **meta},
        ) as writer:
            writer.write_block(list(rows))

    @staticmethod
    def _partition_type(schema: Schema) -> Any:
        return schema.find_field(102).field_type
