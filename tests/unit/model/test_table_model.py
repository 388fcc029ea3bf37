"""Random commits on a table against a simple model of it."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from hypothesis import event, given
from hypothesis import strategies as st

from headgate.errors import BadMetadata, RequirementFailed
from headgate.model.table_metadata import TableMetadata, encode, parse
from tests.unit.model import table_model
from tests.unit.model.table_model import Document, Refused, Stale, Update
from tests.unit.model.tables import LOCATION, SCHEMA, WIDER, commit, document, table

T = TypeVar("T")
FIELDS = SCHEMA["fields"]
SCHEMAS = [
    SCHEMA,
    WIDER,
    {**SCHEMA, "fields": FIELDS[:2]},
    {**SCHEMA, "fields": [FIELDS[0], FIELDS[2]]},
]
SPECS = [
    [],
    [{"source-id": 3, "name": "ts_day", "transform": "day"}],
    [{"source-id": 1, "name": "id_bucket", "transform": "bucket[4]"}],
]
ORDERS = [
    [],
    [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-last"}],
    [{"transform": "identity", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}],
]
IDS = st.integers(1, 6)
NUMBERS = st.integers(-1, 3)
NAMES = st.sampled_from(["main", "main", "side", "label"])
LIMIT = "write.metadata.previous-versions-max"


def action(name: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Update]:
    wire = {member.replace("_", "-"): strategy for member, strategy in members.items()}
    return st.fixed_dictionaries({"action": st.just(name), **wire})


def statistics(id: int) -> dict[str, Any]:
    sizes = {"file-size-in-bytes": 2, "file-footer-size-in-bytes": 1}
    return {"snapshot-id": id, "statistics-path": f"s{id}", **sizes, "blob-metadata": []}


def append(snapshot: Update, name: str) -> list[Update]:
    head = {"action": "set-snapshot-ref", "ref-name": name, "type": "branch"}
    return [snapshot, {**head, "snapshot-id": snapshot["id"]}]


SNAPSHOTS = st.fixed_dictionaries(
    {
        "action": st.just("add-snapshot"),
        "id": IDS,
        "is-child": st.booleans(),
        "number": st.sampled_from([1, 1, 1, 0, 3]),
        "row": st.sampled_from([0, 0, 0, 5, -1, None]),
    }
)
UPDATES = st.one_of(
    SNAPSHOTS,
    action("set-snapshot-ref", ref_name=NAMES, snapshot_id=IDS, type=st.just("branch")),
    action("set-snapshot-ref", ref_name=NAMES, snapshot_id=IDS, type=st.just("tag")),
    action("remove-snapshot-ref", ref_name=NAMES),
    action("remove-snapshots", snapshot_ids=st.lists(IDS, max_size=2)),
    action("add-schema", schema=st.sampled_from(SCHEMAS)),
    action("set-current-schema", schema_id=NUMBERS),
    action("remove-schemas", schema_ids=st.lists(st.integers(0, 3), max_size=2)),
    action("add-spec", spec=st.sampled_from(SPECS).map(lambda fields: {"fields": fields})),
    action("set-default-spec", spec_id=NUMBERS),
    action("remove-partition-specs", spec_ids=st.lists(st.integers(0, 3), max_size=2)),
    action("add-sort-order", sort_order=st.sampled_from(ORDERS).map(lambda f: {"fields": f})),
    action("set-default-sort-order", sort_order_id=NUMBERS),
    action("upgrade-format-version", format_version=st.integers(1, 4)),
    action("set-properties", updates=st.dictionaries(st.sampled_from("abc"), st.just("1"))),
    action("set-properties", updates=st.sampled_from("123").map(lambda limit: {LIMIT: limit})),
    action("remove-properties", removals=st.lists(st.sampled_from("abc"), max_size=2)),
    action("set-location", location=st.sampled_from([LOCATION, "s3://b/", "s3://c"])),
    action("set-statistics", statistics=IDS.map(statistics)),
    action("remove-statistics", snapshot_id=IDS),
)
STEPS = st.one_of(
    st.builds(append, SNAPSHOTS, NAMES),
    st.builds(append, SNAPSHOTS, NAMES),
    UPDATES.map(lambda update: [update]),
)


def as_sent(drawn: Update, doc: Document, now_ms: int) -> Update:
    """An update as a client would write it who has seen this version of the table."""
    if drawn["action"] != "add-snapshot":
        return drawn
    snapshot = {
        "snapshot-id": drawn["id"],
        "timestamp-ms": now_ms - 7,
        "manifest-list": "m",
        "summary": {"operation": "append"},
    }
    if doc["format-version"] > 1:
        snapshot["sequence-number"] = doc["last-sequence-number"] + drawn["number"]
    if drawn["is-child"]:
        snapshot["parent-snapshot-id"] = max(doc["current-snapshot-id"] or 1, 1)
    if drawn["row"] is not None:
        rows = {"first-row-id": doc.get("next-row-id", 0) + drawn["row"], "added-rows": 10}
        snapshot |= rows
    return {"action": "add-snapshot", "snapshot": snapshot}


def outcome(attempt: Callable[..., T], *arguments: Any) -> T | str:
    try:
        return attempt(*arguments)
    except (Refused, BadMetadata):
        return "refused"
    except (Stale, RequirementFailed):
        return "stale"


@given(st.integers(1, 3), st.lists(st.lists(STEPS, max_size=4), min_size=1, max_size=12))
def test_commits_do_what_the_model_does(version: int, commits: list[list[list[Update]]]) -> None:
    """The same documents, the same refusals, and nothing changed by what was refused."""
    metadata = table(version)
    doc = document(metadata)
    for number, drawn in enumerate(commits):
        now_ms, file = metadata.last_updated_ms + 100, f"{number}.metadata.json"
        updates = [as_sent(update, doc, now_ms) for step in drawn for update in step]
        expected = outcome(table_model.committed, doc, updates, now_ms, file)
        after = outcome(partial(commit, now_ms=now_ms, previous=file), metadata, *updates)
        if not isinstance(after, TableMetadata):
            event(after)
            assert after == expected
            assert document(metadata) == doc
            continue

        assert document(after) == expected
        assert (after is metadata) == (expected is doc)
        assert parse(encode(after)) == after
        event("unchanged" if after is metadata else "changed")
        metadata, doc = after, document(after)
