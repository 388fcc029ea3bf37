"""The port of the reference server."""

import socket

import pytest

from headgate.testing.reference_server import free_port


def test_a_port_that_others_share_is_not_free() -> None:
    """A listener that would let others listen on its port is noticed."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()

        with pytest.raises(OSError, match="in use"):
            free_port(other.getsockname()[1])
