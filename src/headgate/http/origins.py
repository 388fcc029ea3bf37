"""Which requests a browser may have been tricked into.

A page of any web site can send requests to a server that only this machine reaches. It cannot hide
that: the browser names the page's origin in whatever changes something. And a page whose own host
name was made to lead here, so that its origin is ours, still has that name in the header Host.
"""

import ipaddress
from functools import lru_cache

from headgate.limits import HEADERS_KNOWN_MAX

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hosts_of(listening: str) -> frozenset[str]:
    """What requests may name as their host if a server listens there; empty means anything."""
    if not is_loopback(listening):
        return frozenset()
    return LOCAL_NAMES | {f"[{listening}]" if ":" in listening else listening.lower()}


@lru_cache(HEADERS_KNOWN_MAX)
def allowed_host(header: str, hosts: frozenset[str]) -> bool:
    """Whether a header Host names one of these hosts, with any port or none."""
    name, colon, port = header.rpartition(":")
    if colon and (port.isdecimal() or not port):
        return name.lower() in hosts
    return header.lower() in hosts


def same_origin(origin: str, host: str) -> bool:
    """Whether a page of this origin came from this host; one of no origin is `null`."""
    return origin.partition("://")[2].lower() == host.lower() != ""
