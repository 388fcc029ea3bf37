"""Names in URLs: how a namespace, a table or a view is written there, and read back.

Clients differ. Java encodes each level as a form does (a space is `+`, a plus `%2B`) and joins the
levels with the separator exactly as /v1/config advertises it: `a+b%3Ac`. pyiceberg encodes a space
as `%20` and joins with the plain separator: `a%20b:c`. Clients that know no separator but the
default one join with `%1F`, whatever is advertised. All of these mean the same here.

A separator may thus come in any encoding, so that `%3A` inside of a level cannot be told from one:
names must not contain their catalog's separator (`separators.check_level_in_nested`). A catalog
whose names may contain anything uses UNIT_SEPARATOR, which no name contains.
"""

import re
from urllib.parse import quote, unquote_to_bytes

from headgate.errors import BadRequest
from headgate.model.names import Levels

UNIT_SEPARATOR = "\x1f"
"""What every client can send, also when another separator is advertised."""

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def levels_of(encoded: str, separator: str) -> Levels:
    """The levels of a namespace in a path, or in the query's `parent`, as it came over the wire.

    Empty text is the catalog itself. Decoding comes before splitting, so that a separator may come
    in any encoding.
    """
    if not encoded:
        return ()
    text = unquote_segment(encoded)
    # A client that joins with %1F does not know the other separator, so that one splits nothing.
    return tuple(text.split(UNIT_SEPARATOR if UNIT_SEPARATOR in text else separator))


def unquote_segment(encoded: str) -> str:
    """One name, as it came over the wire."""
    if encoded.isascii() and "%" not in encoded and "+" not in encoded:
        return encoded
    if broken := _BROKEN_ESCAPE.search(encoded):
        escape = encoded[broken.start() : broken.start() + 3]
        raise _not_a_name(encoded, f"{escape!r} is not an escape")
    try:
        return unquote_to_bytes(encoded.replace("+", " ")).decode()
    except UnicodeError:
        raise _not_a_name(encoded, "it is not UTF-8") from None


def unquoted_again(levels: Levels) -> Levels | None:
    """The levels that pyiceberg may have meant, None if it can have meant none but these.

    It encodes `parent` twice, which shows only in names that need escapes. As such a name may also
    be what its client wrote, this is for a second look-up after the first one found nothing.
    """
    if not any("%" in level for level in levels):
        return None
    try:
        # Its first encoding writes a space as %20, so that a plus is a plus.
        again = tuple(unquote_segment(level.replace("+", "%2B")) for level in levels)
    except BadRequest:
        return None
    return again if again != levels else None


def encoded(levels: Levels, separator: str) -> str:
    """A namespace for a URL, in a form that every decoder reads alike."""
    return advertised(separator).join(quote(level, safe="") for level in levels)


def advertised(separator: str) -> str:
    """The separator as /v1/config names it to clients (`namespace-separator`)."""
    return quote(separator, safe="")


def _not_a_name(encoded: str, why: str) -> BadRequest:
    return BadRequest(
        f"Cannot decode the name {encoded[:80]!a}",
        why=why,
        fix="Percent-encode the name's UTF-8 bytes",
    )
