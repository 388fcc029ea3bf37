"""Names of catalogs, namespaces and what they hold."""

import re
import unicodedata
from typing import NamedTuple

from headgate.errors import BadName
from headgate.limits import NAME_BYTES_MAX, NAMESPACE_LEVELS_MAX

Levels = tuple[str, ...]
"""The path of a namespace, outermost first; empty for the catalog itself."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTOR = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


class Identifier(NamedTuple):
    """A table, view or function: its namespace and its name."""

    namespace: Levels
    name: str

    def __str__(self) -> str:
        return dotted((*self.namespace, self.name))


def dotted(levels: Levels) -> str:
    """A path as messages show it. Not reversible: dots inside a level stay as they are."""
    return ".".join(levels)


def check_levels(levels: Levels) -> None:
    """A namespace has at least one level, not too many, and each is a name."""
    if not levels:
        raise BadName("Invalid namespace: it is empty", fix="Name at least one level")
    if len(levels) > NAMESPACE_LEVELS_MAX:
        raise BadName(
            f"Invalid namespace: {dotted(levels[:3])}…",
            why=f"it has {len(levels)} levels, allowed are {NAMESPACE_LEVELS_MAX}",
            fix="Use fewer levels",
        )
    for level in levels:
        check_name(level)


def check_name(name: str) -> None:
    """A name is any text of printable characters and blanks, of limited length."""
    why = ""
    if not name:
        why = "it is empty"
    elif any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in name):
        why = "it has control characters"
    elif any(0xD800 <= ord(char) < 0xE000 for char in name):
        why = "it is not valid Unicode"
    elif len(name.encode()) > NAME_BYTES_MAX:
        why = f"it is longer than {NAME_BYTES_MAX} bytes"
    elif name in {".", ".."}:
        why = "it means a directory"
    if why:
        raise BadName(f"Invalid name: {name[:80]!r}", why=why, fix="Choose another name")


def check_principal_name(name: str) -> None:
    """The name of a new user, group or role: one that shows all of its characters.

    Those that were stored before stay as they are: they can be read and removed.
    """
    check_name(name)
    hidden = next((char for char in name if is_hidden(char)), None)
    if hidden is not None:
        raise BadName(
            f"Invalid name: {name[:80]!r}",
            why=f"it has a character that is not shown, U+{ord(hidden):04X}, so that it could be "
            "taken for another name",
            fix="Leave that character out",
        )


def is_hidden(char: str) -> bool:
    """Whether a character is not shown, or changes how others are: controls, zero-width and
    bidirectional marks, separators of lines, fillers and variation selectors."""
    return unicodedata.category(char) in _HIDDEN or char in _FILLERS or bool(_SELECTOR.match(char))
