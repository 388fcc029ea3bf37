"""Data and delete files as JSON of the REST specification, as Java and pyiceberg both read it."""

from collections.abc import Sequence
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.types import IcebergType

from headgate.planning.literals import single_value
from headgate.planning.manifests import (
    CONTENT_OFFSET,
    CONTENT_SIZE,
    FILE_FORMAT,
    FIRST_ROW_ID,
    REFERENCED_DATA_FILE,
)

CONTENT = {
    DataFileContent.DATA: "data",
    DataFileContent.POSITION_DELETES: "position-deletes",
    DataFileContent.EQUALITY_DELETES: "equality-deletes",
}


def content_file(
    file: DataFile, types: Sequence[IcebergType], stats: frozenset[int] = frozenset()
) -> dict[str, Any]:
    """A file; `types` are those of its partition, `stats` the columns whose statistics are sent."""
    json: dict[str, Any] = {
        "spec-id": file.spec_id,
        "content": CONTENT[file.content],
        "file-path": file.file_path,
        "file-format": file[FILE_FORMAT].lower(),
        "partition": [
            single_value(type, file.partition[position]) for position, type in enumerate(types)
        ],
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
    }
    if file.key_metadata is not None:
        json["key-metadata"] = file.key_metadata.hex().upper()
    if file.split_offsets is not None:
        json["split-offsets"] = file.split_offsets
    if file.sort_order_id is not None:
        json["sort-order-id"] = file.sort_order_id
    if file.content == DataFileContent.DATA:
        if file[FIRST_ROW_ID] is not None:
            json["first-row-id"] = file[FIRST_ROW_ID]
        if stats:
            json |= _statistics(file, stats)
    else:
        json |= _delete_fields(file)
    return json


def _delete_fields(file: DataFile) -> dict[str, Any]:
    fields = {
        "equality-ids": file.equality_ids,
        "referenced-data-file": file[REFERENCED_DATA_FILE],
        "content-offset": file[CONTENT_OFFSET],
        "content-size-in-bytes": file[CONTENT_SIZE],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _statistics(file: DataFile, stats: frozenset[int]) -> dict[str, Any]:
    """Counts as numbers and bounds as hexadecimal digits, which is what clients parse."""
    maps: dict[str, dict[int, Any] | None] = {
        "column-sizes": file.column_sizes,
        "value-counts": file.value_counts,
        "null-value-counts": file.null_value_counts,
        "nan-value-counts": file.nan_value_counts,
        "lower-bounds": file.lower_bounds,
        "upper-bounds": file.upper_bounds,
    }
    return {
        name: {
            "keys": [key for key in values if key in stats],
            "values": [_shown(value) for key, value in values.items() if key in stats],
        }
        for name, values in maps.items()
        if values is not None
    }


def _shown(value: int | bytes) -> int | str:
    return value.hex().upper() if isinstance(value, bytes) else value
