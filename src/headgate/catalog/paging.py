"""Pages of a list. A token names the last entry only: the next page is read from the present
state, under present rights."""

import base64
import binascii
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from headgate.errors import BadRequest
from headgate.limits import PAGE_ENTRIES_MAX

T = TypeVar("T")


class Paging(NamedTuple):
    """Where a page begins and how long it is; without a size the list comes whole."""

    after: str | None = None
    size: int | None = None


class Page(NamedTuple, Generic[T]):
    """Some entries of a list, and the token for those behind them."""

    entries: list[T]
    next: str | None


def one_page(entries: Iterable[tuple[str, T]], paging: Paging) -> Page[T]:
    """The first entries of a row that begins where the page begins."""
    found: list[T] = []
    last = ""
    for name, entry in entries:
        if paging.size is not None and len(found) >= min(paging.size, PAGE_ENTRIES_MAX):
            return Page(found, encode_token(last))
        found.append(entry)
        last = name
    return Page(found, None)


def encode_token(after: str) -> str:
    """The token of the page behind this name."""
    return base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")


def decode_token(token: str) -> str | None:
    """The name behind which a page begins; the empty token is the beginning."""
    if not token:
        return None
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise BadRequest(
            "Invalid pageToken", why="it was not given out here", fix="Begin with an empty one"
        ) from None
