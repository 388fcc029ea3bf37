"""A real identity provider, certified for OpenID Connect, as a process of its own."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from headgate.testing.child import Child
from headgate.testing.npm import node, oidc_provider
from headgate.testing.private_server import PrivateServer, free_port

PROGRAM = Path(__file__).with_suffix(".mjs")
READY = "identity provider ready"
START_SECONDS_MAX = 60.0


class IdentityProvider(PrivateServer):
    """Issues tokens as its program says. It keeps its address and its keys over restarts, until it
    gets other keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._keys = folder / "keys.json"
        self._child: Child | None = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key_set(self) -> str:
        """The address of its public keys."""
        return f"{self.issuer}/jwks"

    @property
    def keys(self) -> list[dict[str, Any]]:
        """Its private keys, for tests that forge."""
        found: list[dict[str, Any]] = json.loads(self._keys.read_text())["keys"]
        return found

    def start(self) -> None:
        """Ready on return, at the same address as before."""
        program = oidc_provider() / PROGRAM.name
        if not program.exists() or program.read_bytes() != PROGRAM.read_bytes():
            draft = program.with_name(f"{program.name}.{os.getpid()}")
            shutil.copyfile(PROGRAM, draft)  # a module finds what it imports beside itself
            draft.replace(program)
        command = [node(), str(program), str(self.port), str(self._keys)]
        self._child = Child(command, self.folder / "identity-provider.log")
        self._child.wait_until(lambda: READY in self._said() or None, START_SECONDS_MAX)

    def stop(self) -> None:
        """It does not answer any more."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def rotate(self) -> None:
        """Restart with other keys."""
        self.stop()
        self._keys.unlink()
        self.start()

    def remove(self) -> None:
        self.stop()

    def _said(self) -> str:
        assert self._child
        return self._child.said()
