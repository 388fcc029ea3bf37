"""Sends responses: large bodies in pieces, and the headers that every response has."""

import asyncio
from collections.abc import Awaitable, Callable

from headgate.http.long_bodies import LongBody
from headgate.http.request import Message
from headgate.http.standing import Answer
from headgate.limits import SENT_AT_ONCE_BYTES

Send = Callable[[Message], Awaitable[None]]
FIXED_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"server", b"http"))
"""Of every response. Without a name for itself the server would give away its software."""


async def send_answer(answer: Answer, id: str, send: Send) -> None:
    """Send a response under the id of its request."""
    headers = [*answer.headers, *FIXED_HEADERS, (b"x-request-id", id.encode())]
    body = answer.body
    start: Message = {"type": "http.response.start", "status": answer.status, "headers": headers}
    if len(body) > SENT_AT_ONCE_BYTES:
        headers.append((b"content-length", str(len(body)).encode()))
        await send(start)
        for piece in (LongBody([body]) if isinstance(body, bytes) else body).pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)  # a server that takes it at once lets nobody else have a turn
        body = b""
    else:
        await send(start)
    await send({"type": "http.response.body", "body": body})


def joined(given: bytes | list[bytes]) -> bytes | LongBody:
    """The body of a response as it is sent: one piece unless that is too large."""
    if isinstance(given, bytes):
        return given
    return LongBody(given) if sum(map(len, given)) > SENT_AT_ONCE_BYTES else b"".join(given)
