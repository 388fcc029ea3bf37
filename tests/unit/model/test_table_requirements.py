"""Requirements of a commit on a table."""

from typing import Any

import pytest

from headgate.errors import BadRequest, RequirementFailed
from headgate.model.table_requirements import decode_requirements, is_create
from tests.unit.model.tables import UUID, commit, require, set_ref, table, with_snapshots

REF = "assert-ref-snapshot-id"


def named(type: str, **members: object) -> dict[str, Any]:
    return {"type": type, **{name.replace("_", "-"): value for name, value in members.items()}}


@pytest.mark.parametrize(
    "requirement",
    [
        named("assert-table-uuid", uuid=UUID.upper()),
        named(REF, ref="main", snapshot_id=2),
        named(REF, ref="other", snapshot_id=None),
        named(REF, ref="other", snapshot_id=-1),
        named(REF, ref="other"),
        named("assert-last-assigned-field-id", last_assigned_field_id=3),
        named("assert-current-schema-id", current_schema_id=0),
        named("assert-last-assigned-partition-id", last_assigned_partition_id=999),
        named("assert-default-spec-id", default_spec_id=0),
        named("assert-default-sort-order-id", default_sort_order_id=0),
        named("ASSERT-Default-Sort-Order-Id", default_sort_order_id=0),
    ],
)
def test_a_requirement_that_holds_passes(requirement: dict[str, Any]) -> None:
    """Each kind, in any case of letters."""
    require(with_snapshots(2), requirement)


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (named("assert-create"), "Requirement failed: table already exists"),
        (
            named("assert-table-uuid", uuid="x"),
            f"Requirement failed: UUID does not match: expected {UUID} != x",
        ),
        (
            named(REF, ref="main", snapshot_id=1),
            "Requirement failed: branch main has changed: expected id 1 != 2",
        ),
        (
            named(REF, ref="label", snapshot_id=-1),
            "Requirement failed: tag label was created concurrently",
        ),
        (
            named(REF, ref="main"),
            "Requirement failed: branch main was created concurrently",
        ),
        (
            named(REF, ref="gone", snapshot_id=1),
            "Requirement failed: branch or tag gone is missing, expected 1",
        ),
        (
            named("assert-last-assigned-field-id", last_assigned_field_id=2),
            "Requirement failed: last assigned field id changed: expected id 2 != 3",
        ),
        (
            named("assert-current-schema-id", current_schema_id=1),
            "Requirement failed: current schema changed: expected id 1 != 0",
        ),
        (
            named("assert-last-assigned-partition-id", last_assigned_partition_id=1000),
            "Requirement failed: last assigned partition id changed: expected id 1000 != 999",
        ),
        (
            named("assert-default-spec-id", default_spec_id=1),
            "Requirement failed: default partition spec changed: expected id 1 != 0",
        ),
        (
            named("assert-default-sort-order-id", default_sort_order_id=1),
            "Requirement failed: default sort order changed: expected id 1 != 0",
        ),
    ],
)
def test_a_requirement_that_does_not_hold_says_why(
    requirement: dict[str, Any], message: str
) -> None:
    """In the words that Iceberg's clients and its compatibility kit know."""
    metadata = commit(with_snapshots(2), set_ref("label", 1, "tag"))

    with pytest.raises(RequirementFailed) as failed:
        require(metadata, requirement)
    assert str(failed.value) == message


def test_all_requirements_are_checked() -> None:
    """The first that fails is named."""
    holds = named("assert-table-uuid", uuid=UUID)

    with pytest.raises(RequirementFailed, match="current schema"):
        require(table(), holds, named("assert-current-schema-id", current_schema_id=5))


def test_a_table_that_is_to_be_created_must_be_absent() -> None:
    """And must not be required to be anything else."""
    require(None, named("assert-create"))
    require(None)
    require(table())
    with pytest.raises(BadRequest, match="Invalid create requirements"):
        require(None, named("assert-create"), named("assert-table-uuid", uuid=UUID))


def test_a_table_that_does_not_exist_is_not_as_required() -> None:
    """Whatever is required of it."""
    with pytest.raises(RequirementFailed, match="table does not exist"):
        require(None, named(REF, ref="main"))


def test_a_commit_says_by_its_requirements_that_it_creates() -> None:
    """The catalog asks before it looks for the table."""
    assert is_create(decode_requirements(b'[{"type":"assert-create"}]'))
    assert not is_create(decode_requirements(b"[]"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "Cannot parse requirements"),
        (b"[3]", "Cannot parse requirement"),
        (b"[{}]", "Cannot parse requirement: its type"),
        (b'[{"type":"assert-nothing"}]', "Unknown requirement 'assert-nothing'. Known are: assert"),
        (b'[{"type":"assert-table-uuid"}]', "Cannot parse requirement assert-table-uuid"),
        (b'[{"type":"assert-view-uuid","uuid":"x"}]', "assert-view-uuid against a table"),
    ],
)
def test_what_is_no_requirement_of_a_table_is_refused(data: bytes, message: str) -> None:
    """A requirement that is not understood must not be taken as met."""
    with pytest.raises(BadRequest, match=message):
        decode_requirements(data)
