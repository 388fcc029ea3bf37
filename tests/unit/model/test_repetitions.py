"""Commits that are sent again because their answer was lost."""

import json
from typing import Any

import pytest

from headgate.model.repetitions import is_repetition
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_requirements import decode_requirements
from headgate.model.table_updates import decode_updates
from tests.unit.model.tables import (
    add_snapshot,
    appended,
    commit,
    set_main,
    set_ref,
    table,
    with_snapshots,
)

BEFORE = with_snapshots(1)
APPEND = [add_snapshot(BEFORE, 2, future=[1]), set_main(2)]
MADE = commit(BEFORE, *APPEND)
UUID = {"type": "assert-table-uuid", "uuid": BEFORE.table_uuid}
OTHER = {"type": "assert-table-uuid", "uuid": "00000000-0000-4000-8000-000000000000"}
MAIN = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1}
CREATE = {"type": "assert-create"}


def repeated(
    metadata: TableMetadata, updates: list[dict[str, Any]], *requirements: dict[str, Any]
) -> bool:
    return is_repetition(
        metadata,
        decode_requirements(json.dumps(requirements).encode()),
        decode_updates(json.dumps(updates).encode()),
    )


@pytest.mark.parametrize("later", [MADE, appended(MADE, 3), appended(appended(MADE, 3), 4)])
def test_an_append_is_recognised_by_its_snapshot(later: TableMetadata) -> None:
    """Also when others have appended since."""
    assert repeated(later, APPEND, UUID, MAIN)


@pytest.mark.parametrize(
    "updates",
    [
        [],
        APPEND[1:],
        [add_snapshot(BEFORE, 2), set_main(2)],
        [*APPEND, add_snapshot(BEFORE, 9)],
        [{"action": "add-snapshot", "snapshot": {}}],
        [APPEND[0], set_ref("other", 2)],
        [APPEND[0], set_ref("main", 2, "tag")],
        [*APPEND, {"action": "set-properties", "updates": {"a": "1"}}],
        [*APPEND, {"action": "set-snapshot-ref", "ref-name": "b", "type": "tag", "snapshot-id": 1}],
        [*APPEND, {"action": "remove-snapshots", "snapshot-ids": [1]}],
        [*APPEND, {"action": "set-current-schema", "schema-id": 7}],
        [*APPEND, {"action": "upgrade-format-version", "format-version": 3}],
    ],
)
def test_what_is_not_all_there_was_not_made(updates: list[dict[str, Any]]) -> None:
    """Whatever it asks for besides its snapshots has to be in force too."""
    assert not repeated(MADE, updates, UUID)


def test_a_snapshot_that_no_branch_leads_to_is_not_an_append_that_was_made() -> None:
    """It was staged, or its branch was set back."""
    staged = commit(BEFORE, APPEND[0])

    assert not repeated(staged, APPEND, UUID, MAIN)
    assert not repeated(commit(MADE, set_main(1)), APPEND, UUID, MAIN)
    assert repeated(staged, APPEND[:1], UUID)


def test_a_property_that_is_set_along_has_to_be_set() -> None:
    """And it is no matter who set it."""
    along = {"action": "set-properties", "updates": {"a": "1"}}

    assert repeated(commit(BEFORE, *APPEND, along), [*APPEND, along], MAIN)
    assert not repeated(commit(MADE, along, {**along, "updates": {"a": "2"}}), [*APPEND, along])


def test_another_table_is_never_meant() -> None:
    """Whatever it holds."""
    assert not repeated(MADE, APPEND, OTHER)


def test_a_table_that_was_created_with_its_first_snapshot_is_recognised_by_its_identity() -> None:
    """Without one, another creator may have made it."""
    empty = table()
    first = [add_snapshot(empty, 1), set_main(1)]
    made = commit(empty, *first)
    identity = {"action": "assign-uuid", "uuid": made.table_uuid}

    assert repeated(made, [identity, *first], CREATE)
    assert not repeated(made, first, CREATE)
    assert not repeated(made, [{**identity, "uuid": OTHER["uuid"]}, *first], CREATE)
