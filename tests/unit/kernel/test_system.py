"""Names: which ones can be used, and which belong to the system."""

import pytest

from headgate.errors import BadName
from headgate.kernel.system import (
    REALM_POINTERS,
    REALMS,
    SYSTEM_REALM,
    check_index_name,
    check_pointer_name,
    check_realm_name,
)
from headgate.limits import INDEX_NAME_CHARS_MAX, POINTER_NAME_CHARS_MAX, REALM_NAME_BYTES_MAX


@pytest.mark.parametrize(
    "name", ["a", "cat/17/heads/main", "a-1", "a/B_c-D", "a" * POINTER_NAME_CHARS_MAX]
)
def test_paths_of_words_are_pointer_names(name: str) -> None:
    """Up to the limit of their length."""
    check_pointer_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "1",
        "/a",
        "a/",
        "a//b",
        "a b",
        "a\n",
        "ä",
        "::a",
        "a" * (POINTER_NAME_CHARS_MAX + 1),
    ],
)
def test_other_pointer_names_are_refused(name: str) -> None:
    """The error says what a name may look like."""
    with pytest.raises(BadName, match=r"Choose a name like cat/17/heads/main"):
        check_pointer_name(name)


@pytest.mark.parametrize("name", ["a", "names", "purge-due", "a_1", "a" * INDEX_NAME_CHARS_MAX])
def test_words_are_index_names(name: str) -> None:
    """Up to the limit of their length."""
    check_index_name(name)


@pytest.mark.parametrize("name", ["", "A", "1", "a/b", "a\n", "a" * (INDEX_NAME_CHARS_MAX + 1)])
def test_other_index_names_are_refused(name: str) -> None:
    """The error says what a name may look like."""
    with pytest.raises(BadName, match="is no name of an index"):
        check_index_name(name)


@pytest.mark.parametrize("name", ["a", "Über uns", ":a", "日本", "x" * REALM_NAME_BYTES_MAX])
def test_printable_texts_are_realm_names(name: str) -> None:
    """In any script, up to the limit in bytes."""
    check_realm_name(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        (" a", "blanks"),
        ("a ", "blanks"),
        (SYSTEM_REALM, "reserved"),
        ("::mine", "reserved"),
        ("a\0b", "printed"),
        ("a\ud800", "printed"),
        ("x" * (REALM_NAME_BYTES_MAX + 1), "longer than 512 bytes"),
        ("ü" * 257, "longer than 512 bytes"),
    ],
)
def test_other_realm_names_are_refused(name: str, why: str) -> None:
    """The error says which rule is broken."""
    with pytest.raises(BadName, match=why):
        check_realm_name(name)


def test_the_kernels_own_names_keep_the_rules() -> None:
    """All pointers of a realm, and that of the system, have valid names."""
    for name in (*REALM_POINTERS, REALMS):
        check_pointer_name(name)

    assert len(set(REALM_POINTERS)) == 7
