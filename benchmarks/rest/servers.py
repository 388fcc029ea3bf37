"""The servers that are compared, each a process of its own, all on the same disk."""

import http.client
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from headgate.testing.child import Child
from headgate.testing.headgate_server import READY, HeadgateServer, environment
from headgate.testing.reference_server import ReferenceServer

START_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 10.0
ANSWER_SECONDS_MAX = 60.0
ROOT = Path(__file__).parents[2]


class Server:
    """A running Iceberg REST server, and a simple way to ask it what is not measured."""

    def __init__(self, name: str, port: int, pid: int, root: str, warehouse: Path) -> None:
        self.name = name
        self.port = port
        self.pid = pid
        self.warehouse = warehouse
        config: dict[str, Any] = json.loads(ask(port, "GET", f"{root}/config"))
        prefix = config["overrides"].get("prefix")
        self.base = f"{root}/{prefix}" if prefix else root
        """The path that all operations of the one catalog begin with."""
        self._separator = config["overrides"].get("namespace-separator", "%1F")

    def namespace(self, levels: Sequence[str]) -> str:
        """A namespace as it stands in a URL, with the separator that the server asks for."""
        text: str = self._separator.join(quote(level, safe="") for level in levels)
        return text

    def location(self, path: str) -> str:
        """As clients write it: a place in the warehouse."""
        return f"file://{self.warehouse}/{path}"

    def ask(
        self, method: str, path: str, body: object = None, *, seconds: float = ANSWER_SECONDS_MAX
    ) -> bytes:
        """The body of an answer that must be a success; `path` follows the base."""
        return ask(self.port, method, self.base + path, body, seconds=seconds)

    def make_namespace(self, name: str) -> None:
        self.ask("POST", "/namespaces", {"namespace": [name]})


def ask(
    port: int,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    *,
    seconds: float = ANSWER_SECONDS_MAX,
) -> bytes:
    """One request on a connection of its own, which may take so long."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        text = None if body is None else json.dumps(body)
        given = {"Content-Type": "application/json", **(headers or {})}
        connection.request(method, path, text, given)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path} answered {answer.status}: {content[:500]!r}")
    return content


@contextmanager
def headgate(folder: Path) -> Iterator[Server]:
    """`headgate serve` with its defaults: one process, SQLite."""
    with HeadgateServer(folder) as server:
        yield connect(server)


def connect(server: HeadgateServer) -> Server:
    """A server that has been started; it is asked for its configuration, as clients do first."""
    port = int(server.url.rpartition(":")[2])
    return Server("headgate", port, server.pid, "/iceberg/v1", server.warehouse)


@contextmanager
def reference(folder: Path) -> Iterator[Server]:
    """Iceberg's own server; its SQLite syncs each transaction, too."""
    folder.mkdir(parents=True, exist_ok=True)
    with ReferenceServer(folder) as server:
        yield Server("reference", server.port, server.pid, "/v1", server.warehouse)


class Constant(NamedTuple):
    """The least that our HTTP server can do."""

    port: int
    pid: int
    name: str = "bound"


@contextmanager
def bound(folder: Path, size: int) -> Iterator[Constant]:
    """A server whose answer is a constant of this size."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.rest.bound", str(size)]
    child = Child(command, folder / "log", environment() | {"PYTHONPATH": str(ROOT)})
    try:
        ready = child.wait_until(lambda: READY.search(child.said()), START_SECONDS_MAX)
        yield Constant(int(ready[2]), child.pid)
        child.stop(STOP_SECONDS_MAX)
    finally:
        child.kill()
