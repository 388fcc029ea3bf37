"""Server processes on one store: the same tables, with and without authorization."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.rest.jobs import Job
from benchmarks.rest.servers import ask
from headgate.testing.headgate_server import HeadgateServer

ADMIN = "admin"
ON = ("--set", "authorization.enabled=true", "--set", f"authorization.service-admins={ADMIN}")


class Node(NamedTuple):
    """A server process."""

    name: str
    port: int
    pid: int

    def ask(self, user: str, method: str, path: str, body: object = None) -> bytes:
        """The body of an answer that must be a success."""
        return ask(self.port, method, path, body, {"Authorization": basic(user)})

    def repeated(self, path: str, user: str) -> Job:
        """A request whose answer may stand from before; it must be as long as it is now."""
        return Job(_head(path, user), length=self._length(path, user))

    def worked_out(self, path: str, user: str) -> Job:
        """The same, with a number in its query that no other has: its answer never stands."""
        before, version, after = _head(f"{path}?number=", user).partition(b" HTTP/1.1")
        return Job(before, version + after, length=self._length(path, user))

    def _length(self, path: str, user: str) -> int:
        return len(self.ask(user, "GET", path))


class Nodes(NamedTuple):
    """Those that are compared, and one more that checks rights."""

    on: Node
    off: Node
    second: Node


@contextmanager
def started(name: str, folder: Path, data: Path, *options: str) -> Iterator[Node]:
    """`headgate serve` on this data, with its defaults but these."""
    with HeadgateServer(folder / name, "--data", str(data), *options) as server:
        yield Node(name, int(server.url.rpartition(":")[2]), server.pid)


def _head(path: str, user: str) -> bytes:
    lines = (f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: {basic(user)}", "", "")
    return "\r\n".join(lines).encode()


def basic(user: str) -> str:
    """How simple authentication knows a user."""
    return f"Basic {base64.b64encode(f'{user}:'.encode()).decode()}"
