"""Updates of views, one by one and together."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from headgate.errors import BadMetadata, DuplicateDialect
from headgate.model import view_metadata, view_updates
from headgate.model.view_creation import new_view
from headgate.model.view_metadata import LogEntry, ViewMetadata

NOW = 1_000
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "a", "required": False, "type": "int"}],
}
WIDER = {**SCHEMA, "fields": [{"id": 1, "name": "a", "required": False, "type": "long"}]}
KEEP_TWO = {"action": "set-properties", "updates": {"version.history.num-entries": "2"}}
LAST_CURRENT = {"action": "set-current-view-version", "view-version-id": -1}


def version(sql: str = "select 1", /, *dialects: str, **changes: object) -> dict[str, Any]:
    return {
        "version-id": 2,
        "timestamp-ms": 500,
        "schema-id": 0,
        "summary": {"engine-name": "spark"},
        "representations": [
            {"type": "sql", "sql": sql, "dialect": dialect} for dialect in dialects or ["spark"]
        ],
        "default-namespace": ["ns"],
        **changes,
    }


def add(sql: str = "select 1", /, *dialects: str, **changes: object) -> dict[str, Any]:
    return {"action": "add-view-version", "view-version": version(sql, *dialects, **changes)}


def current(id: int) -> dict[str, Any]:
    return {"action": "set-current-view-version", "view-version-id": id}


def add_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"action": "add-schema", "schema": schema}


def view(**properties: str) -> ViewMetadata:
    request = {
        "name": "v",
        "schema": SCHEMA,
        "view-version": version(),
        "properties": {name.replace("__", "."): value for name, value in properties.items()},
    }
    return new_view(request, location="/v", uuid="u-1", now_ms=100)


def apply(metadata: ViewMetadata, *updates: object, now_ms: int = NOW) -> ViewMetadata:
    return view_updates.apply(metadata, updates, now_ms=now_ms)


@pytest.mark.parametrize(
    "update",
    [
        {"action": "assign-uuid", "uuid": "U-1"},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "set-location", "location": "/v"},
        {"action": "set-properties", "updates": {}},
        {"action": "set-properties", "updates": {"owner": "me"}},
        {"action": "remove-properties", "removals": ["other"]},
        add_schema({**SCHEMA, "schema-id": 9}),
        add(),
        current(1),
    ],
)
def test_an_update_that_changes_nothing_gives_the_same_object(update: dict[str, Any]) -> None:
    """So that nothing is written for it."""
    metadata = view(owner="me")

    assert apply(metadata, update) is metadata
    assert apply(metadata) is metadata


def test_location_and_properties_are_set() -> None:
    """Properties are merged and removed; older clients' words and capitals are understood."""
    changed = apply(
        view(a="1", b="2", c="3"),
        {"action": "set-location", "location": "file:/elsewhere"},
        {"action": "set-properties", "updates": {"b": "x", "d": "4"}},
        {"action": "Set-Properties", "updated": {"e": "5"}},
        {"action": "remove-properties", "removals": ["a", "missing"]},
        Raw(b'{"action": "remove-properties", "removed": ["c"]}'),
    )

    assert changed.location == "file:/elsewhere"
    assert changed.properties == {"b": "x", "d": "4", "e": "5"}


def test_a_replacement_is_a_new_version_and_the_current_one() -> None:
    """The log says since when: the time of the version, as it was made for this."""
    changed = apply(view(), add("select 2"), LAST_CURRENT)

    assert changed.version_ids == [1, 2]
    assert changed.current_version.representations[0].sql == "select 2"
    assert changed.version_log[1:] == (LogEntry(version_id=2, timestamp_ms=500),)


def test_a_version_that_is_not_new_became_current_now() -> None:
    """Going back is logged with the time of the commit."""
    changed = apply(apply(view(), add("select 2"), LAST_CURRENT), current(1))

    assert changed.current_version_id == 1
    assert changed.version_log[2:] == (LogEntry(version_id=1, timestamp_ms=NOW),)


def test_an_equal_version_is_used_again() -> None:
    """Its id and time do not count; as the last added one it can become current."""
    two = apply(view(), add("select 2"), LAST_CURRENT)

    back = apply(two, add(**{"version-id": 3, "timestamp-ms": 9}), LAST_CURRENT)

    assert back.versions == two.versions
    assert back.current_version_id == 1
    assert back.version_log[-1] == LogEntry(version_id=1, timestamp_ms=NOW)


@pytest.mark.parametrize(
    "difference",
    [
        {"summary": {}},
        {"default-catalog": "c"},
        {"default-namespace": ["other"]},
        {"representations": [{"type": "sql", "sql": "select 1", "dialect": "Spark"}]},
        {"materialized": True},
    ],
)
def test_a_version_that_differs_is_a_new_one(difference: dict[str, object]) -> None:
    """All but id and time count."""
    assert apply(view(), add(**difference)).version_ids == [1, 2]


def test_a_stale_client_gets_the_next_id() -> None:
    """Two replacements that did not see each other both succeed, and the later one is current."""
    one = apply(view(), add("select 2"), LAST_CURRENT)

    two = apply(one, add("select 3"), LAST_CURRENT)

    assert two.version_ids == [1, 2, 3]
    assert two.current_version.representations[0].sql == "select 3"


def test_a_client_may_ask_for_a_higher_id() -> None:
    """An id above all others is taken as it is."""
    assert apply(view(), add("select 2", **{"version-id": 8})).version_ids == [1, 8]


