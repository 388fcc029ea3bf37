"""Client addresses: as limits count them, and as trusted proxies name them."""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from headgate.errors import BadSetting
from headgate.limits import ADDRESSES_KNOWN_MAX

IPV6_NETWORK_BITS = 64
"""One client has at least so much of IPv6: its addresses there are no different clients."""

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


@lru_cache(ADDRESSES_KNOWN_MAX)
def address_group(address: str) -> str:
    """The address itself, or its network in IPv6; the text as it is if it is no address."""
    found = _parsed(address)
    if found is None:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))


def networks_of(named: Iterable[str], setting: str) -> Networks:
    """The addresses and networks that a setting names."""
    try:
        return tuple(ipaddress.ip_network(one, strict=False) for one in named)
    except ValueError as error:
        raise BadSetting(
            f"setting {setting!r} cannot be used",
            why=str(error),
            fix="Write addresses or networks, as 10.0.0.7 or 10.0.0.0/8",
        ) from None


def client_address(peer: str, forwarded: str, proxies: Networks) -> str:
    """Where a request comes from: the last address that no trusted proxy has.

    `forwarded` is the header `X-Forwarded-For`, to which each proxy appends its own peer. What
    stands before the address of a stranger is the stranger's invention.
    """
    address = peer
    for hop in reversed(forwarded.split(",")):
        if not _is_trusted(address, proxies) or _parsed(hop.strip()) is None:
            break
        address = hop.strip()
    return address


@lru_cache(ADDRESSES_KNOWN_MAX)
def _is_trusted(address: str, proxies: Networks) -> bool:
    found = _parsed(address)
    return found is not None and any(found in network for network in proxies)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address; one of IPv4 that is written as one of IPv6 is of IPv4."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found
