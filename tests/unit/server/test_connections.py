"""Connections that owe a request, and how many of a host there may be."""

import fcntl
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from headgate.server.connections import ConnectionWatch, Peer, same_peer

LOOKS = 3
STALLS = 5
TRY_TO_LOCK = """
import fcntl, sys
fcntl.lockf(open(sys.argv[1], "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
"""


class Server:
    """Accepts connections and answers when it is told to."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.busy: set[Peer] = set()
        self.port = self._listener.getsockname()[1]

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection, the client's first."""
        client = self._stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
        client.settimeout(5)
        accepted, _ = self._listener.accept()
        return client, self._stack.enter_context(accepted)

    def watch(self, connections_max: int = 1_000) -> ConnectionWatch:
        return ConnectionWatch(
            self.port,
            lambda: self.busy,
            connections_max=connections_max,
            looks_max=LOOKS,
            stalls_max=STALLS,
        )


@pytest.fixture
def server() -> Iterator[Server]:
    with ExitStack() as stack:
        yield Server(stack)


def peer_of(client: socket.socket) -> Peer:
    return same_peer(*client.getsockname())


def is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


async def closed_by(watch: ConnectionWatch, looks: int) -> list[int]:
    """How many each of so many looks closes."""
    return [await watch.look() for _ in range(looks)]


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nx: "])
async def test_a_connection_that_never_sends_a_request_is_closed(
    server: Server, sent: bytes
) -> None:
    """Whether it sends nothing, or half of one."""
    client, _ = server.connect()
    client.sendall(sent)

    assert await closed_by(server.watch(), LOOKS) == [0] * (LOOKS - 1) + [1]
    assert is_closed(client)


async def test_one_byte_now_and_then_is_no_request(server: Server) -> None:
    """What trickles in does not begin the time anew."""
    client, accepted = server.connect()
    watch = server.watch()
    closed = []
    for _ in range(LOOKS):
        client.sendall(b"x")
        accepted.recv(1)
        closed.append(await watch.look())

    assert closed == [0] * (LOOKS - 1) + [1]


async def test_a_connection_may_rest_after_an_answer(server: Server) -> None:
    """Clients keep theirs for the next request."""
    client, accepted = server.connect()
    watch = server.watch()
    client.sendall(b"GET")
    await watch.look()
    accepted.sendall(b"answer")
    assert client.recv(6) == b"answer"

    assert await closed_by(watch, 3 * LOOKS) == [0] * 3 * LOOKS
    client.sendall(b"half a request")
    assert await closed_by(watch, LOOKS) == [0] * (LOOKS - 1) + [1]
    assert is_closed(client)


async def test_a_request_under_way_owes_nothing(server: Server) -> None:
    """However long it takes; afterwards its connection rests."""
    client, _ = server.connect()
    watch = server.watch()
    client.sendall(b"GET")
    server.busy = {peer_of(client)}
    assert await closed_by(watch, 3 * LOOKS) == [0] * 3 * LOOKS
    server.busy = set()

    assert await closed_by(watch, 3 * LOOKS) == [0] * 3 * LOOKS
    assert not is_closed(client)


def fill(accepted: socket.socket) -> None:
    """Send until nothing more is taken: the client reads nothing."""
    accepted.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            accepted.send(b"x" * 65_536)


@pytest.mark.parametrize("is_busy", [False, True])
async def test_a_client_that_does_not_read_its_answer_is_closed(
    server: Server, is_busy: bool
) -> None:
    """Also while the rest of it is still being sent; what waits for it would stay in memory."""
    client, accepted = server.connect()
    client.sendall(b"GET")
    server.busy = {peer_of(client)} if is_busy else set()
    watch = server.watch()
    fill(accepted)

    closed = await closed_by(watch, 3 * STALLS)
    assert (closed[:STALLS], any(closed)) == ([0] * STALLS, True)
    with pytest.raises(BrokenPipeError):
        accepted.send(b"x")


async def test_a_client_that_reads_its_answer_slowly_stays(server: Server) -> None:
    """As long as some of it is read between looks."""
    client, accepted = server.connect()
    client.sendall(b"GET")
    watch = server.watch()
    closed = []
    for _ in range(3 * STALLS):
        fill(accepted)
        closed.append(await watch.look())
        received = 0
        while received < 1 << 20:
            received += len(client.recv(65_536))

    assert closed == [0] * 3 * STALLS


async def test_when_there_are_too_many_connections_resting_ones_are_closed(
    server: Server,
) -> None:
    """Not those that have a request under way; as many as are too many."""
    pairs = [server.connect() for _ in range(10)]
    server.busy = {peer_of(client) for client, _ in pairs[:3]}

    assert await server.watch(connections_max=6).look() == 4
    states = [is_closed(client) for client, _ in pairs]
    assert states[:3] == [False] * 3
    assert sum(states) == 4


async def test_connections_on_other_ports_are_not_looked_at(server: Server) -> None:
    """They are the server's own, to databases and stores."""
    with ExitStack() as stack:
        other = Server(stack)
        client, _ = other.connect()

        assert await closed_by(server.watch(), 2 * LOOKS) == [0] * 2 * LOOKS
        assert not is_closed(client)


async def test_looking_undoes_no_lock_of_a_file(server: Server, tmp_path: Path) -> None:
    """Closing any copy of a file would: databases rely on theirs."""
    server.connect()
    watch = server.watch()
    with (tmp_path / "database").open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        await closed_by(watch, LOOKS)
        tried = subprocess.run(
            [sys.executable, "-c", TRY_TO_LOCK, file.name], check=False, capture_output=True
        )

    assert b"BlockingIOError" in tried.stderr


def test_a_peer_has_one_name() -> None:
    """Whoever writes it."""
    assert same_peer("FE80::1%eth0", 80) == same_peer("fe80:0::1", "80") == ("fe80::1", "80")
    assert same_peer("a name", 80) == ("a name", "80")
