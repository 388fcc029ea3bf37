"""The sockets that processes accept connections on."""

import errno
import socket
from typing import Any, NamedTuple

from headgate.errors import BadSetting

BACKLOG_CONNECTIONS = 1024
PORT_MAX = 65_535


class Listeners(NamedTuple):
    """One listening socket for each process, and where they are."""

    sockets: list[socket.socket]
    host: str
    """As it was asked for."""
    port: int

    @property
    def url(self) -> str:
        """What to connect to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        """Accept no more."""
        for listener in self.sockets:
            listener.close()


def listen(host: str, port: int, processes: int) -> Listeners:
    """Listen here, on any free port if it is 0. BadSetting says why that cannot be.

    Several processes have a socket each, and the kernel shares connections out among them: with one
    socket for all, the process that is quickest to wake up takes nearly every connection.
    """
    if not 0 <= port <= PORT_MAX:
        raise BadSetting(
            f"port {port} cannot be used",
            why=f"it is not between 0 and {PORT_MAX}",
            fix="Choose a port between 1024 and 65535, or 0 for any that is free",
        )
    address = _resolve(host, port)
    # Sockets that share a port would also share it with those of another Headgate. The first does
    # not share, and so finds out whether anybody is there.
    first = _bind(host, address, shared=False)
    first_address = first.getsockname()
    if processes == 1:
        return _listening([first], host)
    first.close()
    family, _ = address
    return _listening(
        [_bind(host, (family, first_address), shared=True) for _ in range(processes)], host
    )


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
        listener.setblocking(False)
        listener.bind(place)
        listener.listen(BACKLOG_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise _why_not(host, place[1], error) from error
    return listener


def _listening(sockets: list[socket.socket], host: str) -> Listeners:
    return Listeners(sockets, host, sockets[0].getsockname()[1])


def _why_not(host: str, port: str | int, error: OSError) -> BadSetting:
    if error.errno == errno.EADDRINUSE:
        return BadSetting(
            f"port {port} on {host} cannot be used",
            why="another program listens there",
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
