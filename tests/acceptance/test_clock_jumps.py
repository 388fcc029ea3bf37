"""Clocks of real servers jump under load: nothing is stamped ahead, nothing acknowledged is lost,
and the store opens again."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import httpx
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.clock import NS_PER_MS, SystemClock
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.kernel import Kernel
from headgate.limits import CLOCK_BEHIND_MS_MAX
from headgate.settings.loading import load
from headgate.testing.fake_time import FakeTime
from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.wiring import STORED_TYPES, entropy, open_kernel

HOUR, DAY = 3_600, 86_400
MONTH, YEAR = 30 * DAY, 365 * DAY
POLL_SECONDS, PATIENCE_SECONDS = 0.05, 60.0
OPTIONS = (
    *("--set", "commit.timeout-seconds=0.5"),
    *("--set", "authentication.methods=token"),
    *("--set", "security.master-key=the master key of all nodes of a test"),
)


class Node:
    """A server whose clock can be set, and what it acknowledged."""

    def __init__(self, folder: Path, store: list[str], seconds: int = 0) -> None:
        self.name = folder.name
        self.clock = FakeTime(folder / "clock", seconds)
        self.server = HeadgateServer(folder, *store, *OPTIONS, variables=self.clock.variables)
        self.token = ""
        self.made: list[str] = []
        self.last: tuple[int, str] = (0, "")
        self._numbers = iter(range(1_000_000))

    def make(self) -> bool:
        """Make a namespace; whether that was acknowledged."""
        name = f"{self.name}_{next(self._numbers)}"
        answer = self._ask("POST", "namespaces", {"namespace": [name]})
        self.last = answer.status_code, answer.text
        if answer.status_code == 200:
            self.made.append(name)
        return answer.status_code == 200

    def names(self) -> set[str]:
        """The namespaces that this server shows."""
        answer = self._ask("GET", "namespaces?pageSize=10000")
        assert answer.status_code == 200, answer.text
        return {name for [name] in answer.json()["namespaces"]}

    def refuses(self, word: str) -> bool:
        """Whether it refuses to write now, and says why."""
        self.make()
        status, text = self.last
        return status == 503 and word in text

    def _ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        url = f"{self.server.iceberg_url}/v1/main/{path}"
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.request(method, url, json=body, headers=headers, timeout=30)


class Cluster:
    """A store, two servers on it, and load on both."""

    def __init__(self, folder: Path, store: list[str]) -> None:
        self.store = store
        self.nodes = [Node(folder / name, store) for name in ("one", "two")]
        self._folder = folder
        self._stop = Event()

    def start(self) -> None:
        """Start both servers, with a token that is good for longer than any jump."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(lambda node: node.server.start(), self.nodes))
        if not self.nodes[0].token:
            words = ("token", "create", "ann", "--expires", "366d", *OPTIONS, "--json")
            issued = json.loads(self.headgate(*words))
            for node in self.nodes:
                node.token = issued["token"]

    def stop(self) -> None:
        """Stop both servers; they end well."""
        for node in self.nodes:
            node.server.stop()

    def under_load(self, act: Callable[[], None]) -> None:
        """Do this while both servers are written to."""
        self._stop.clear()
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            loads = [pool.submit(self._load, node) for node in self.nodes]
            try:
                act()
            finally:
                self._stop.set()
            for load in loads:
                load.result()

    def headgate(self, *arguments: str, expect: int = 0) -> str:
        """What a command says about this store; it must end with this code."""
        done = subprocess.run(
            [sys.executable, "-m", "headgate", *arguments, *self.store],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            timeout=60,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout + done.stderr

    def check_all_is_there(self) -> None:
        """All that was acknowledged is shown by every server."""
        made = {name for node in self.nodes for name in node.made}
        for node in self.nodes:
            assert made <= node.names()

    def times_ms(self) -> list[int]:
        """The times of all commits, by their ids."""
        names = [one.removeprefix("--") for one in self.store[::2]]
        flags = dict(zip(names, self.store[1::2], strict=True))

        async def read() -> list[int]:
            async with open_kernel(load(flags=flags), writable=False) as kernel:
                logs = [kernel.log.newest_first(key) for key in await kernel.log.pointers()]
                return [commit.time_ms for log in logs async for commit in log]

        return asyncio.run(read())

    def _load(self, node: Node) -> None:
        while not self._stop.is_set():
            node.make()


@pytest.fixture(name="cluster", params=["sqlite", "postgresql"])
def _cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    store = ["--data", str(tmp_path / "data")]
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_server").create_database()
        store += ["--backend", url]
    cluster = Cluster(tmp_path, store)
    with ExitStack() as stack:
        for node in cluster.nodes:
            stack.callback(kill_if_running, node.server)
        yield cluster


def kill_if_running(server: HeadgateServer) -> None:
    """End what a failed test has left."""
    if server.is_running:
        server.kill()


def until(is_so: Callable[[], object]) -> None:
    """Ask until this is so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(POLL_SECONDS)


def check_no_commit_lies_ahead(cluster: Cluster) -> None:
    """Clocks may differ a little, and no more."""
    now_ms = time.time_ns() // NS_PER_MS
    assert max(cluster.times_ms()) <= now_ms + CLOCK_BEHIND_MS_MAX


def test_jumps_under_load_stamp_nothing_and_lose_nothing(cluster: Cluster) -> None:
    """The server refuses to write while a jump lasts and says why; the other one goes on; then both
    write, tokens are good, and both start again."""
    cluster.start()
    one, two = cluster.nodes

    def jump(seconds: int, word: str) -> None:
        one.clock.set(seconds)
        until(lambda: one.refuses(word))
        written, others = len(one.made), len(two.made)
        until(lambda: len(two.made) >= others + 5)
        assert len(one.made) == written
        one.names()
        one.clock.set(0)
        until(lambda: len(one.made) >= written + 3)

    def act() -> None:
        until(lambda: one.made and two.made)
        jump(MONTH, "set ahead by 2,592,")
        jump(-HOUR, "set back by 3,6")

    cluster.under_load(act)
    cluster.check_all_is_there()
    cluster.stop()
    check_no_commit_lies_ahead(cluster)
    cluster.start()
    cluster.check_all_is_there()
    assert all(node.make() for node in cluster.nodes)
    cluster.stop()


def test_a_node_that_starts_a_year_ahead_is_refused_or_its_commits_are_mended(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Where the database has a clock, the node does not start. Where it has none, all later starts
    are refused until a command has mended the store, which keeps all content."""
    cluster.start()
    assert all(node.make() for node in cluster.nodes)
    cluster.stop()
    early = Node(tmp_path / "early", cluster.store, seconds=YEAR)
    early.token = cluster.nodes[0].token
    if "--backend" in cluster.store:
        with pytest.raises(RuntimeError, match="ahead of that of the database"):
            early.server.start()
        asyncio.run(commit_ahead(cluster.store[-1]))
    else:
        with early.server:
            assert early.make()
        cluster.nodes[0].made += early.made
    with pytest.raises(RuntimeError, match="headgate maintenance repair-clock"):
        cluster.nodes[0].server.start()
    assert "an empty commit" in cluster.headgate("maintenance", "repair-clock", "--apply")

    cluster.start()
    cluster.check_all_is_there()
    assert all(node.make() for node in cluster.nodes)
    cluster.check_all_is_there()
    cluster.stop()


class EarlyClock(SystemClock):
    """The clock of a machine that is a year ahead."""

    def _machine(self) -> tuple[int, int]:
        wall_ns, stopwatch_ns = super()._machine()
        return wall_ns + YEAR * 1_000 * NS_PER_MS, stopwatch_ns


class WithoutClock(ForwardingBackend):
    """A database as older programs see it, which did not ask for its time."""

    async def clock_ms(self) -> None:
        return None


async def commit_ahead(url: str) -> None:
    """Let a program commit that does not notice that its clock is a year ahead."""
    backend = WithoutClock(PostgresqlBackend(url))
    async with Kernel(backend, EarlyClock(), entropy, types=STORED_TYPES) as kernel:
        await kernel.realms.create("future")
