"""Files that are nobody's orphans, whatever refers to them: those outside of a catalog's locations,
and those in a location that is reserved for something that no listing of the catalog shows."""

import asyncio
from collections.abc import Iterable, Sequence

from headgate.catalog.claimants import NOBODY, holder_of, staged_at
from headgate.catalog.naming import Readable, place_of
from headgate.catalog.openings import Opened
from headgate.catalog.stored_names import IDS, LOCATIONS
from headgate.errors import InvalidInput
from headgate.kernel.index import look
from headgate.limits import PATHS_PER_TURN
from headgate.model.locations import index_key
from headgate.purge.folders import parent_of

_STAGED = -1
"""Holds the locations of all tables that are staged: no id is negative."""


async def reserved_files(opened: Opened, paths: Sequence[str], now_ms: int) -> list[str]:
    """Those of these files that a caller who sees all tables and views of a catalog must not
    delete as orphans.

    A location is held by a table or view that is there, or else by a purge that is not over, a
    table that can come back, or one that is staged: then nothing in it is an orphan. What a table
    left that was dropped without a purge is.
    """
    found: list[str] = []
    for start in range(0, len(paths), PATHS_PER_TURN):
        found += await _reserved(opened, paths[start : start + PATHS_PER_TURN], now_ms)
        await asyncio.sleep(0)  # others have their turn
    return found


async def _reserved(opened: Opened, paths: Sequence[str], now_ms: int) -> list[str]:
    roots = tuple(map(index_key, opened.allowed_locations))
    keys = {path: key for path in paths if (key := _key(path)).startswith(roots)}
    held = await look(
        opened.head.index(LOCATIONS), lambda tree: _holders(tree, keys.values(), now_ms)
    )
    ids = set(held.values()) - {NOBODY}
    gone = await look(
        opened.head.index(IDS),
        lambda tree: {id for id in ids if id == _STAGED or place_of(tree, id) is None},
    )
    return [path for path in paths if path not in keys or held[keys[path]] in gone]


def _key(path: str) -> bytes:
    """The key of a location; that of nothing if it is none."""
    try:
        return index_key(path)
    except InvalidInput:
        return b""


def _holders(index: Readable, keys: Iterable[bytes], now_ms: int) -> dict[bytes, int]:
    """Who holds each of these files, or the nearest location around it."""
    known: dict[bytes, int] = {b"": NOBODY}
    for key in keys:
        around = [key]
        while around[-1] not in known:
            holder = index.get(around[-1])
            if holder is not None:
                known[around[-1]] = _holder(holder, now_ms)
            else:
                around.append(parent_of(around[-1]))
        known |= dict.fromkeys(around, known[around[-1]])
    return known


def _holder(value: bytes, now_ms: int) -> int:
    staged = staged_at(value)
    is_staged = staged is not None and staged.until_ms > now_ms
    return _STAGED if is_staged else holder_of(value)
