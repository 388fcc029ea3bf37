"""What the notes of commits become in the change log."""

from typing import Any

import pytest

from headgate.catalog.change_records import Change, records_of
from headgate.ids import EPOCH_MS, make
from headgate.kernel.log import Commit, Group
from headgate.kernel.system import SYSTEM_REALM

ID = make(EPOCH_MS + 5, 0, 0)


def records(*notes: object, realm: str = "17") -> list[tuple[str, Change]]:
    groups = [Group(note, b"", []) for note in notes]
    return records_of(Commit(ID, 3, realm, "catalogs", EPOCH_MS + 5, 0, groups, []))


def only(note: object) -> tuple[str, Change]:
    [record] = records(note, realm=SYSTEM_REALM)
    return record


def test_a_note_becomes_a_record() -> None:
    """With its commit, its place in the log, and all that is noted besides."""
    note = {"do": "grant", "kind": "role", "name": ["r"], "by": "eve", "rights": ["use_catalog"]}

    assert records(note) == [
        (
            "17",
            Change(
                position="17/catalogs/3.1",
                commit=str(ID),
                time_ms=EPOCH_MS + 5,
                do="grant",
                kind="role",
                name=("r",),
                by="eve",
                details={"rights": ["use_catalog"]},
            ),
        )
    ]


def test_records_of_a_commit_are_told_apart() -> None:
    """Several callers may share a commit; what notes nothing is no operation."""
    note = {"do": "create", "kind": "user", "name": ["u"], "by": "eve"}
    found = [change.position for _, change in records(note, None, note, "a note of somebody else")]

    assert found == ["17/catalogs/3.1", "17/catalogs/3.2"]


@pytest.mark.parametrize(
    ("note", "do"),
    [
        ({"state": "CREATED"}, "create"),
        ({"state": "ACTIVE", "was": "INACTIVE"}, "enable"),
        ({"state": "ACTIVE"}, "enable"),
        ({"state": "INACTIVE", "was": "ACTIVE"}, "disable"),
        ({"state": "PURGING", "was": "INACTIVE"}, "purge"),
    ],
)
def test_states_of_a_realm_are_what_was_done_to_a_metalake(note: dict[str, str], do: str) -> None:
    """Each belongs to the realm that it is about."""
    realm, change = only({"realm": "demo", "id": "18", **note, "by": "eve"})

    assert (realm, change.do, change.kind, change.name) == ("18", do, "metalake", ("demo",))
    assert (change.metalake, change.by) == ("demo", "eve")


@pytest.mark.parametrize(
    "note",
    [
        {"state": "INITIALIZING", "was": "CREATED"},
        {"state": "ACTIVE", "was": "INITIALIZING"},
        {"state": "PURGED", "was": "PURGING"},
        {"state": "deleted"},
    ],
)
def test_steps_of_an_operation_are_no_records(note: dict[str, str]) -> None:
    """One operation, one record."""
    assert records({"realm": "demo", "id": "18", **note}, realm=SYSTEM_REALM) == []


def test_a_renamed_metalake_belongs_to_itself() -> None:
    """And not to the system that lists it."""
    note = {"do": "rename", "kind": "metalake", "name": ["a"], "id": "18", "to": ["b"], "by": ""}
    realm, change = only(note)

    assert (realm, change.name, change.to) == ("18", ("a",), ("b",))


def test_older_words_are_understood() -> None:
    """A store may be older than this program."""
    note: dict[str, Any] = {"do": "delete", "kind": "catalog", "name": ["c"], "by": "eve"}

    assert only(note)[1].do == "drop"
