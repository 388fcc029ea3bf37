"""`python -m benchmarks.rest.bound SIZE`: the least an ASGI application can do, behind our server.

It has the headers that a table is answered with, and a body of the same size.
"""

import sys
from collections.abc import Sequence
from typing import Self

from headgate.clock import SystemClock
from headgate.server.process import Message, Receive, Send
from headgate.server.serving import serve

HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"content-type", b"application/json"),
    (b"etag", b'"1234567890abcdefa"'),
    (b"vary", b"accept-encoding"),
    (b"x-content-type-options", b"nosniff"),
    (b"server", b"http"),
    (b"x-request-id", b"0123456789abcdef-12345"),
)


class Constant:
    """Answers every request alike."""

    clients = frozenset[tuple[str, str]]()

    def __init__(self, size: int) -> None:
        self._start = {"type": "http.response.start", "status": 200, "headers": HEADERS}
        self._body = {"type": "http.response.body", "body": bytes(size)}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await send(self._start)
        await send(self._body)

    def hurry(self) -> None: ...


def main(size: int) -> None:
    serve(
        lambda _: Constant(size),
        host="127.0.0.1",
        port=0,
        processes=1,
        ready=lambda url: print(f"headgate ready on {url}", flush=True),
        clock=SystemClock(),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
