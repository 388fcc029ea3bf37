"""Pages of a list. A token names the last entry only: the next page is read from the present
state, under present rights."""

import asyncio
import base64
import binascii
from collections.abc import Callable
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from headgate.catalog.entities import Entry
from headgate.catalog.openings import Opened
from headgate.errors import BadRequest
from headgate.limits import LIST_CHUNK_ENTRIES, PAGE_ENTRIES_MAX

T = TypeVar("T")


class Paging(NamedTuple):
    """Where a page begins and how long it is; without a size the list comes whole."""

    after: str | None = None
    size: int | None = None


class Page(NamedTuple, Generic[T]):
    """Some entries of a list, and the token for those behind them."""

    entries: list[T]
    next: str | None


async def list_names(
    opened: Opened,
    parent: int,
    group: bytes,
    paging: Paging,
    pick: Callable[[str, Entry], T | None],
) -> Page[T]:
    """What is picked of the names below a parent. A long list is read in pieces: others wait."""
    most = None if paging.size is None else min(paging.size, PAGE_ENTRIES_MAX)
    found: list[T] = []
    last, after = "", paging.after
    while True:
        piece = await _read(opened, parent, group, after)
        for name, entry in piece:
            picked = pick(name, entry)
            if picked is None:
                continue
            if len(found) == most:
                return Page(found, encode_token(last))
            found.append(picked)
            last = name
        if len(piece) < LIST_CHUNK_ENTRIES:
            return Page(found, None)
        after = piece[-1][0]
        await asyncio.sleep(0)


async def _read(
    opened: Opened, parent: int, group: bytes, after: str | None
) -> list[tuple[str, Entry]]:
    return await opened.look(
        lambda names: list(islice(names.below(parent, group, after), LIST_CHUNK_ENTRIES))
    )


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
