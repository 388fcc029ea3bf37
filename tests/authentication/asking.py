"""How tests ask servers: who am I, and do you let me in."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from headgate.testing.headgate_server import HeadgateServer, environment

CLIENT_CREDENTIALS = "client_credentials"
TABLES = "/iceberg/v1/default.main/namespaces"
ME = "/api/authn/me"


def sets(*settings: str) -> list[str]:
    """Settings as options of a command."""
    return [word for one in settings for word in ("--set", one)]


class Nodes:
    """Two servers on one database in a file."""

    def __init__(self, folder: Path, *settings: str) -> None:
        options = sets(*settings)
        self.data = folder / "one" / "data"
        self.one = HeadgateServer(folder / "one", *options)
        self.two = HeadgateServer(folder / "two", *options, "--data", str(self.data))
        self._options = options

    def __enter__(self) -> Self:
        self.one.start()
        self.two.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.two.__exit__(kind, error, traceback)
        self.one.__exit__(kind, error, traceback)

    def cli(self, *words: str, typed: str = "") -> Any:
        """What a command on their store answers."""
        return command(*words, "--data", str(self.data), *self._options, typed=typed)

    def said(self) -> str:
        """All that both have logged."""
        return self.one.said() + self.two.said()


def command(*words: str, typed: str = "") -> Any:
    """What a command answers in JSON; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "headgate", *words, "--json"],
        check=False,
        input=typed,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def get(server: HeadgateServer, path: str = TABLES, **options: Any) -> httpx.Response:
    """The answer to a request."""
    return httpx.get(server.url + path, trust_env=False, timeout=30, **options)


def bearer(token: str) -> dict[str, str]:
    """The header of who comes with a token."""
    return {"authorization": f"Bearer {token}"}


def status(server: HeadgateServer, token: str, path: str = TABLES) -> int:
    """What who comes with this token is answered."""
    return get(server, path, headers=bearer(token)).status_code


def token_for(server: HeadgateServer, client: str, secret: str) -> httpx.Response:
    """The answer to a client that wants a token."""
    form = {"grant_type": CLIENT_CREDENTIALS, "client_id": client, "client_secret": secret}
    return httpx.post(f"{server.iceberg_url}/v1/oauth/tokens", data=form, trust_env=False)
