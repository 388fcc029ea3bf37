from collections.abc import Sequence

import pytest

from headgate.errors import BadRequest, Forbidden, StorageUnavailable
from headgate.storage.endpoints import check, resolve

INNER = [
    "127.0.0.1",
    "10.0.0.5",
    "192.168.1.1",
    "172.16.0.1",
    "169.254.169.254",
    "::1",
    "fe80::1%2",
]


async def outside(host: str) -> Sequence[str]:
    return ["52.95.110.1"]


async def nowhere(host: str) -> Sequence[str]:
    raise OSError("no such name")


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://s3.eu-central-1.amazonaws.com",
        "https://s3.amazonaws.com",
        "https://s3.dualstack.us-east-1.amazonaws.com",
        "https://sts.cn-north-1.amazonaws.com.cn",
        "https://storage.googleapis.com",
        "https://acc.blob.core.windows.net",
        "https://account.r2.cloudflarestorage.com",
    ],
)
async def test_the_clouds_own_servers_are_allowed(endpoint: str) -> None:
    """They need not be listed."""
    await check(endpoint, (), resolve=outside)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example.com",
        "https://s3.eu-central-1.amazonaws.com.evil.com",
        "https://ec2-1-2-3-4.compute-1.amazonaws.com",
        "https://s3.amazonaws.com:8443",
        "https://evils3.amazonaws.com",
        "https://acc.blob.core.windows.net.evil.com",
        "https://127.0.0.1",
        "https://[::1]",
        "https://2130706433",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost",
    ],
)
async def test_all_others_have_to_be_listed(endpoint: str) -> None:
    """Also those whose names look like a cloud's, and addresses in any form."""
    with pytest.raises(Forbidden, match="Ask the operator"):
        await check(endpoint, ("https://minio.example.com",), resolve=outside)


@pytest.mark.parametrize("address", INNER)
async def test_a_name_must_not_lead_into_an_inner_network(address: str) -> None:
    """One inner address among others is enough to refuse; the check comes after resolving."""

    async def inside(host: str) -> Sequence[str]:
        return ["52.95.110.1", address]

    for endpoint in ("https://s3.eu-central-1.amazonaws.com", "https://a.example.com"):
        with pytest.raises(Forbidden, match="inner network"):
            await check(endpoint, ("*.example.com",), resolve=inside)


@pytest.mark.parametrize(
    ("endpoint", "entry"),
    [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000/"),
        ("https://MinIO.example.com", "https://minio.example.com:443"),
        ("https://minio.example.com", "minio.example.com"),
        ("https://minio.example.com:9000", "minio.example.com:9000"),
        ("https://[::1]:9000", "[::1]:9000"),
    ],
)
async def test_what_the_operator_listed_by_name_may_lie_anywhere(endpoint: str, entry: str) -> None:
    """An origin, a host, or a host with its port; nothing is resolved."""
    await check(endpoint, (entry,), allow_http=True, resolve=nowhere)


@pytest.mark.parametrize(
    ("endpoint", "entry"),
    [
        ("https://minio.example.com:9001", "minio.example.com:9000"),
        ("https://minio.example.com:9000", "minio.example.com"),
        ("http://minio.example.com", "https://minio.example.com"),
        ("https://example.com", "*.example.com"),
        ("https://evilexample.com", "*.example.com"),
        ("https://minio.example.com", "*"),
        ("https://minio.example.com", ""),
    ],
)
async def test_an_entry_means_exactly_what_it_says(endpoint: str, entry: str) -> None:
    """Another port, scheme or name is another server; there is no entry for all of them."""
    with pytest.raises(Forbidden):
        await check(endpoint, (entry,), allow_http=True, resolve=outside)


async def test_a_listed_domain_covers_the_names_in_it() -> None:
    """As long as they lead outside."""
    await check("https://a.b.example.com:9000", ("*.example.com",), resolve=outside)


@pytest.mark.parametrize(
    "endpoint",
    [
        *("", "minio", "ftp://x", "https://", "https://u:p@x", "https://x?y", "https://x#y"),
        *("https://x:99999", "https://[x", "http://x"),
    ],
)
async def test_what_is_no_plain_address_is_refused(endpoint: str) -> None:
    """Before anything else; plain HTTP has to be switched on."""
    with pytest.raises(BadRequest) as caught:
        await check(endpoint, ("x", "*.x"), resolve=outside)

    assert "u:p" not in str(caught.value)


async def test_a_name_that_nobody_knows_is_unavailable() -> None:
    """That may change, so it is not the client's mistake."""
    with pytest.raises(StorageUnavailable, match="no such name"):
        await check("https://s3.nowhere-1.amazonaws.com", (), resolve=nowhere)


async def test_names_are_resolved_by_the_system() -> None:
    """The usual way leads to this machine for its own name."""
    assert {"127.0.0.1", "::1"} & set(await resolve("localhost"))
