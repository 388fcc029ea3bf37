"""Exports by real commands, on real databases, of what a real server made."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TypeVar

import pytest

from headgate.cli.main import run
from headgate.kernel.kernel import Kernel
from headgate.settings.loading import load
from headgate.testing.headgate_server import HeadgateServer
from headgate.wiring import open_kernel

T = TypeVar("T")


class Site:
    """A store, commands on it, and a server that can be started."""

    def __init__(self, folder: Path, backend: str) -> None:
        self.folder = folder
        self.backend = backend
        self.server = HeadgateServer(folder, *(("--backend", backend) if backend else ()))

    @property
    def store(self) -> list[str]:
        """How commands are told which store is meant."""
        own = ["--data", str(self.folder / "data")]
        return [*own, "--backend", self.backend] if self.backend else own

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "headgate", *words, *self.store]

    def run(self, *words: str, code: int = 0) -> str:
        """What a command says; it must end with this code."""
        said = StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            ended = run([*words, *self.store])
        assert ended == code, said.getvalue()
        return said.getvalue()

    def vanish(self, metalake: str) -> None:
        """Let a metalake be gone, but for the files of its tables."""
        self.run("realm", "deactivate", metalake)
        self.run("realm", "purge", metalake, "--yes", "--abandon-files")
        self.run("realm", "delete", metalake, "--yes")

    def look(self, work: Callable[[Kernel], Awaitable[T]], *, writable: bool = False) -> T:
        """Do something with the store."""

        async def done() -> T:
            sets = [f"data={self.folder / 'data'}"]
            sets += [f"backend={self.backend}"] if self.backend else []
            async with open_kernel(load(sets=sets), writable=writable) as kernel:
                return await work(kernel)

        return asyncio.run(done())


@pytest.fixture(name="site", params=["sqlite", "postgresql"])
def _site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """A store on each database."""
    backend = ""
    if request.param == "postgresql":
        backend = request.getfixturevalue("postgresql_server").create_database()
    return Site(tmp_path / "site", backend)
