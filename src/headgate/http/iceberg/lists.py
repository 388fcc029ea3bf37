"""Answers that are lists: encoded piece by piece, as a list without pages may be long."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from headgate.catalog.paging import Page
from headgate.http.request import JSON_CONTENT, Response
from headgate.limits import LIST_CHUNK_ENTRIES
from headgate.model.names import Identifier, Levels

T = TypeVar("T")
Encode = Callable[[Sequence[T]], bytes]
"""Some entries as JSON, with commas between them."""

_encode = msgspec.json.Encoder().encode


async def list_response(member: str, page: Page[T], encode: Encode[T]) -> Response:
    """A page as a JSON object that has the entries in this member."""
    body, entries = [b'{"%s":[' % member.encode()], page.entries
    for start in range(0, len(entries), LIST_CHUNK_ENTRIES):
        if start:
            body.append(b",")
            await asyncio.sleep(0)  # others have their turn
        body.append(encode(entries[start : start + LIST_CHUNK_ENTRIES]))
    body.append(b'],"next-page-token":%s}' % _encode(page.next))
    return Response(200, body, [JSON_CONTENT])


def arrays(entries: Sequence[Levels]) -> bytes:
    """Paths."""
    return _encode(entries)[1:-1]


def identifiers_in(namespace: Levels) -> Encode[Identifier]:
    """Identifiers that differ in their names only: the rest is encoded once."""
    before = b'{"namespace":%s,"name":' % _encode(namespace)
    between = b"}," + before

    def encode(entries: Sequence[Identifier]) -> bytes:
        return before + between.join([_encode(one.name) for one in entries]) + b"}"

    return encode
