"""What a commit requires a table to be: checked against the present version, before any change."""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from headgate.errors import BadRequest, RequirementFailed
from headgate.model.json_values import Int32, Int64, Json
from headgate.model.table_metadata import NO_SNAPSHOT, TableMetadata
from headgate.model.tagged_values import Vocabulary, decode_tagged, tags


class _Requirement(Struct, frozen=True, rename="kebab", tag_field="type"):
    pass


class AssertCreate(_Requirement, frozen=True, tag="assert-create"):
    """The table does not exist."""


class AssertTableUuid(_Requirement, frozen=True, tag="assert-table-uuid"):
    """The table is this one, and not another of the same name."""

    uuid: str


class AssertRefSnapshotId(_Requirement, frozen=True, tag="assert-ref-snapshot-id"):
    """A branch or tag points at a snapshot; or, without one, does not exist."""

    ref: str
    snapshot_id: Int64 | None = None


class AssertLastAssignedFieldId(_Requirement, frozen=True, tag="assert-last-assigned-field-id"):
    """Nobody added a column."""

    last_assigned_field_id: Int32


class AssertCurrentSchemaId(_Requirement, frozen=True, tag="assert-current-schema-id"):
    """Nobody changed the schema."""

    current_schema_id: Int32


class AssertLastAssignedPartitionId(
    _Requirement, frozen=True, tag="assert-last-assigned-partition-id"
):
    """Nobody added a partition field."""

    last_assigned_partition_id: Int32


class AssertDefaultSpecId(_Requirement, frozen=True, tag="assert-default-spec-id"):
    """Nobody changed the partitioning."""

    default_spec_id: Int32


class AssertDefaultSortOrderId(_Requirement, frozen=True, tag="assert-default-sort-order-id"):
    """Nobody changed the sort order."""

    default_sort_order_id: Int32


TableRequirement = (
    AssertCreate
    | AssertTableUuid
    | AssertRefSnapshotId
    | AssertLastAssignedFieldId
    | AssertCurrentSchemaId
    | AssertLastAssignedPartitionId
    | AssertDefaultSpecId
    | AssertDefaultSortOrderId
)

_VOCABULARY = Vocabulary(
    "type",
    "requirement",
    tags(*TableRequirement.__args__),
    {"assert-view-uuid": "Cannot validate assert-view-uuid against a table"},
)


def decode_requirements(data: Json) -> list[TableRequirement]:
    """The requirements of a commit."""
    return cast("list[TableRequirement]", decode_tagged(data, _VOCABULARY))


def is_create(requirements: Sequence[TableRequirement]) -> bool:
    """Whether a commit is to create its table; it can require nothing else then."""
    create = [each for each in requirements if isinstance(each, AssertCreate)]
    if create and len(create) < len(requirements):
        raise BadRequest(
            "Invalid create requirements",
            why="what does not exist can have no other properties",
            fix="Send assert-create alone",
        )
    return bool(create)


def check(metadata: TableMetadata | None, requirements: Sequence[TableRequirement]) -> None:
    """Fails unless the table, or its absence, is as required."""
    if is_create(requirements):
        if metadata:
            raise RequirementFailed("Requirement failed: table already exists")
        return
    if requirements and not metadata:
        raise RequirementFailed("Requirement failed: table does not exist")
    for requirement in requirements:
        assert metadata
        _check(metadata, requirement)


def _check(metadata: TableMetadata, requirement: TableRequirement) -> None:
    match requirement:
        case AssertTableUuid(uuid):
            if uuid.lower() != metadata.table_uuid.lower():
                raise RequirementFailed(
                    "Requirement failed: UUID does not match: "
                    f"expected {metadata.table_uuid} != {uuid}"
                )
        case AssertRefSnapshotId(name, id):
            _check_ref(metadata, name, None if id == NO_SNAPSHOT else id)
        case AssertLastAssignedFieldId(id):
            _check_id("last assigned field id", id, metadata.last_column_id)
        case AssertCurrentSchemaId(id):
            _check_id("current schema", id, metadata.current_schema_id)
        case AssertLastAssignedPartitionId(id):
            _check_id("last assigned partition id", id, metadata.last_partition_id)
        case AssertDefaultSpecId(id):
            _check_id("default partition spec", id, metadata.default_spec_id)
        case _:
            assert isinstance(requirement, AssertDefaultSortOrderId)
            id = requirement.default_sort_order_id
            _check_id("default sort order", id, metadata.default_sort_order_id)


def _check_id(what: str, required: int, present: int) -> None:
    if required != present:
        raise RequirementFailed(
            f"Requirement failed: {what} changed: expected id {required} != {present}"
        )


def _check_ref(metadata: TableMetadata, name: str, required: int | None) -> None:
    ref = metadata.refs.get(name)
    if ref is None:
        if required is not None:
            raise RequirementFailed(
                f"Requirement failed: branch or tag {name} is missing, expected {required}"
            )
    elif required is None:
        raise RequirementFailed(f"Requirement failed: {ref.type} {name} was created concurrently")
    elif required != ref.snapshot_id:
        raise RequirementFailed(
            f"Requirement failed: {ref.type} {name} has changed: "
            f"expected id {required} != {ref.snapshot_id}"
        )
