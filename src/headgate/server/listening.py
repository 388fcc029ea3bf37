"""The sockets that processes accept connections on."""

import errno
import socket
import sys
from typing import Any

from headgate.errors import BadSetting
from headgate.limits import BACKLOG_CONNECTIONS, IDLE_SECONDS, PORT_MAX

TAKEN = "another program listens there"


class Listener:
    """A listening socket, and the host as it was asked for."""

    def __init__(self, listening: socket.socket, host: str) -> None:
        self.socket = listening
        self.host = host

    @property
    def url(self) -> str:
        """What to connect to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.socket.getsockname()[1]}"

    def another(self) -> socket.socket:
        """One more for another process, at the same place.

        Processes have a socket each, and the kernel shares connections out among them: with one
        socket for all, the process that is quickest to wake up takes nearly every connection.
        """
        address = self.socket.family, self.socket.getsockname()
        return _bind(self.host, address, shared=True)


def listen(host: str, port: int, *, shared: bool = False) -> Listener:
    """Listen here, on any free port if it is 0. BadSetting says why that cannot be.

    A shared listener can have others beside it.
    """
    if not 0 <= port <= PORT_MAX:
        raise BadSetting(
            f"port {port} cannot be used",
            why=f"it is not between 0 and {PORT_MAX}",
            fix="Choose a port between 1024 and 65535, or 0 for any that is free",
        )
    family, place = _resolve(host, port)
    first = _bind(host, (family, place), shared=False)
    if not shared:
        return Listener(first, host)
    # Sockets that share a port would also share it with those of another Headgate. The first did
    # not share, and so found out that nobody is there.
    place = first.getsockname()
    first.close()
    return Listener(_bind(host, (family, place), shared=True), host)


Place = tuple[Any, ...]
"""Host, port, and for IPv6 two more numbers."""
Address = tuple[socket.AddressFamily, Place]


def _resolve(host: str, port: int) -> Address:
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except (OSError, UnicodeError) as error:
        raise BadSetting(
            f"host {host!r} cannot be used",
            why=f"it is no address of this machine ({error})",
            fix="Choose 127.0.0.1, or the address or name of one of its networks",
        ) from error
    family, _, _, _, address = found[0]
    return family, address


def _bind(host: str, address: Address, *, shared: bool) -> socket.socket:
    family, place = address
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if sys.platform == "linux":  # for its connections: an answer that is not taken
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, IDLE_SECONDS * 1000)
        listener.setblocking(False)
        listener.bind(place)
        listener.listen(BACKLOG_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise _why_not(host, place[1], error) from error
    return listener


def _why_not(host: str, port: str | int, error: OSError) -> BadSetting:
    if error.errno == errno.EADDRINUSE:
        return BadSetting(
            f"port {port} on {host} cannot be used",
            why=TAKEN,
            fix="Stop it, or choose another with --port; --port 0 takes any that is free",
        )
    if error.errno == errno.EACCES:
        return BadSetting(
            f"port {port} on {host} cannot be used",
            why="only a privileged user may",
            fix="Choose a port above 1023 with --port",
        )
    return BadSetting(
        f"host {host!r} cannot be used",
        why=f"it is no address of this machine ({error.strerror})",
        fix="Choose 127.0.0.1, or the address of one of its networks",
    )
