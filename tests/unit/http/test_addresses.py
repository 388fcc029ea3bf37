"""Addresses of one client."""

import pytest

from headgate.http.addresses import address_group


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
