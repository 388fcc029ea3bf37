"""Real servers as processes of their own, and a real identity provider: Node.js and npm are needed,
and PostgreSQL for one test."""

from collections.abc import Iterator

import pytest

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.identity_provider import IdentityProvider
from tests.authentication.asking import Nodes, sets


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    """One identity provider, for tests that leave it as they found it."""
    with IdentityProvider(tmp_path_factory.mktemp("provider")) as provider:
        yield provider


@pytest.fixture(scope="session")
def believing(
    provider: IdentityProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeadgateServer]:
    """A server that believes this provider, to the second."""
    with HeadgateServer(tmp_path_factory.mktemp("server"), *oidc(provider)) as server:
        yield server


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two servers on one database, which check passwords and tokens of their own.

    Each test has users of its own.
    """
    with Nodes(tmp_path_factory.mktemp("nodes"), "authentication.methods=basic,token") as nodes:
        yield nodes


def oidc(provider: IdentityProvider) -> list[str]:
    """The options of a server that believes a provider."""
    return sets(
        "authentication.methods=oidc",
        f"authentication.oidc.issuers={provider.issuer}={provider.key_set}",
        "authentication.oidc.audience=headgate",
        "authentication.oidc.clock-skew-seconds=0",
    )
