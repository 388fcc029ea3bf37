"""Metadata of views: it comes back whole, and what contradicts itself is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadMetadata
from headgate.model import view_metadata
from headgate.model.view_metadata import LogEntry

SCHEMA = {
    "type": "struct",
    "schema-id": 1,
    "fields": [{"id": 1, "name": "a", "required": False, "type": "int", "doc": "why"}],
}
FILE: dict[str, Any] = {
    "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385",
    "format-version": 1,
    "location": "s3://bucket/warehouse/ns/event_agg",
    "current-version-id": 1,
    "properties": {"comment": "Daily event counts"},
    "versions": [
        {
            "version-id": 1,
            "timestamp-ms": 1573518431292,
            "schema-id": 1,
            "default-catalog": "prod",
            "default-namespace": ["default", "nested"],
            "summary": {"engine-name": "Spark"},
            "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "Spark"}],
        }
    ],
    "schemas": [SCHEMA],
    "version-log": [{"timestamp-ms": 1573518431292, "version-id": 1}],
}
VERSION: dict[str, Any] = FILE["versions"][0]

names = st.sampled_from(["unknown", "x", "materialized", "", "version_id"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
extras = st.dictionaries(names, values, max_size=3)


def encoded(**changes: object) -> bytes:
    return json.dumps({**FILE, **changes}).encode()


def test_a_file_is_read() -> None:
    """Each field is where it belongs."""
    metadata = view_metadata.parse(encoded())

    assert metadata.view_uuid == FILE["view-uuid"]
    assert metadata.properties == {"comment": "Daily event counts"}
    assert metadata.current_version.default_namespace == ("default", "nested")
    assert metadata.current_version.dialects == ["spark"]
    assert metadata.version_log == (LogEntry(version_id=1, timestamp_ms=1573518431292),)
    assert metadata.schemas == (SCHEMA,)


@given(extras, extras, extras, extras)
def test_what_is_unknown_survives(
    top: dict[str, Any], version: dict[str, Any], query: dict[str, Any], entry: dict[str, Any]
) -> None:
    """Fields that Headgate does not know stay, at every depth and whatever they are called."""
    representation = {**VERSION["representations"][0], **query}
    file = {
        **FILE,
        **top,
        "versions": [{**VERSION, **version, "representations": [representation]}],
        "version-log": [{**FILE["version-log"][0], **entry}],
        "schemas": [{**SCHEMA, "x": 1}],
    }

    again = view_metadata.encode(view_metadata.parse(json.dumps(file).encode()))

    assert json.loads(again) == file


def test_what_may_be_absent_stays_absent() -> None:
    """A view needs neither a default catalog nor properties, and a representation may be any."""
    bare = {name: value for name, value in VERSION.items() if name != "default-catalog"}
    other = {"type": "substrait", "plan": "x"}
    file = {**FILE, "versions": [{**bare, "representations": [other]}]}
    del file["properties"]

    metadata = view_metadata.parse(json.dumps(file).encode())

    assert metadata.current_version.dialects == []
    assert json.loads(view_metadata.encode(metadata)) == {**file, "properties": {}}


def test_a_schema_without_an_id_is_the_first() -> None:
    """Old writers left it out."""
    schema = {name: value for name, value in SCHEMA.items() if name != "schema-id"}
    metadata = view_metadata.parse(
        encoded(schemas=[schema], versions=[{**VERSION, "schema-id": 0}])
    )

    assert metadata.schema_ids == [0]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format-version": 2}, "Unsupported format version: 2"),
        ({"format-version": "1"}, "format-version"),
        ({"view-uuid": None}, "view-uuid"),
        ({"versions": {}}, "versions"),
        ({"versions": []}, "Cannot find current version 1"),
        ({"versions": [VERSION, VERSION]}, "multiple versions with id 1"),
        ({"versions": [1]}, "versions"),
        ({"versions": [{**VERSION, "schema-id": 7}]}, "Cannot find current schema with id 7"),
        ({"versions": [{**VERSION, "representations": [{"type": "SQL"}]}]}, "SQL representation"),
        ({"versions": [{**VERSION, "version-id": 2**31}]}, "version-id"),
        ({"current-version-id": 3}, "Cannot find current version 3"),
        ({"schemas": [SCHEMA, SCHEMA]}, "multiple schemas with id 1"),
        ({"schemas": [{"schema-id": "x"}]}, "view schemas"),
        ({"schemas": ["x"]}, "schemas"),
        ({"version-log": None}, "version-log"),
        ({"properties": {"a": 1}}, "properties"),
    ],
)
def test_a_file_that_is_wrong_is_refused(changes: dict[str, Any], why: str) -> None:
    """The error says which part is missing, of another type, or contradicts another."""
    with pytest.raises(BadMetadata, match=why):
        view_metadata.parse(encoded(**changes))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff", b"{}", b"[" * 100_000])
def test_a_file_that_is_none_is_refused(data: bytes) -> None:
    """Rubbish is the file's fault and not ours."""
    with pytest.raises(BadMetadata, match="Cannot parse view metadata"):
        view_metadata.parse(data)
