"""How far a table has come, by what its metadata says."""

from typing import Any

import pytest

from headgate.errors import BadName
from headgate.pipelines.appends import POSITION, Reached, reached_of, schema_levels


def snapshot(id: int, parent: int | None = None, position: str = "") -> dict[str, Any]:
    summary = {"operation": "append"} | ({POSITION: position} if position else {})
    return {"snapshot-id": id, "summary": summary} | (
        {"parent-snapshot-id": parent} if parent else {}
    )


def metadata(current: int | None, *snapshots: dict[str, Any]) -> dict[str, Any]:
    return {"current-snapshot-id": current, "snapshots": list(snapshots)}


def test_a_new_table_has_come_nowhere() -> None:
    """Without a snapshot there is no position, and none is lost."""
    for current in (None, -1):
        assert reached_of(metadata(current)) == Reached()
    assert not Reached().is_lost


def test_the_current_snapshot_knows_the_position() -> None:
    """That of an earlier one is passed."""
    found = reached_of(metadata(2, snapshot(1, position="a"), snapshot(2, 1, "b")))

    assert found == Reached(2, "b")


def test_snapshots_of_others_are_looked_through() -> None:
    """A compaction does not know the position; the append before it does."""
    found = reached_of(metadata(3, snapshot(1, position="a"), snapshot(2, 1), snapshot(3, 2)))

    assert found == Reached(3, "a")


def test_a_rolled_back_append_is_not_counted() -> None:
    """Only what the current state came from counts."""
    assert reached_of(metadata(1, snapshot(1, position="a"), snapshot(2, 1, "b"))) == Reached(
        1, "a"
    )


def test_a_position_whose_snapshot_has_expired_is_lost() -> None:
    """There are rows, and nobody knows how far they go."""
    found = reached_of(metadata(3, snapshot(3, 2)))

    assert found == Reached(3)
    assert found.is_lost


def test_a_schema_may_have_levels() -> None:
    """They are joined by dots, and none is empty."""
    assert schema_levels("a.b") == ("a", "b")
    for text in ("", "a..b", ".a"):
        with pytest.raises(BadName):
            schema_levels(text)
