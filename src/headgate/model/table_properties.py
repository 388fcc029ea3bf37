"""Properties of a table that the catalog itself reads, and those that nobody may set."""

import re
from collections.abc import Iterable, Mapping

from headgate.errors import BadMetadata

FORMAT_VERSION = "format-version"
RESERVED = frozenset(
    {
        FORMAT_VERSION,
        "uuid",
        "snapshot-count",
        "current-snapshot-id",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)
NEW_TABLE = {"write.parquet.compression-codec": "zstd"}  # what Iceberg sets on new tables

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_LOGGED_FILES = "write.metadata.previous-versions-max"
_LOGGED_FILES_DEFAULT = 100
_COMMIT_NUMBERS = (
    "commit.retry.num-retries",
    "commit.retry.min-wait-ms",
    "commit.retry.max-wait-ms",
    "commit.retry.total-timeout-ms",
)
_METRICS_OF_COLUMN = "write.metadata.metrics.column."
_ENCRYPTION = frozenset({"encryption.key-id", "encryption.data-key-length"})
_ENCRYPTION_SINCE_VERSION = 3


def without_reserved(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties but for those that say what metadata itself says."""
    return {name: value for name, value in properties.items() if name not in RESERVED}


def number(properties: Mapping[str, str], name: str, default: int) -> int:
    """A property that is a whole number."""
    text = properties.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise BadMetadata(
            f"Table property {name} must have integer value", why=f"it is {text[:80]!r}"
        )
    return int(text)


def logged_files_max(properties: Mapping[str, str]) -> int:
    """How many earlier metadata files are remembered; at least one."""
    return max(1, number(properties, _LOGGED_FILES, _LOGGED_FILES_DEFAULT))


def check_new(
    properties: Mapping[str, str], format_version: int, column_names: Iterable[str]
) -> None:
    """What the properties of a new table refer to exists. Those of old tables stay as they are."""
    for name in _COMMIT_NUMBERS:
        if number(properties, name, 0) < 0:
            raise BadMetadata(f"Table property {name} must have non negative integer value")
    encryption = sorted(_ENCRYPTION & properties.keys())
    if encryption and format_version < _ENCRYPTION_SINCE_VERSION:
        raise BadMetadata(f"Invalid properties for v{format_version}: {encryption}")
    names = set(column_names)
    for name in properties:
        column = name.removeprefix(_METRICS_OF_COLUMN)
        if column != name and column not in names:
            raise BadMetadata(
                f"Invalid metrics config, could not find column {column} from table prop {name}"
            )
