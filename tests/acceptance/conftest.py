"""The real `headgate` executable, on a fresh store of each kind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXECUTABLE = Path(sys.executable).with_name("headgate")


class Headgate:
    """Runs `headgate` with the options that choose a store."""

    def __init__(self, store: list[str], folder: Path) -> None:
        self.store = store
        self._folder = folder

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [EXECUTABLE, *arguments, *self.store],
            cwd=self._folder,
            env={name: text for name, text in os.environ.items() if name[:9] != "HEADGATE_"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, expect: int = 0) -> tuple[str, str]:
        """Standard output and standard error of a run that ends with this exit code."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == expect, out + err
        return out, err

    def json(self, *arguments: str) -> Any:
        out, err = self.run(*arguments, "--json")
        assert err == ""
        return json.loads(out)

    def json_lines(self, *arguments: str) -> list[dict[str, Any]]:
        out, err = self.run(*arguments, "--json")
        assert err == ""
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(name="database", params=["sqlite", "postgresql"])
def _database(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(name="headgate")
def _headgate(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Headgate:
    store = ["--data", str(tmp_path / "data")]
    if database == "postgresql":
        create: Callable[[], str] = request.getfixturevalue("postgresql_server").create_database
        store += ["--backend", create()]
    return Headgate(store, tmp_path)