def test_schemas_are_counted_and_used_again() -> None:
    """An equal one keeps its id, a new one gets the next, and -1 is the last in either case."""
    wider = apply(view(), add_schema({**WIDER, "schema-id": 44}), add(**{"schema-id": -1}))
    again = apply(
        wider, add_schema({**SCHEMA, "schema-id": 5}), add("select 2", **{"schema-id": -1})
    )

    assert wider.schema_ids == again.schema_ids == [0, 1]
    assert [each.schema_id for each in again.versions] == [0, 1, 0]


@pytest.mark.parametrize(
    ("updates", "why"),
    [
        ([{"action": "assign-uuid", "uuid": "u-2"}], "Cannot reassign uuid"),
        ([{"action": "upgrade-format-version", "format-version": 0}], "Cannot downgrade v1"),
        ([{"action": "upgrade-format-version", "format-version": 2}], "Unsupported format version"),
        ([add(**{"schema-id": -1})], "no schema has been added"),
        ([add(**{"schema-id": 3})], "Cannot add version with unknown schema: 3"),
        ([add(representations=[])], "no representations"),
        ([add("x", **{"version-id": 2**31 - 1}), add("y")], "no id after"),
        ([LAST_CURRENT], "no current version id has been set"),
        ([current(4)], "Cannot set current version to unknown version: 4"),
        ([add_schema({"type": "map"})], "schema"),
        ([{"action": "set-current-schema", "schema-id": 0}], "set-current-schema to a view"),
        ([{"action": "nonsense"}], "Cannot apply update nonsense to a view"),
        ([{"action": "set-location"}], "set-location, an update of a view"),
        ([{"action": 1}], "update of a view"),
        ([[]], "update of a view"),
        ([Raw(b"{")], "update of a view"),
        ([{"action": "set-properties", "updates": {"version.history.num-entries": "0"}}], "was 0"),
        ([{"action": "set-properties", "updates": {"version.history.num-entries": "x"}}], "was x"),
    ],
)
def test_an_update_that_cannot_be_applied_is_refused(updates: list[object], why: str) -> None:
    """The whole commit fails, and the error says why."""
    with pytest.raises(BadMetadata, match=why):
        apply(view(), *updates)


def test_a_dialect_is_said_once() -> None:
    """Also in a replacement."""
    with pytest.raises(DuplicateDialect, match="multiple queries for dialect trino"):
        apply(view(), add("select 1", "trino", "Trino"))


def test_no_dialect_is_lost() -> None:
    """Whoever reads the view in a dialect can still do so after its replacement."""
    with pytest.raises(BadMetadata, match=r"loss of view dialects.*\['spark'\].*\['trino'\]"):
        apply(view(), add("select 2", "trino"), LAST_CURRENT)

    both = apply(view(), add("select 2", "trino", "SPARK"), LAST_CURRENT)
    assert both.current_version.dialects == ["trino", "spark"]


def test_a_dialect_may_be_lost_if_the_view_allows_it() -> None:
    """A property says so, also one that is set in the same commit."""
    allow = {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "True"}}

    changed = apply(view(), allow, add("select 2", "trino"), LAST_CURRENT)

    assert changed.current_version.dialects == ["trino"]


def test_old_versions_are_forgotten() -> None:
    """Ten are kept unless a property says otherwise."""
    metadata = view()
    for number in range(2, 14):
        metadata = apply(metadata, add(f"select {number}"), LAST_CURRENT)

    assert metadata.version_ids == list(range(4, 14))
    assert [entry.version_id for entry in metadata.version_log] == list(range(4, 14))
    assert apply(metadata, KEEP_TWO).version_ids == [12, 13]


def test_the_current_version_is_never_forgotten() -> None:
    """Even if it is the oldest; the log before a forgotten version goes with it."""
    metadata = apply(view(), add("select 2"), LAST_CURRENT)
    metadata = apply(metadata, add("select 3"), LAST_CURRENT)

    metadata = apply(metadata, current(1), KEEP_TWO)

    assert metadata.version_ids == [1, 3]
    assert [entry.version_id for entry in metadata.version_log] == [3, 1]


def test_new_versions_are_never_forgotten() -> None:
    """Those of one commit are kept together, however many they are."""
    metadata = apply(view(), KEEP_TWO, *(add(f"select {number}") for number in range(2, 6)))

    assert metadata.version_ids == [1, 2, 3, 4, 5]


def test_only_the_last_of_several_current_versions_is_logged() -> None:
    """What was current within a commit was never seen."""
    changed = apply(view(), add("select 2"), LAST_CURRENT, add("select 3"), LAST_CURRENT)

    assert [entry.version_id for entry in changed.version_log] == [1, 3]


steps = st.lists(
    st.one_of(
        st.builds(lambda n: [add(f"select {n}"), LAST_CURRENT], st.integers(0, 15)),
        st.builds(
            lambda n: [
                {"action": "set-properties", "updates": {"version.history.num-entries": str(n)}}
            ],
            st.integers(1, 4),
        ),
        st.builds(
            lambda schema: [add_schema(schema), add("select 0", **{"schema-id": -1})],
            st.sampled_from([SCHEMA, WIDER]),
        ),
    ),
    max_size=12,
)


@given(steps)
def test_every_history_is_a_valid_file(history: list[list[dict[str, Any]]]) -> None:
    """Whatever was done, the view can be read, its log ends with the current version, and the
    base of each change stays as it was."""
    metadata = view()
    for updates in history:
        before = view_metadata.encode(metadata)
        changed = apply(metadata, *updates)
        assert view_metadata.encode(metadata) == before
        metadata = changed

    assert view_metadata.parse(view_metadata.encode(metadata)) == metadata
    assert metadata.version_log[-1].version_id == metadata.current_version_id
    assert {entry.version_id for entry in metadata.version_log} <= set(metadata.version_ids)
    assert json.loads(view_metadata.encode(metadata))["view-uuid"] == "u-1"
