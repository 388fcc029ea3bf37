"""Which hosts and origins are ours."""

import pytest

from headgate.http.origins import allowed_host, hosts_of


@pytest.mark.parametrize("listening", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
@pytest.mark.parametrize(
    "header", ["localhost", "LocalHost:1", "127.0.0.1:8181", "[::1]:8181", "[::1]", "localhost:"]
)
def test_names_of_this_machine_are_allowed(listening: str, header: str) -> None:
    """Whichever of them the server listens on, and with any port."""
    assert allowed_host(header, hosts_of(listening))


@pytest.mark.parametrize(
    "header",
    [
        *("", "evil.example", "evil.example:8181", "localhost.evil.example", "evil@localhost"),
        *("127.0.0.1.evil.example:1", "localhost, evil.example", "evil.example, localhost"),
        *("[::1", "::1", "0.0.0.0", "localhost:1:2", "127.0.0.3"),
    ],
)
def test_other_hosts_are_not_allowed_on_this_machine_s_own_addresses(header: str) -> None:
    """However much they look like it."""
    assert not allowed_host(header, hosts_of("127.0.0.1"))


def test_the_address_that_was_asked_for_is_allowed() -> None:
    """Also an unusual one."""
    assert allowed_host("127.0.0.2:8181", hosts_of("127.0.0.2"))


@pytest.mark.parametrize("listening", ["0.0.0.0", "::", "192.0.2.1", "catalog.example"])
def test_a_server_for_others_has_any_name(listening: str) -> None:
    """Nobody can know what they call it."""
    assert hosts_of(listening) == frozenset()
