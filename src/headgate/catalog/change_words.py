"""The words in which changes are asked for: one that nobody knows would find nothing, for ever."""

import difflib
from collections.abc import Sequence

from headgate.errors import BadRequest

KINDS = (
    "table",
    "view",
    "function",
    "namespace",
    "catalog",
    "metalake",
    "user",
    "group",
    "role",
    "identity",
    "identity-group",
    "secret",
    "token",
    "signing-key",
)
"""Of all that changes are told of."""
WORD_CHARS = 80  # of what is unknown, that are looked at and shown


def check_kind(kind: str) -> None:
    """Refuse a kind that no change has."""
    check_word("kind", kind, KINDS)


def check_word(what: str, word: str, known: Sequence[str]) -> None:
    """Refuse a word that is none of these, with the one that may have been meant."""
    if word in known:
        return
    word = word[:WORD_CHARS]
    nearest = difflib.get_close_matches(word.lower(), known, n=1)
    meant = f"; the nearest known one is {nearest[0]!r}" if nearest else ""
    raise BadRequest(
        "Cannot read the changes",
        why=f"there is no {what} {word!r}{meant}",
        fix=f"Use one of {', '.join(known)}",
    )
