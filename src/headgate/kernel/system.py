"""Names that the kernel itself uses, and the rules for all others."""

import re

from headgate.errors import BadName
from headgate.limits import (
    INDEX_NAME_CHARS_MAX,
    POINTER_NAME_CHARS_MAX,
    REALM_ID_CHARS_MAX,
    REALM_NAME_BYTES_MAX,
)

SYSTEM_REALM = "::system::"
REALMS = "realms"
REALM_POINTERS = (
    "root",
    "catalogs",
    "principals",
    "principal-roles",
    "grants",
    "immediate-tasks",
    "policy-mappings",
)

_REALM_ID = re.compile(r"[A-Za-z0-9_-]+")
_WORD = re.compile(r"[a-z][a-z0-9_-]*")
_POINTER_NAME = re.compile(r"[a-z][a-z0-9-]*(/[A-Za-z0-9_-]+)*")


def check_pointer_name(name: str) -> None:
    """A pointer name is a path of words: "grants", "cat/17/heads/main"."""
    if not _POINTER_NAME.fullmatch(name) or len(name) > POINTER_NAME_CHARS_MAX:
        raise BadName(
            f"{name!r} is no pointer name",
            why=f"it must be words of a-z, 0-9, - joined by /, {POINTER_NAME_CHARS_MAX} at most",
            fix="Choose a name like cat/17/heads/main",
        )


def check_index_name(name: str) -> None:
    """The name of an index or a mark is a word: "names", "purge-due"."""
    if not _WORD.fullmatch(name) or len(name) > INDEX_NAME_CHARS_MAX:
        raise BadName(
            f"{name!r} is no name of an index or a mark",
            why=f"it must be 1 to {INDEX_NAME_CHARS_MAX} characters of a-z, 0-9, - and _",
            fix="Choose a name like purge-due",
        )


def check_realm_id(id: str) -> None:
    """The id of a realm is letters, digits, - and _."""
    if not _REALM_ID.fullmatch(id) or len(id) > REALM_ID_CHARS_MAX:
        raise BadName(
            f"{id!r} is no realm id",
            why=f"it must be 1 to {REALM_ID_CHARS_MAX} letters, digits, - and _",
            fix="`headgate realm list` shows the ids",
        )


def check_realm_name(name: str) -> None:
    """A realm name is any printable text that is not reserved for the system."""
    why = ""
    if not name or name != name.strip():
        why = "it is empty or has blanks at its ends"
    elif name.startswith("::"):
        why = "names that begin with :: are reserved for the system"
    elif not name.isprintable():
        why = "it has characters that cannot be printed"
    elif len(name.encode()) > REALM_NAME_BYTES_MAX:
        why = f"it is longer than {REALM_NAME_BYTES_MAX} bytes"
    if why:
        raise BadName(f"{name!r} is no realm name", why=why, fix="Choose another name")
