"""Sockets, and why they cannot be had."""

import socket

import pytest

from headgate.clock import SystemClock
from headgate.errors import BadSetting
from headgate.server.listening import Listener, listen
from headgate.server.serving import serve


def test_any_free_port_is_found_and_told() -> None:
    """Port 0 is no port."""
    listener = listen("127.0.0.1", 0)
    with listener.socket:
        assert listener.url == f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        assert not listener.url.endswith(":0")


def test_processes_listen_beside_each_other() -> None:
    """Each on a socket of its own, at one place."""
    listener = listen("127.0.0.1", 0, shared=True)
    with listener.socket, listener.another() as other:
        assert other.getsockname() == listener.socket.getsockname()


@pytest.mark.parametrize("shared", [False, True])
def test_a_port_that_others_share_is_in_use(shared: bool) -> None:
    """A second Headgate would otherwise take every other connection."""
    listener = listen("127.0.0.1", 0, shared=True)
    with listener.socket, pytest.raises(BadSetting, match="another program listens there"):
        listen("127.0.0.1", listener.socket.getsockname()[1], shared=shared)


@pytest.mark.parametrize(
    ("host", "port", "why"),
    [
        ("127.0.0.1", 70_000, "not between 0 and 65535"),
        ("127.0.0.1", -1, "not between 0 and 65535"),
        ("no.such.host.invalid", 0, "no address of this machine"),
        ("x" * 300, 0, "no address of this machine"),
        ("192.0.2.1", 0, "no address of this machine"),
    ],
)
def test_a_place_that_cannot_be_had_is_a_bad_setting(host: str, port: int, why: str) -> None:
    """The message says what, why, and what to do."""
    with pytest.raises(BadSetting, match=why) as caught:
        listen(host, port)

    assert caught.value.fix


def test_an_address_of_ip_version_6_is_written_in_brackets() -> None:
    """Otherwise its colons would look like a port's."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        assert Listener(some, "::1").url.startswith("http://[::1]:")


@pytest.mark.parametrize("processes", [0, 257])
def test_a_number_of_processes_has_bounds(processes: int) -> None:
    """Zero serve nobody."""
    with pytest.raises(BadSetting, match="allowed are 1 to 256"):
        serve(
            lambda _: pytest.fail("nothing is loaded"),
            host="127.0.0.1",
            port=0,
            processes=processes,
            ready=print,
            clock=SystemClock(),
        )
