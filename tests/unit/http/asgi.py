"""Calls an ASGI application as a server would, without one."""

from typing import Any, NamedTuple

from headgate.http.front import Front
from headgate.http.request import Message


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    received: int  # how often the application asked for (more of) the body


async def ask(
    front: Front,
    method: str,
    target: str,
    *body: bytes,
    cut: bool = False,
    client: str = "",
    **headers: str,
) -> Answer:
    """Send a request, its body in these pieces, and then go away if it is `cut`."""
    path, _, query = target.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body:
        named.setdefault("transfer-encoding", "chunked")
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "client": (client, "1") if client else None,
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    pieces = [
        {"type": "http.request", "body": piece, "more_body": cut or at < len(body) - 1}
        for at, piece in enumerate(body)
    ]
    received = 0
    sent: list[Message] = []

    async def receive() -> Message:
        nonlocal received
        received += 1
        if received <= len(pieces):
            return pieces[received - 1]
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await front(scope, receive, send)
    start, end = sent
    answered: Any = start["headers"]
    return Answer(
        start["status"],
        {name.decode(): value.decode() for name, value in answered},
        end["body"],
        received,
    )
