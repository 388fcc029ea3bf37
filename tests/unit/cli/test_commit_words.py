"""Commits as people and scripts read them."""

from typing import Any

import pytest

from headgate.catalog.change_records import Change
from headgate.catalog.naming import FUNCTIONS, NAMESPACES, RELATIONS, ROOT, key_of
from headgate.cli.commit_words import described, in_words, sentence, sentence_of_change
from headgate.kernel.log import Commit, Entry, Group

HEAD = "cat/7/heads/main"
ID = 226568840654225408


def commit(
    *entries: Entry, pointer: str = HEAD, note: object = None, operation: bytes = b""
) -> Commit:
    return Commit(
        1, 2, "r", pointer, 1_740_787_200_007, 3, [Group(note, operation, [*entries])], []
    )


def group_of(commit: Commit) -> Any:
    """The only group, for scripts."""
    groups: Any = described(commit)["groups"]
    [group] = groups
    return group


def entry_of(index: str, key: bytes, pointer: str = HEAD) -> Any:
    [entry] = group_of(commit(Entry(index, key, "added"), pointer=pointer))["entries"]
    return entry


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (
            {"do": "create", "kind": "table", "name": [["a", "b"], "t"], "by": "eve"},
            "table a.b.t was created by eve",
        ),
        ({"do": "alter", "kind": "catalog", "name": ["main"]}, "catalog main was altered"),
        (
            {"do": "rename", "kind": "view", "name": [["a"], "v"], "to": [["b"], "w"], "by": "eve"},
            "view a.v was renamed to b.w by eve",
        ),
        ({"do": "polish", "kind": "namespace", "name": ["a"]}, "namespace a was polish"),
        (
            {
                "do": "transaction",
                "by": "eve",
                "changes": [
                    {"do": "alter", "kind": "table", "name": [["a"], "t"]},
                    {"do": "create", "kind": "table", "name": [["a"], "u"]},
                ],
            },
            "in one transaction by eve: table a.t was altered; table a.u was created",
        ),
        ({"do": "grant", "kind": "role", "name": ["r"]}, "role r was given rights"),
        ({"do": "set-owner", "kind": "table", "name": ["a", "t"]}, "table a.t was given an owner"),
        ({"realm": "demo", "id": "1", "state": "ACTIVE"}, "realm demo is ACTIVE"),
        ({"do": 1}, '{"do":1}'),
        (["anything"], '["anything"]'),
    ],
)
def test_notes_are_sentences(note: object, words: str) -> None:
    """Those of catalogs and realms; what others noted is shown as it is."""
    assert in_words(note) == words


@pytest.mark.parametrize(
    ("group", "word"),
    [(NAMESPACES, "namespace"), (RELATIONS, "table or view"), (FUNCTIONS, "function")],
)
def test_names_are_told_apart(group: bytes, word: str) -> None:
    """A key in the name index is a parent, a letter and a name."""
    inside = Entry("names", key_of(ID, group, "é/1"), "added")
    outside = Entry("names", key_of(ROOT, group, "x"), "removed")

    assert entry_of("names", inside.key) == {
        "index": "names",
        "kind": "added",
        "key": "é/1",
        "names": word,
        "parent": str(ID),
    }
    lines = sentence(commit(inside, outside), "demo").splitlines()
    assert lines[1:] == [f"    added    names  {word} é/1 in {ID}", f"    removed  names  {word} x"]


def test_ids_in_keys_are_numbers() -> None:
    """Those of purges and reports."""
    id = ID.to_bytes(8, "big")

    assert entry_of("purge", id)["key"] == str(ID)
    assert entry_of("reports", id + id)["key"] == f"{ID}\0{ID}"
    assert sentence(commit(Entry("reports", id + id, "added")), "demo").endswith(f" {ID}/{ID}")


@pytest.mark.parametrize("pointer", ["realms", "catalogue"])
def test_keys_of_others_are_text(pointer: str) -> None:
    """Only pointers of catalogs have keys with ids; bytes that are no text are escaped."""
    assert entry_of("names", b"12345678names", pointer)["key"] == "12345678names"
    assert entry_of("names", b"a\xff", pointer)["key"] == "a\\xff"
    assert entry_of("locations", b"file\0\0a\0")["key"] == "file\0\0a\0"


def test_an_idempotency_key_is_a_uuid() -> None:
    """As the client sent it; other operations are text."""
    ours = group_of(commit(operation=bytes(range(16))))
    other = group_of(commit(operation=b"x" * 16, pointer="p"))

    assert ours["operation"] == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert other["operation"] == "x" * 16


def test_nothing_in_a_commit_drives_a_terminal() -> None:
    """Names and notes may hold anything."""
    odd = Entry("names", key_of(ROOT, NAMESPACES, "\x1b[31m"), "added")
    note = {"do": "create", "kind": "namespace", "name": ["\x1b[31m"], "by": "\x1b"}

    assert "\x1b" not in sentence(commit(odd, note=note), "\x1b")


def test_a_change_is_one_line() -> None:
    """With all that is noted of it, whatever is in a name."""
    change = Change(
        *("17/grants/1.1", "5", 1_740_787_200_007, "revoke", "user", ("a\nb",), "demo"),
        by="eve",
        details={"roles": ["r"]},
    )

    assert sentence_of_change(change) == (
        '2025-03-01T00:00:00.007Z  demo  user a\\nb was stripped of rights by eve: {"roles":["r"]}'
    )


def test_a_change_that_belongs_to_no_metalake_is_the_systems() -> None:
    """Identities are known in all of them."""
    change = Change("::system::/identities/1.1", "5", 0, "create", "identity", ("ann",))

    assert sentence_of_change(change).split("  ")[1:] == ["system", "identity ann was created"]
