"""Which servers may be spoken to: those that the operator listed, and the clouds' own."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import SplitResult, urlsplit

from headgate.errors import BadRequest, Forbidden, StorageUnavailable

Resolve = Callable[[str], Awaitable[Sequence[str]]]

CLOUDS = re.compile(
    r"""(s3|sts) ([.-][a-z0-9-]+)* \.amazonaws\.com (\.cn)?
    | [a-z0-9-]+ (\.eu|\.fedramp)? \.r2\.cloudflarestorage\.com
    | storage\.googleapis\.com
    | [a-z0-9]{3,24} \.(blob|dfs)\.core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)
    """,
    re.VERBOSE,
)
PORTS = {"http": 80, "https": 443}


async def resolve(host: str) -> Sequence[str]:
    """All addresses of a name, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return sorted({str(entry[4][0]) for entry in found})


async def check(
    endpoint: str,
    allowed: Sequence[str],
    *,
    allow_http: bool = False,
    resolve: Resolve = resolve,
) -> None:
    """Refuse an endpoint that nobody vouches for.

    `allowed` has origins (`http://10.0.0.5:9000`), hosts (`minio.example.com`, also with a port)
    and domains (`*.example.com`). What is listed by its exact name may lie anywhere; names that
    match a domain or belong to a cloud must not resolve to an address of an inner network.
    """
    url = _parsed(endpoint)
    if url.scheme == "http" and not allow_http:
        raise BadRequest(f"Invalid endpoint: {endpoint}", why="plain HTTP is not switched on")
    if _listed(url, allowed):
        return
    host = url.hostname or ""
    own = url.scheme == "https" and url.port in {None, 443} and CLOUDS.fullmatch(host)
    if not own and not _in_domain(host, allowed):
        raise _refused(endpoint, "it is neither listed by the operator nor one of the clouds' own")
    await _check_addresses(endpoint, host, resolve)


async def _check_addresses(endpoint: str, host: str, resolve: Resolve) -> None:
    try:
        addresses = await resolve(host)
    except OSError as error:
        raise StorageUnavailable(
            f"Endpoint {endpoint} cannot be found", why=str(error), fix="Check its name."
        ) from None
    for address in addresses:
        if not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise _refused(endpoint, f"its address {address} belongs to an inner network")


def _parsed(endpoint: str) -> SplitResult:
    try:
        url = urlsplit(endpoint)
        fits = url.scheme in PORTS and bool(url.hostname) and url.port != 0
    except ValueError:
        fits = False
    if not fits or url.username is not None or url.query or url.fragment:
        raise BadRequest("Invalid endpoint", why="it has to be of the form https://host[:port]")
    return url


def _listed(url: SplitResult, allowed: Sequence[str]) -> bool:
    host, port = (url.hostname or "").lower(), url.port or PORTS[url.scheme]
    return any(
        _names(entry.lower().rstrip("/"), url.scheme, host, port)
        for entry in allowed
        if not entry.startswith("*")
    )


def _names(entry: str, scheme: str, host: str, port: int) -> bool:
    if "://" in entry:
        origin = urlsplit(entry)
        own = origin.port or PORTS.get(origin.scheme)
        return (origin.scheme, origin.hostname, own) == (scheme, host, port)
    listed = urlsplit(f"//{entry}")
    return listed.hostname == host and (listed.port or PORTS[scheme]) == port


def _in_domain(host: str, allowed: Sequence[str]) -> bool:
    return any(
        entry.startswith("*.") and host.endswith(entry[1:].lower()) and not _is_address(host)
        for entry in allowed
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refused(endpoint: str, why: str) -> Forbidden:
    return Forbidden(
        f"Endpoint {endpoint} is not allowed",
        why=why,
        fix="Ask the operator to add it to the allowed endpoints.",
    )
