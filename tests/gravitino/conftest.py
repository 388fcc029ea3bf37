"""Gravitino's official client, unmodified, against `headgate serve`; pip fetches it once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.testing.gravitino_client import use_gravitino_client
from headgate.testing.headgate_server import HeadgateServer

use_gravitino_client()

from gravitino import GravitinoAdminClient, GravitinoClient  # noqa: E402  it is there only now
from gravitino.auth.simple_auth_provider import SimpleAuthProvider  # noqa: E402

ADMIN = "root"
"""Whom the settings name: it may create metalakes."""
CHECKING = (
    *("--set", "authorization.enabled=true"),
    *("--set", f"authorization.service-admins={ADMIN}"),
)

Clients = Callable[[str], Any]


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """One server for a module, which checks rights."""
    with HeadgateServer(tmp_path_factory.mktemp("server"), *CHECKING) as server:
        yield server


@pytest.fixture(name="metalake", scope="module")
def _metalake(server: HeadgateServer) -> str:
    """A metalake that the admin created and owns."""
    admin = GravitinoAdminClient(uri=server.url, auth_data_provider=credentials(ADMIN))
    admin.create_metalake("lake", "for tests", {})
    return "lake"


@pytest.fixture(name="client", scope="module")
def _client(server: HeadgateServer, metalake: str) -> Clients:
    """Makes clients of a metalake, each for the user of this name."""
    return lambda user: GravitinoClient(
        uri=server.url, metalake_name=metalake, auth_data_provider=credentials(user)
    )


def credentials(user: str) -> Any:
    """What the client says who it is; by itself it would ask the environment."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAVITINO_USER", user)
        return SimpleAuthProvider()
