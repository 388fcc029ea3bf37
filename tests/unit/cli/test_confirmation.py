"""Commands that delete: asked for at a terminal, `--yes` everywhere else."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headgate.cli.main import cli, run

Capture = pytest.CaptureFixture[str]

DELETING = {
    "catalog delete": "a",
    "group drop": "ops",
    "jobs cancel": "17",
    "realm delete": "old",
    "realm purge": "old",
    "user drop": "ann",
}
"""All of them, each with what it is told to delete."""
VERBS = {"cancel", "delete", "drop", "forget", "purge", "remove"}


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands below a group by their full names."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


@pytest.fixture
def store(tmp_path: Path, capsys: Capture) -> list[str]:
    """A store with something to delete for each of them."""
    store = ["--data", str(tmp_path)]
    for words in (
        ["realm", "create", "default"],
        ["realm", "create", "old"],
        ["realm", "deactivate", "old"],
        ["catalog", "create", "a", "--warehouse", "s3://b/w"],
        ["user", "create", "ann", "--no-password"],
        ["group", "create", "ops"],
    ):
        assert run([*words, *store]) == 0
    capsys.readouterr()
    return store


def state(store: list[str], capsys: Capture) -> list[object]:
    """All that could be deleted."""
    found = []
    for words in (["realm", "list"], ["catalog", "list"], ["user", "list"], ["group", "list"]):
        assert run([*words, "--json", *store]) == 0
        found.append(json.loads(capsys.readouterr().out))
    return found


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put a terminal in the place of standard input."""
    terminal = io.StringIO(text)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)


def test_every_command_that_deletes_has_the_option() -> None:
    """Pipelines are told by options of their own what they may delete."""
    named = {
        name: command
        for name, command in commands(cli)
        if name.split()[-1] in VERBS and not name.startswith("pipeline ")
    }

    assert set(named) == set(DELETING)
    for command in named.values():
        assert "yes" in {parameter.name for parameter in command.params}


@pytest.mark.parametrize("command", DELETING)
def test_nothing_is_deleted_without_a_terminal_and_without_yes(
    command: str, store: list[str], capsys: Capture
) -> None:
    """One line says what to add, for the same store, and the exit code is 2."""
    before = state(store, capsys)
    words = [*command.split(), DELETING[command], *store]

    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "Nothing is deleted: the command asks for confirmation" in err
    again = f"`headgate {command} {DELETING[command]} --yes {' '.join(store)}`"
    assert again in err
    assert run([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["type"] == "BadRequest"
    assert state(store, capsys) == before


@pytest.mark.parametrize("command", DELETING)
def test_nothing_is_deleted_if_a_terminal_says_no(
    command: str, store: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question names what would be deleted."""
    before = state(store, capsys)
    answer(monkeypatch, "n\n")

    assert run([*command.split(), DELETING[command], *store]) == 1
    err = capsys.readouterr().err
    assert DELETING[command] in err.split("?")[0]
    assert err.endswith("Nothing is deleted.\n")
    assert state(store, capsys) == before


@pytest.mark.parametrize("command", ["catalog delete", "group drop", "realm purge", "user drop"])
@pytest.mark.parametrize("option", ["--yes", ""])
def test_what_is_confirmed_is_deleted(
    command: str, option: str, store: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the option, or at a terminal."""
    before = state(store, capsys)
    if not option:
        answer(monkeypatch, "y\n")

    assert run([*command.split(), DELETING[command], *store, *([option] if option else [])]) == 0
    capsys.readouterr()
    assert state(store, capsys) != before


def test_the_command_to_repeat_is_whole(store: list[str], capsys: Capture) -> None:
    """Options that change what is deleted are part of it, and names are quoted."""
    for words, again in {
        ("realm", "purge", "old", "--abandon-files"): "realm purge old --abandon-files --yes",
        ("group", "drop", "on call", "--force"): "group drop 'on call' --force --yes",
        ("catalog", "delete", "a", "--metalake", "m x"): "catalog delete a --metalake 'm x' --yes",
    }.items():
        assert run([*words, *store]) == 2
        assert f"`headgate {again} " in capsys.readouterr().err
