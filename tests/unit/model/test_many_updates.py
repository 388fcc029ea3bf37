"""Commits of very many updates: what is there is read once, not once for each update."""

import json
from typing import Any

import pytest

from headgate.errors import BadMetadata, BadRequest
from headgate.limits import TABLE_UPDATES_MAX, VIEW_UPDATES_MAX
from headgate.model import json_arrays, view_updates
from headgate.model.definitions import Definition
from headgate.model.json_arrays import JsonArray
from headgate.model.table_actions import RemoveSnapshots
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_updates import apply, decode_updates
from tests.unit.model.test_view_updates import view

MANY = 200
UUID = "6a0f3c4a-4b7e-4f8e-9d7e-0a3a5f7c9b11"


def schema(*extra: int) -> dict[str, Any]:
    ids = [1, *extra]
    fields = [{"id": id, "name": f"c{id}", "required": False, "type": "long"} for id in ids]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def partitioned(buckets: int, **more: object) -> dict[str, Any]:
    field = {"source-id": 1, "name": f"b{buckets}", "transform": f"bucket[{buckets}]", **more}
    return {"action": "add-spec", "spec": {"fields": [field]}}


def sorted_by(buckets: int) -> dict[str, Any]:
    field = {"source-id": 1, "transform": f"bucket[{buckets}]", "direction": "asc"}
    fields = [{**field, "null-order": "nulls-last"}]
    return {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": fields}}


def statistics(snapshot: int) -> dict[str, Any]:
    file = {
        "snapshot-id": snapshot,
        "statistics-path": f"file:///w/t/{snapshot}",
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
    return {"action": "set-statistics", "snapshot-id": snapshot, "statistics": file}


def key(number: int) -> dict[str, Any]:
    described = {"key-id": f"k{number}", "encrypted-key-metadata": "aaaa"}
    return {"action": "add-encryption-key", "encryption-key": described}


def add_schema(id: int) -> dict[str, Any]:
    return {"action": "add-schema", "schema": schema(id)}


NEW: list[dict[str, Any]] = [
    {"action": "assign-uuid", "uuid": UUID},
    {"action": "set-location", "location": "file:///w/t"},
    {"action": "add-schema", "schema": schema()},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"fields": []}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
    {"action": "set-default-sort-order", "sort-order-id": -1},
]


def changed(table: TableMetadata | None, updates: list[dict[str, Any]]) -> TableMetadata:
    read = decode_updates(json.dumps(updates).encode())
    return apply(table, read, now_ms=1, previous_location=None)


class Reads:
    """Counts how many definitions and elements of arrays are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        value, decode = Definition.value.fget, json_arrays.decode  # type: ignore[attr-defined]

        def read_definition(definition: Definition) -> object:
            self.count += 1
            return value(definition)

        def read_array(*arguments: Any) -> Any:
            found = decode(*arguments)
            self.count += len(found)
            return found

        monkeypatch.setattr(Definition, "value", property(read_definition))
        monkeypatch.setattr(json_arrays, "decode", read_array)


@pytest.mark.parametrize(
    "updates",
    [
        [add_schema(id) for id in range(2, MANY + 2)],
        [partitioned(buckets) for buckets in range(1, MANY + 1)],
        [partitioned(buckets, **{"field-id": 1000 + buckets}) for buckets in range(1, MANY + 1)],
        [sorted_by(buckets) for buckets in range(1, MANY + 1)],
        [statistics(id) for id in range(MANY)],
        [key(number) for number in range(MANY)],
        [
            {"action": "set-current-schema", "schema-id": number % 2}
            for number in range(1, MANY + 1)
        ],
    ],
    ids=lambda updates: updates[0]["action"],
)
def test_many_updates_of_one_commit_read_each_definition_once(
    monkeypatch: pytest.MonkeyPatch, updates: list[dict[str, Any]]
) -> None:
    """Their cost grows with their number, not with its square, also beside as many others."""
    others = [partitioned(1_000 + number) for number in range(MANY)]
    table = changed(None, [*NEW, add_schema(9_999), *others])
    reads = Reads(monkeypatch)
    changed(table, updates)
    assert reads.count <= 5 * MANY


def test_removing_and_adding_by_turns_reads_each_schema_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is known of those that stay is kept."""
    table = changed(None, [*NEW, *(add_schema(id) for id in range(2, MANY + 2))])
    by_turns: list[dict[str, Any]] = []
    for number in range(1, MANY + 1):
        by_turns += [
            {"action": "remove-schemas", "schema-ids": [number]},
            add_schema(10_000 + number),
        ]
    reads = Reads(monkeypatch)
    after = changed(table, by_turns)
    assert reads.count <= 5 * MANY
    assert [one.id for one in after.schemas] == [0, *range(MANY + 1, 2 * MANY + 1)]


def test_an_equal_definition_is_found_among_those_of_the_same_commit() -> None:
    """It is not added again, and is the one that was added last."""
    again = [add_schema(2), add_schema(3), add_schema(2)]
    after = changed(changed(None, NEW), [*again, {"action": "set-current-schema", "schema-id": -1}])
    assert [one.id for one in after.schemas] == [0, 1, 2]
    assert after.current_schema_id == 1


def test_a_partition_field_keeps_its_id_within_a_commit() -> None:
    """Two specs of one commit share the id of a field that both have, and no other."""
    both: dict[str, Any] = partitioned(4)
    both["spec"]["fields"].append({"source-id": 1, "name": "v", "transform": "truncate[2]"})
    after = changed(changed(None, NEW), [partitioned(4), both])
    ids = [[field["field-id"] for field in one.value["fields"]] for one in after.partition_specs]
    assert ids == [[], [1000], [1000, 1001]]


def test_partition_names_are_checked_against_the_schema_that_is_current_in_the_end() -> None:
    """A column of a partition's name is refused whatever came between."""
    table = changed(None, [*NEW, partitioned(4)])
    clash = schema(2)
    clash["fields"][1]["name"] = "b4"
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": clash},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    with pytest.raises(BadMetadata, match="sourced from different field"):
        changed(table, updates)
    back = [*updates, {"action": "set-current-schema", "schema-id": 0}]
    assert changed(table, back).current_schema_id == 0


def test_a_commit_of_too_many_updates_is_refused() -> None:
    """The answer says how many there may be."""
    many = [{"action": "set-properties", "updates": {}}] * (TABLE_UPDATES_MAX + 1)
    with pytest.raises(BadRequest, match="10,001 updates") as refused:
        decode_updates(json.dumps(many).encode())
    assert (refused.value.why, refused.value.fix) == (
        "one commit may have 10,000 at most",
        "Send them in several commits",
    )
    assert len(decode_updates(json.dumps(many[1:]).encode())) == TABLE_UPDATES_MAX


def test_snapshots_that_are_removed_one_by_one_count_as_one_update() -> None:
    """Older clients send an update for each, and expire as many as they like."""
    many = [{"action": "remove-snapshots", "snapshot-ids": [id]} for id in range(20_000)]
    [folded] = decode_updates(json.dumps(many).encode())
    assert folded == RemoveSnapshots(list(range(20_000)))


def test_a_view_takes_fewer_updates() -> None:
    """Clients change a view with three."""
    many = [{"action": "set-properties", "updates": {"k": "v"}}] * (VIEW_UPDATES_MAX + 1)
    with pytest.raises(BadRequest, match="1,001 updates"):
        view_updates.apply(view(), many, now_ms=1)
    assert view_updates.apply(view(), many[1:], now_ms=1).properties["k"] == "v"


def test_the_keys_of_another_array_are_read_anew() -> None:
    """What is known of one array says nothing of the next."""
    known, one = json_arrays.KnownElements[int](), JsonArray.of([b"1", b"2"])
    read = [0]

    def keys(array: JsonArray) -> list[int]:
        read[0] += 1
        return array.read(int, "numbers")

    assert known.keys(one, keys) == {1, 2}
    longer = known.added(one.appended(b"3"), 3)
    assert known.keys(longer, keys) == {1, 2, 3}
    assert known.keys(JsonArray.of([b"7"]), keys) == {7}
    assert read == [2]
