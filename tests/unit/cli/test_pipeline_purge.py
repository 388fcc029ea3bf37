"""`headgate pipeline purge`: what it says when there is nothing to do."""

from typing import Any

import pytest

from headgate.cli.main import run
from headgate.errors import JobNotFound
from headgate.pipelines.server import Server

DRY = ("pipeline", "purge", "--dry-run")


@pytest.fixture(name="asked", autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """A server without jobs, and how it was asked for them."""
    asked: list[dict[str, str]] = []

    def get(_self: Server, path: str, **query: str) -> Any:
        if path.endswith("/files"):
            raise JobNotFound("no such job")
        asked.append(query)
        return {"jobs": [], "next-page-token": None}

    monkeypatch.setattr(Server, "get", get)
    return asked


def test_that_no_job_waits_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """For scripts it is an empty list."""
    assert run(DRY) == run([*DRY, "--catalog", "main"]) == run([*DRY, "--json"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "There is no job that is PENDING; `headgate jobs list` shows all.",
        "There is no job of catalog 'main' that is PENDING; `headgate jobs list` shows all.",
        '{"jobs":[]}',
    ]


def test_jobs_of_one_metalake_are_asked_for(asked: list[dict[str, str]]) -> None:
    """Of all if none is named."""
    assert run(DRY) == run([*DRY, "--metalake", "shop"]) == 0

    assert [one["metalake"] for one in asked] == ["", "shop"]
