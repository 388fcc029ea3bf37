"""Groups client addresses, so that limits per address also hold for a network of one client."""

import ipaddress
from functools import lru_cache

from headgate.limits import ADDRESSES_KNOWN_MAX

IPV6_NETWORK_BITS = 64
"""One client has at least so much of IPv6: its addresses there are no different clients."""


@lru_cache(ADDRESSES_KNOWN_MAX)
def address_group(address: str) -> str:
    """The address itself, or its network in IPv6; the text as it is if it is no address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))
