"""Closes connections that do not send a request in time.

Granian has one timeout for the headers of a request and for a connection that rests between two.
The second has to be long, since clients keep their connections; half a request should not live as
long. So the kernel is asked now and then what each connection of this process has received and
sent. A connection owes a request if it was never answered, or has received something since its last
answer, while no request of it is under way. A connection stalls if its client does not read what
was sent to it: the rest of the response waits in memory.
"""

import asyncio
import ipaddress
import os
import socket
import stat
import struct
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from headgate.limits import (
    CONNECTION_LOOK_SECONDS,
    CONNECTION_LOOKS_MAX,
    CONNECTION_READ_BYTES_MIN,
    CONNECTION_STALLS_MAX,
)

DESCRIPTORS = Path("/proc/self/fd")
INFO_BYTES = 160
ACKED_AT, RECEIVED_AT, UNSENT_AT, SENT_AT = 120, 128, 144, 156
"""Where `struct tcp_info` of Linux has the bytes that the peer acknowledged, the bytes received,
the bytes that wait to be sent, and the segments sent that had data."""

Peer = tuple[str, str]
"""Host and port."""


class Connection(NamedTuple):
    """What the kernel says of a connection."""

    inode: int
    descriptor: int
    peer: Peer
    received: int
    sent: int
    acked: int
    unsent: int


class _Seen(NamedTuple):
    received: int
    """When it was last answered or busy; -1 if it never was."""
    sent: int
    looks: int
    """At which it owed a request, one after the other."""
    acked: int
    stalls: int
    """Looks, one after the other, at which its client had read too little."""


_NEW = _Seen(-1, 0, 0, -CONNECTION_READ_BYTES_MIN, 0)


class ConnectionWatch:
    """Watches the connections that this process has accepted on a port.

    Looks are counted, and not seconds: when the event loop was held up, so were they.
    """

    seconds = CONNECTION_LOOK_SECONDS
    """Between two looks."""

    def __init__(
        self,
        port: int,
        busy: Callable[[], Collection[Peer]],
        *,
        connections_max: int,
        looks_max: int = CONNECTION_LOOKS_MAX,
        stalls_max: int = CONNECTION_STALLS_MAX,
    ) -> None:
        self._port = port
        self._busy = busy
        self._connections_max = connections_max
        self._looks_max = looks_max
        self._stalls_max = stalls_max
        self._seen: dict[int, _Seen] = {}

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(self.seconds)
            await self.look()

    async def look(self) -> int:
        """Close what is overdue, and what is too much; returns how many connections that were."""
        connections = await asyncio.to_thread(_connections, self._port)
        busy = {same_peer(*peer) for peer in self._busy()}
        resting = [one for one in connections if one.peer not in busy]
        seen = {one.inode: self._judged(one, is_busy=one.peer in busy) for one in connections}
        self._seen = seen
        overdue = [one for one in resting if seen[one.inode].looks >= self._looks_max]
        overdue += [one for one in connections if seen[one.inode].stalls >= self._stalls_max]
        if len(connections) - len(overdue) > self._connections_max:
            overdue += self._crowd(connections, resting)
        return sum(map(_close, dict.fromkeys(overdue)))

    def _judged(self, connection: Connection, *, is_busy: bool) -> _Seen:
        known = self._seen.get(connection.inode, _NEW)
        stalls = known.stalls + 1 if _has_stalled(connection, known) else 0
        known = known._replace(acked=connection.acked, stalls=stalls)
        if is_busy or connection.sent != known.sent:
            return known._replace(received=connection.received, sent=connection.sent, looks=0)
        if connection.received == known.received:
            return known._replace(looks=0)
        return known._replace(looks=known.looks + 1)

    def _crowd(
        self, connections: list[Connection], resting: list[Connection]
    ) -> Iterable[Connection]:
        """Resting connections of the host that has the most: as many as there are too many."""
        hosts = Counter(one.peer[0] for one in connections)
        [(host, _)] = hosts.most_common(1)
        excess = len(connections) - self._connections_max
        return [one for one in resting if one.peer[0] == host][:excess]


def _has_stalled(connection: Connection, known: _Seen) -> bool:
    """Whether so much waits for the client, and it has read so little of it since the last look."""
    waits = connection.unsent >= CONNECTION_READ_BYTES_MIN
    return waits and connection.acked - known.acked < CONNECTION_READ_BYTES_MIN


def can_watch() -> bool:
    """Whether this system says what has to be known."""
    return sys.platform == "linux" and DESCRIPTORS.is_dir()


def same_peer(host: str, port: str | int) -> Peer:
    """A peer as all write it the same."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0])), str(port)
    except ValueError:
        return host, str(port)


def _connections(port: int) -> list[Connection]:
    """All connections of this process that were accepted on this port."""
    return list(_found(port))


def _found(port: int) -> Iterator[Connection]:
    for path in DESCRIPTORS.iterdir():
        with suppress(OSError), _borrowed(int(path.name)) as lent:
            if lent.getsockname()[1:2] != (port,):
                continue
            host, peer_port = lent.getpeername()[:2]  # it fails for what only listens
            info = lent.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
            [received] = struct.unpack_from("=Q", info, RECEIVED_AT)
            [sent] = struct.unpack_from("=I", info, SENT_AT)
            [acked] = struct.unpack_from("=Q", info, ACKED_AT)
            [unsent] = struct.unpack_from("=I", info, UNSENT_AT)
            inode = os.fstat(lent.fileno()).st_ino
            peer = same_peer(host, peer_port)
            yield Connection(inode, lent.fileno(), peer, received, sent, acked, unsent)


@contextmanager
def _borrowed(descriptor: int) -> Iterator[socket.socket]:
    """A socket that is another's, to look at; OSError if it is none.

    It is not copied: closing the copy of a file would undo the locks of a database on it.
    """
    if not _is_socket(descriptor):
        raise OSError
    lent = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
    try:
        yield lent
    finally:
        lent.detach()


def _close(connection: Connection) -> bool:
    """End a connection, unless its number is another's by now. Granian sees that and closes it."""
    with suppress(OSError):
        if os.fstat(connection.descriptor).st_ino != connection.inode:
            return False
        copy = os.dup(connection.descriptor)
        if not _is_socket(copy):
            return False  # it became a file just now; see above why it stays open
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=copy) as own:
            if os.fstat(copy).st_ino == connection.inode:
                own.shutdown(socket.SHUT_RDWR)
                return True
    return False


def _is_socket(descriptor: int) -> bool:
    return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
