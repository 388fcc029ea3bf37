"""Requirements of commits to views."""

import pytest
from msgspec import Raw

from headgate.errors import BadMetadata, RequirementFailed
from headgate.model import view_requirements
from headgate.model.view_metadata import ViewMetadata

UUID = "fa6506c3-7681-40c8-86dc-e36561f83385"
OTHER = "00000000-7681-40c8-86dc-e36561f83385"
VIEW = ViewMetadata(
    view_uuid=UUID,
    format_version=1,
    location="/v",
    current_version_id=1,
    versions=(),
    version_log=(),
    schemas=(),
)


@pytest.mark.parametrize("uuid", [UUID, UUID.upper()])
def test_the_right_uuid_passes(uuid: str) -> None:
    """Capitals make no difference, neither in the type; requirements may still be encoded."""
    view_requirements.check(VIEW, [{"type": "assert-view-uuid", "uuid": uuid}])
    view_requirements.check(VIEW, [{"type": "ASSERT-VIEW-UUID", "uuid": uuid}])
    view_requirements.check(VIEW, [Raw(b'{"type":"assert-view-uuid","uuid":"%s"}' % uuid.encode())])


def test_no_requirement_always_passes() -> None:
    """Also if there is no view."""
    view_requirements.check(None, [])


def test_another_uuid_fails() -> None:
    """Every requirement counts, and the text is the one that clients know."""
    requirements = [{"type": "assert-view-uuid", "uuid": uuid} for uuid in (UUID, OTHER)]

    with pytest.raises(RequirementFailed) as failed:
        view_requirements.check(VIEW, requirements)

    expected = f"Requirement failed: view UUID does not match: expected {UUID} != {OTHER}"
    assert str(failed.value) == expected


def test_a_view_that_is_not_there_has_no_uuid() -> None:
    """It fails like one of another uuid."""
    with pytest.raises(RequirementFailed, match="view UUID does not match: there is no such view"):
        view_requirements.check(None, [{"type": "assert-view-uuid", "uuid": UUID}])


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "assert-create"},
        {"type": "assert-table-uuid", "uuid": UUID},
        {"type": "nonsense"},
        {"type": "assert-view-uuid"},
        {"type": "assert-view-uuid", "uuid": 1},
        {"type": 1},
        {},
        None,
        Raw(b"{"),
    ],
)
def test_what_is_no_requirement_of_a_view_is_refused(raw: object) -> None:
    """Those of tables, unknown ones and broken ones are the client's mistake, not a conflict."""
    with pytest.raises(BadMetadata):
        view_requirements.check(VIEW, [raw])
