"""What planning needs to know of a table's metadata, and its schemas and specs as pyiceberg's."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec
from pydantic import ValidationError
from pyiceberg import exceptions
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, PrimitiveType

from headgate.errors import BadMetadata
from headgate.model.json_values import check_parts

TypeJson = Any
"""A name, or an object for a nested type."""

NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, ValidationError, exceptions.ValidationError)


class Snapshot(msgspec.Struct, frozen=True, rename="kebab"):
    """One snapshot of a table."""

    snapshot_id: int
    parent_snapshot_id: int | None = None
    schema_id: int | None = None
    manifest_list: str | None = None
    manifests: list[str] | None = None
    """Instead of a list's location: the oldest tables of format 1."""
    summary: dict[str, str] | None = None

    @property
    def appends(self) -> bool:
        return (self.summary or {}).get("operation") == "append"


class Table(msgspec.Struct, rename="kebab", dict=True):
    """A table's metadata, as far as plans need it."""

    schemas: list[dict[str, Any]] | None = None
    schema: dict[str, Any] | None = None
    current_schema_id: int | None = None
    partition_specs: list[dict[str, Any]] | None = None
    partition_spec: list[dict[str, Any]] | None = None
    current_snapshot_id: int | None = None
    snapshots: list[Snapshot] | None = None
    properties: dict[str, str] | None = None

    def snapshot(self, id: int) -> Snapshot | None:
        return self._snapshots_by_id.get(id)

    def current(self) -> Snapshot | None:
        id = self.current_snapshot_id
        return None if id is None or id == -1 else self.snapshot(id)

    def ancestors(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        """The snapshot, its parent, and so on, as far as they are kept."""
        seen = set()
        found: Snapshot | None = snapshot
        while found is not None and found.snapshot_id not in seen:
            seen.add(found.snapshot_id)
            yield found
            parent = found.parent_snapshot_id
            found = None if parent is None else self.snapshot(parent)

    @cached_property
    def _snapshots_by_id(self) -> dict[int, Snapshot]:
        return {snapshot.snapshot_id: snapshot for snapshot in self.snapshots or []}

    @property
    def schema_id(self) -> int:
        return self.current_schema_id or 0

    def has_schema(self, id: int) -> bool:
        return id in self._schemas_by_id

    def schema_of(self, id: int) -> Schema:
        return _schema(self._schemas_by_id[id])

    @cached_property
    def _schemas_by_id(self) -> dict[int, dict[str, Any]]:
        schemas = self.schemas or ([self.schema] if self.schema else [])
        return {schema.get("schema-id") or 0: schema for schema in schemas}

    @cached_property
    def shape(self) -> bytes:
        """All schemas and specs, to be compared."""
        return msgspec.json.encode(
            [self.schemas, self.schema, self.partition_specs, self.partition_spec]
        )

    @cached_property
    def specs(self) -> dict[int, PartitionSpec]:
        specs = self.partition_specs
        if specs is None:
            specs = [{"spec-id": 0, "fields": self.partition_spec or []}]
        return {spec.spec_id: spec for spec in map(_spec, specs)}


def parse(metadata: bytes) -> Table:
    """A table from its metadata file. Raises BadMetadata if it cannot be understood."""
    check_parts(metadata, "the table's metadata")
    try:
        return msgspec.json.decode(metadata, type=Table)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadMetadata("Cannot parse the table's metadata", why=str(error)) from error


def _schema(schema: dict[str, Any]) -> Schema:
    try:
        return Schema(*[_field(field) for field in schema["fields"]])
    except NOT_UNDERSTOOD as error:
        raise BadMetadata("Cannot understand the table's schema", why=str(error)) from error


def _field(field: dict[str, Any]) -> NestedField:
    """A column without what planning does not need, which includes defaults of newer types."""
    return NestedField(
        field_id=field["id"],
        name=field["name"],
        field_type=NestedField.model_validate(
            {"id": 0, "name": "type", "required": False, "type": _known_type(field["type"])}
        ).field_type,
        required=field.get("required", False),
    )


def _known_type(type: TypeJson) -> TypeJson:
    """The type as JSON, with `unknown` for those that pyiceberg cannot parse, such as variant."""
    if isinstance(type, str):
        return type if _is_known(type) else "unknown"
    known = dict(type)
    for part in ("element", "key", "value"):
        if part in known:
            known[part] = _known_type(known[part])
    if "fields" in known:
        known["fields"] = [
            {
                "id": field["id"],
                "name": field["name"],
                "required": field.get("required", False),
                "type": _known_type(field["type"]),
            }
            for field in known["fields"]
        ]
    return known


def _is_known(type: str) -> bool:
    try:
        PrimitiveType.model_validate(type)
    except NOT_UNDERSTOOD:
        return False
    return True


def _spec(spec: dict[str, Any]) -> PartitionSpec:
    try:
        return PartitionSpec.model_validate(
            {
                "spec-id": spec.get("spec-id", 0),
                "fields": [
                    {"field-id": 1000 + position, **field}
                    for position, field in enumerate(spec["fields"])
                ],
            }
        )
    except NOT_UNDERSTOOD as error:
        raise BadMetadata("Cannot understand a partition spec", why=str(error)) from error
