"""New views: what a request becomes."""

from typing import Any

import pytest

from headgate.errors import BadMetadata, DuplicateDialect
from headgate.model import view_metadata
from headgate.model.view_creation import new_view
from headgate.model.view_metadata import LogEntry, ViewMetadata

SCHEMA = {
    "type": "struct",
    "schema-id": 7,
    "fields": [{"id": 3, "name": "a", "required": True, "type": "long"}],
}
QUERY = {"type": "sql", "sql": "select 1", "dialect": "spark"}
VERSION: dict[str, Any] = {
    "version-id": 5,
    "timestamp-ms": 1,
    "schema-id": 7,
    "summary": {"engine-name": "spark"},
    "representations": [QUERY],
    "default-namespace": ["ns"],
}
REQUEST = {"name": "v", "schema": SCHEMA, "view-version": VERSION, "properties": {"owner": "me"}}


def created(**changes: object) -> ViewMetadata:
    return new_view({**REQUEST, **changes}, location="/w/v", uuid="u-1", now_ms=99)


def test_ids_and_time_are_the_servers() -> None:
    """The first version is 1, the first schema 0, and both are of now; all else is as asked."""
    view = created()

    assert (view.view_uuid, view.location, view.format_version) == ("u-1", "/w/v", 1)
    assert view.current_version_id == view.current_version.version_id == 1
    assert (view.current_version.schema_id, view.current_version.timestamp_ms) == (0, 99)
    assert view.current_version.summary == {"engine-name": "spark"}
    assert view.schemas == ({**SCHEMA, "schema-id": 0},)
    assert view.version_log == (LogEntry(version_id=1, timestamp_ms=99),)
    assert view.properties == {"owner": "me"}


def test_a_new_view_can_be_read_back() -> None:
    """Its file is a valid one, and says the same."""
    assert view_metadata.parse(view_metadata.encode(created())) == created()


def test_a_dialect_is_said_once() -> None:
    """Two queries for one dialect are refused with the text that clients know, in any case."""
    version = {**VERSION, "representations": [QUERY, {**QUERY, "dialect": "SPARK"}]}

    with pytest.raises(DuplicateDialect) as refused:
        created(**{"view-version": version})

    expected = "Invalid view version: Cannot add multiple queries for dialect spark"
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": None},
        {"schema": {"type": "list"}},
        {"schema": {**SCHEMA, "fields": [{"id": 1}]}},
        {"view-version": None},
        {"view-version": {**VERSION, "representations": []}},
        {"view-version": {**VERSION, "representations": [{"type": "sql"}]}},
        {"view-version": {**VERSION, "summary": {"a": 1}}},
        {"view-version": {**VERSION, "default-namespace": None}},
        {"properties": {"version.history.num-entries": "0"}},
        {"properties": ["a"]},
    ],
)
def test_a_request_that_describes_no_view_is_refused(changes: dict[str, object]) -> None:
    """Parts that are missing, of the wrong type or empty are the client's mistake."""
    with pytest.raises(BadMetadata):
        created(**changes)


@pytest.mark.parametrize("request_", [None, [], "x", {}])
def test_what_is_no_request_is_refused(request_: object) -> None:
    """A request is an object with a schema and a version."""
    with pytest.raises(BadMetadata, match="request to create a view"):
        new_view(request_, location="/w/v", uuid="u", now_ms=1)
