"""Addresses of one client."""

import pytest

from headgate.http.addresses import address_group, client_address, networks_of


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("a name", "a name"),
    ],
)
def test_a_network_of_ipv6_is_one_client(address: str, group: str) -> None:
    """An address of IPv4 stays as it is, however it is written."""
    assert address_group(address) == group


PROXIES = networks_of(["10.0.0.0/8", "::1"], "proxies")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("::ffff:10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "192.0.2.99, 192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "192.0.2.99, 192.0.2.7, 10.0.0.2", "192.0.2.7"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.7, unknown", "10.0.0.1"),
        ("192.0.2.1", "192.0.2.7", "192.0.2.1"),
    ],
)
def test_only_trusted_proxies_say_where_a_request_comes_from(
    peer: str, forwarded: str, client: str
) -> None:
    """What a client invents stands before what the proxy adds."""
    assert client_address(peer, forwarded, PROXIES) == client
