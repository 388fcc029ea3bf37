"""Walks through indexes that may be long: others have their turn now and then."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from headgate.catalog.entities import Entry, decode_entry
from headgate.catalog.naming import ROOT, key_of
from headgate.catalog.stored_names import NAMES
from headgate.kernel.index import HeadView
from headgate.limits import LIST_CHUNK_ENTRIES

T = TypeVar("T")


async def names_in(head: HeadView, group: bytes) -> AsyncIterator[tuple[str, Entry]]:
    """All names of a group that have no parent, in order."""
    prefix = key_of(ROOT, group, "")
    async for key, value in unhurried(head.index(NAMES).prefix(prefix)):
        yield key[len(prefix) :].decode(), decode_entry(value)


async def unhurried(entries: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same entries, with a pause after each chunk of them."""
    read = 0
    async for entry in entries:
        yield entry
        read += 1
        if read % LIST_CHUNK_ENTRIES == 0:
            await asyncio.sleep(0)
