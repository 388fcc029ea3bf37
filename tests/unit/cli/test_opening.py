"""Commands that only read make no store where there is none."""

import json
from pathlib import Path

import pytest

from headgate.cli.main import run

READING = [
    ["log"],
    ["realm", "list"],
    ["catalog", "list"],
    ["catalog", "show", "main"],
    ["jobs", "list"],
    ["jobs", "show", "17"],
    ["jobs", "cancel", "17", "--yes"],
    ["work"],
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
@pytest.mark.parametrize("by_url", [True, False])
def test_a_store_that_is_not_there_is_not_made_to_be_read(
    command: list[str], by_url: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said where it was looked for and what to do."""
    data = tmp_path / "no data"
    file = data / "headgate.db"
    backend = ["--backend", f"sqlite://{tmp_path}/no%20data/headgate.db"] if by_url else []
    assert run([*command, "--json", "--data", str(data), *backend]) == 1

    captured = capsys.readouterr()
    problem = json.loads(captured.err)["error"]
    assert captured.out == ""
    assert problem["message"] == f"there is no store: {file} does not exist"
    assert f"`headgate serve --data '{data}'" in problem["fix"]
    assert list(tmp_path.iterdir()) == []
