"""Commands in errors, which can be copied as they are."""

from pathlib import Path

import pytest

from headgate.cli.main import run
from headgate.cli.suggestions import for_same_store


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "`headgate realm list`"),
        (["--data", "a b"], "`headgate realm list --data 'a b'`"),
        (["--data=x", "--config", "c.toml"], "`headgate realm list --data x --config c.toml`"),
        (["--backend", "postgresql://u:PW@h/d"], "--backend 'postgresql://u:***@h/d'`"),
        (["--data"], "`headgate realm list`"),
    ],
)
def test_a_command_is_about_the_same_store(arguments: list[str], command: str) -> None:
    """Passwords are not repeated."""
    assert for_same_store("`headgate realm list` shows them", arguments).endswith(
        f"{command} shows them"
    )


def test_other_words_are_left_alone() -> None:
    """They are no commands, or they need no store."""
    text = "`headgate settings` lists `all` of headgate realm list"

    assert for_same_store(text, ["--data", "x"]) == text


def test_an_error_of_a_command_suggests_one_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the store that was looked for."""
    assert run(["realm", "list", "--data", str(tmp_path)]) == 1

    assert f"`headgate serve --data {tmp_path}` makes it" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["realm list", "serve", "token create x"])
def test_a_file_is_no_data_directory(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """That it is a file is said, and not that it is to be made."""
    (tmp_path / "data").touch()
    assert run([*command.split(), "--data", str(tmp_path / "data")]) == 2

    assert f"there can be no store in {tmp_path}/data: it is a file" in capsys.readouterr().err
