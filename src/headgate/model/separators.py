"""The logical separator: which characters may be one, and which names may contain it."""

from collections.abc import Iterable
from enum import StrEnum

from headgate.errors import BadName, BadSetting, Conflict

DEFAULT = ":"
RESTRICTED = (":", ";", "$", "|", "~", "@", "!")
"""What governance `restricted` allows: rare in names, and harmless in URLs and in SQL."""

CLASHES_SHOWN = 20

# Each of these would be read as something else before anybody could take it for a separator.
_RESERVED = {
    ".": "it joins the segments of physical names",
    "/": "it joins the segments of URL paths",
    "%": "it begins an escape in URLs",
    "+": "it means a space in URLs",
    "?": "it begins the query of a URL",
    "#": "it begins the fragment of a URL",
    "\\": "some clients take it for a slash in URLs",
}


class Governance(StrEnum):
    """How free an operator is in the choice, and what a separator means where nothing is nested."""

    RESTRICTED = "restricted"
    UNRESTRICTED = "unrestricted"


def check_separator(text: str, governance: Governance) -> None:
    """To be asked at start-up, when the setting changes and before a catalog becomes nested."""
    if why := _unfit(text, governance):
        raise BadSetting(
            f"Separator {text[:20]!r} is not allowed", why=why, fix=_alternatives_to(text)
        )


def check_level_in_nested(level: str, separator: str) -> None:
    """In a nested catalog no level contains the separator as plain text."""
    if separator in level:
        raise BadName(
            f"Invalid name: {level[:80]!r}",
            why=f"it contains {separator!r}, which separates the levels of this catalog's schemas",
            fix="Name the levels one by one, or choose a name without it",
        )


def check_name_in_flat(name: str, separator: str, governance: Governance) -> None:
    """In a catalog without nesting a separator is plain text, unless governance reserves it."""
    if governance is Governance.RESTRICTED and separator in name:
        raise BadName(
            f"Invalid name: {name[:80]!r}",
            why=f"it contains {separator!r}, which is reserved for nested schemas, "
            "and this catalog's schemas are not nested",
            fix="Choose a name without it, or serve with "
            f"--set schema.separator-governance={Governance.UNRESTRICTED}",
        )


def check_names_for_nesting(names: Iterable[str], separator: str) -> None:
    """Before a catalog becomes nested: none of its schemas' names contains the separator."""
    clashes = sorted(name for name in names if separator in name)
    if not clashes:
        return
    shown = ", ".join(repr(name) for name in clashes[:CLASHES_SHOWN])
    more = f" and {len(clashes) - CLASHES_SHOWN} more" if len(clashes) > CLASHES_SHOWN else ""
    raise Conflict(
        f"Cannot enable nested schemas with the separator {separator!r}",
        why=f"{len(clashes)} schema names contain it: {shown}{more}",
        fix=f"Rename these schemas, or choose another separator. {_alternatives_to(separator)}",
    )


def _unfit(text: str, governance: Governance) -> str:
    """Why this cannot be a separator; empty if it can."""
    if len(text) != 1:
        return f"it must be exactly one character, and this has {len(text)}"
    if text in _RESERVED:
        return _RESERVED[text]
    if text.isalnum():
        return "letters and digits are what names and escapes (`%2A`) are made of"
    if not text.isprintable() or text.isspace():
        return "control characters and blanks cannot be seen"
    if governance is Governance.RESTRICTED and text not in RESTRICTED:
        return "the server allows only those of its list (governance `restricted`)"
    return ""


def _alternatives_to(separator: str) -> str:
    *others, last = (repr(other) for other in RESTRICTED if other != separator)
    return f"Try {', '.join(others)} or {last}"
