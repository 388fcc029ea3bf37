"""What a commit requires of a view as it is."""

from collections.abc import Sequence

from msgspec import Struct

from headgate.errors import BadMetadata, RequirementFailed
from headgate.model import json_values
from headgate.model.view_metadata import ViewMetadata

WHAT = "requirement of a view"


class _Kind(Struct):
    type: str


class _AssertViewUuid(Struct):
    uuid: str


def check(metadata: ViewMetadata | None, raw_list: Sequence[object]) -> None:
    """Refuses a commit that requires what the view is not; None is a view that is not there."""
    for raw in raw_list:
        requirement = json_values.builtins(raw, WHAT)
        type = json_values.convert(requirement, _Kind, WHAT).type
        if type.lower() != "assert-view-uuid":
            raise BadMetadata(f"Cannot validate {type[:80]} against a view")
        _check_uuid(metadata, json_values.convert(requirement, _AssertViewUuid, WHAT).uuid)


def _check_uuid(metadata: ViewMetadata | None, uuid: str) -> None:
    if not metadata:
        raise RequirementFailed(
            "Requirement failed: view UUID does not match", why="there is no such view"
        )
    if metadata.view_uuid.lower() != uuid.lower():
        raise RequirementFailed(
            "Requirement failed: view UUID does not match",
            why=f"expected {metadata.view_uuid} != {uuid}",
        )
