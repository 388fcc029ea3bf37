"""Metadata of a view: what its file says, read and written without losing what we do not know."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from headgate.errors import BadMetadata
from headgate.model import json_values
from headgate.model.json_values import Int32, Int64, Json, Object

FORMAT_VERSION = 1
FIRST_SCHEMA_ID = 0
FIRST_VERSION_ID = 1


class Representation(Struct, frozen=True, kw_only=True, rename="kebab"):
    """One way to say what the view is, in the SQL of one engine."""

    type: str
    sql: str | None = None
    dialect: str | None = None
    unknown: Object = {}

    def __post_init__(self) -> None:
        if self.is_sql and (self.sql is None or self.dialect is None):
            raise ValueError("A SQL representation has `sql` and `dialect`")

    @property
    def is_sql(self) -> bool:
        return self.type.lower() == "sql"


class ViewVersion(Struct, frozen=True, kw_only=True, rename="kebab"):
    """What the view was, or is, in all its dialects."""

    version_id: Int32
    timestamp_ms: Int64
    schema_id: Int32
    summary: dict[str, str]
    representations: tuple[Representation, ...]
    default_catalog: str | None = None
    default_namespace: tuple[str, ...]
    unknown: Object = {}

    @property
    def dialects(self) -> list[str]:
        """The dialects of its SQL, in lower case: engines do not tell cases apart."""
        return [
            each.dialect.lower() for each in self.representations if each.is_sql and each.dialect
        ]


class LogEntry(Struct, frozen=True, kw_only=True, rename="kebab"):
    """When a version became the current one."""

    version_id: Int32
    timestamp_ms: Int64
    unknown: Object = {}


class ViewMetadata(Struct, frozen=True, kw_only=True, rename="kebab"):
    """A view. Every part keeps in `unknown` what the file says beyond its fields."""

    view_uuid: str
    format_version: Int32
    location: str
    current_version_id: Int32
    versions: tuple[ViewVersion, ...]
    version_log: tuple[LogEntry, ...]
    schemas: tuple[Object, ...]
    properties: dict[str, str] = {}
    unknown: Object = {}

    @property
    def current_version(self) -> ViewVersion:
        return self.version(self.current_version_id)

    def version(self, id: int) -> ViewVersion:
        """The version of this id, which is known to be there."""
        return next(version for version in self.versions if version.version_id == id)

    @property
    def version_ids(self) -> list[int]:
        return [version.version_id for version in self.versions]

    @property
    def schema_ids(self) -> list[int]:
        return [schema_id(schema) for schema in self.schemas]


_PARTS: dict[str, type[Struct]] = {
    "versions": ViewVersion,
    "version-log": LogEntry,
    "representations": Representation,
}
_UNKNOWN = "unknown"


def parse(data: Json) -> ViewMetadata:
    """Reads a metadata file; one that contradicts itself is refused."""
    raw = json_values.decode(data, Any, "view metadata")
    metadata: ViewMetadata = json_values.convert(
        _apart(raw, ViewMetadata), ViewMetadata, "view metadata"
    )
    _check(metadata)
    return metadata


def encode(metadata: ViewMetadata) -> bytes:
    """The metadata file."""
    return json_values.encode(_joined(metadata))


def read_version(raw: object) -> ViewVersion:
    """A version as it stands in a request."""
    version: ViewVersion = json_values.convert(
        _apart(raw, ViewVersion), ViewVersion, "view version"
    )
    return version


def schema_id(schema: Object) -> int:
    """The id of a schema; old writers leave out that of the first one."""
    id: int = schema.get("schema-id", FIRST_SCHEMA_ID)
    return id


def check_format_version(version: int) -> None:
    """There is one version of the format so far."""
    if version != FORMAT_VERSION:
        raise BadMetadata(
            f"Unsupported format version: {version}",
            why=f"views have format version {FORMAT_VERSION}",
        )


def _check(metadata: ViewMetadata) -> None:
    check_format_version(metadata.format_version)
    json_values.convert(metadata.schema_ids, list[Int32], "view schemas")
    _check_unique(metadata.schema_ids, "schemas")
    _check_unique(metadata.version_ids, "versions")
    if metadata.current_version_id not in metadata.version_ids:
        raise BadMetadata(
            f"Cannot find current version {metadata.current_version_id} "
            f"in view versions: {metadata.version_ids}"
        )
    current = metadata.current_version.schema_id
    if current not in metadata.schema_ids:
        raise BadMetadata(
            f"Cannot find current schema with id {current} in schemas: {metadata.schema_ids}"
        )


def _check_unique(ids: Iterable[int], what: str) -> None:
    seen: set[int] = set()
    for id in ids:
        if id in seen:
            raise BadMetadata(f"Invalid view: multiple {what} with id {id}")
        seen.add(id)


def _apart(raw: object, kind: type[Struct]) -> object:
    """An object whose unknown members stand apart, at every depth, to be read as `kind`."""
    if not isinstance(raw, dict):
        return raw
    known: Object = {}
    unknown: Object = {}
    for name, value in raw.items():
        if name not in kind.__struct_encode_fields__ or name == _UNKNOWN:
            unknown[name] = value
        elif name in _PARTS and isinstance(value, list):
            known[name] = [_apart(part, _PARTS[name]) for part in value]
        else:
            known[name] = value
    return {**known, _UNKNOWN: unknown}


def _joined(part: Struct) -> Object:
    """The reverse of `_apart`. What may be absent and is, stays absent."""
    members = zip(part.__struct_encode_fields__, msgspec.structs.astuple(part), strict=True)
    joined: Object = {name: value for name, value in members if value is not None}
    for name in joined.keys() & _PARTS.keys():
        joined[name] = [_joined(each) for each in joined[name]]
    unknown: Object = joined.pop(_UNKNOWN)
    return joined | unknown
