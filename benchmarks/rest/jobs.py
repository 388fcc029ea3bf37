"""Requests that are made ready before anything is measured, and what their answers must be."""

import json
from collections import Counter
from typing import Any, NamedTuple, TypedDict, Unpack

import msgspec

EMPTY = (204, 304)


class Job(NamedTuple):
    """One request as bytes, and what must come back."""

    request: bytes
    tail: bytes = b""
    """If there is any, a number that was never used stands between the request and this."""
    status: int = 200
    length: int = 0
    """Of the body, to the byte; 0 if it cannot be known."""
    want: Any = None
    """What the JSON of the body must hold; see `holds`."""
    label: str = ""
    """Answers are counted by it."""

    @property
    def is_head(self) -> bool:
        return self.request.startswith(b"HEAD ")


NUMBER_DIGITS = 12
NUMBER = "#" * NUMBER_DIGITS
"""Stands for the number in a body."""


class Round(msgspec.Struct):
    """What a load generator saw: how long each good answer took, and what went wrong."""

    seconds: float
    waits: dict[str, list[float]]
    failures: dict[str, int]
    client_cpu_seconds: float
    server_cpu_seconds: float = 0.0

    @property
    def all_waits(self) -> list[float]:
        return sorted(wait for waits in self.waits.values() for wait in waits)

    @property
    def answers(self) -> int:
        return sum(map(len, self.waits.values()))

    @property
    def per_second(self) -> float:
        return self.answers / self.seconds

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def server_cpu_us(self) -> float:
        return self.server_cpu_seconds / max(self.answers, 1) * 1e6

    @property
    def client_cpu_us(self) -> float:
        return self.client_cpu_seconds / max(self.answers, 1) * 1e6


class Expected(TypedDict, total=False):
    """What a job says of its answer."""

    status: int
    length: int
    want: Any
    label: str


def job(method: str, path: str, body: object = None, **expected: Unpack[Expected]) -> Job:
    """A request for the server that is measured; JSON is made here, once."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body is None:
        return Job(f"{head}\r\n".encode(), **expected)
    text = json.dumps(body)
    head += f"Content-Type: application/json\r\nContent-Length: {len(text.encode())}\r\n\r\n"
    before, _, after = text.partition(NUMBER)
    return Job((head + before).encode(), after.encode(), **expected)


def holds(found: object, want: object) -> bool:
    """Whether an answer has what is wanted: of an object all these members, of a list just these
    elements in any order, of anything else the same value."""
    if isinstance(want, dict):
        return isinstance(found, dict) and all(
            name in found and holds(found[name], value) for name, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(found, list) and Counter(map(str, found)) == Counter(map(str, want))
    return found == want
