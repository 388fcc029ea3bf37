"""The command line in process: answers, failures and exit codes."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headgate
from headgate.cli.main import run
from headgate.cli.version import OPTIONAL, PARTS
from headgate.settings.table import FAMILIES

Capture = pytest.CaptureFixture[str]


def test_version_names_what_runs_here(capsys: Capture) -> None:
    """`headgate version --json` is one object."""
    assert run(["version", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["headgate"] == headgate.__version__
    assert set(found) == {"headgate", "python", "apsw", "sqlite", "platform", *PARTS, *OPTIONAL}


def test_version_is_readable(capsys: Capture) -> None:
    """`headgate version` begins with our own."""
    assert run(["version"]) == 0

    assert capsys.readouterr().out.startswith(f"headgate {headgate.__version__}\npython 3.")


def test_the_version_can_be_asked_for_as_of_any_program(capsys: Capture) -> None:
    """`headgate --version` is one line."""
    assert run(["--version"]) == 0

    assert capsys.readouterr().out == f"headgate {headgate.__version__}\n"


def test_a_missing_driver_is_no_failure(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """An optional part that is not installed is said to be so."""
    monkeypatch.setattr("headgate.cli.version.OPTIONAL", ("no-such-package",))

    assert run(["version"]) == 0
    assert "no-such-package not installed\n" in capsys.readouterr().out


def test_settings_are_listed_with_value_and_source(capsys: Capture) -> None:
    """`headgate settings --json` is a list of objects, passwords masked."""
    backend = "postgresql://u:p@h/d"
    assert run(["settings", "--json", "--backend", backend, "--set", "cache.bytes=1"]) == 0

    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["backend"]["value"] == "postgresql://u:***@h/d"
    assert found["backend"]["source"] == "flag"
    assert (found["cache.bytes"]["value"], found["cache.bytes"]["source"]) == (1, "--set")
    assert found["cache.bytes"]["default"] > 1


def test_settings_show_no_secret(capsys: Capture) -> None:
    """Both forms say that a secret is set, and not what it is."""
    for form in ([], ["--json"]):
        assert run(["settings", *form, "--set", "s3.secret-access-key=hidden:key"]) == 0

        shown = capsys.readouterr().out
        assert "***" in shown
        assert "hidden" not in shown


def test_switches_are_true_or_false(capsys: Capture) -> None:
    """A switch is shown as it is written, and is a boolean for scripts."""
    assert run(["settings", "--set", "read-only=TRUE"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("read-only ")).split()[1:4] == [
        "true",
        "--set",
        "false",
    ]

    assert run(["settings", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert (found["read-only"]["value"], found["read-only"]["type"]) == (False, "bool")


def test_settings_are_listed_by_family(capsys: Capture) -> None:
    """Each family has its heading after an empty line, and its settings below."""
    assert run(["settings"]) == 0

    _, *families = capsys.readouterr().out.split("\n\n")
    names = [[line.split()[0] for line in family.splitlines()[1:]] for family in families]
    assert [family.splitlines()[0] for family in families] == list(FAMILIES)
    assert names == [[one.name for one in family] for family in FAMILIES.values()]


def test_properties_of_a_third_partys_purger_are_listed_too(capsys: Capture) -> None:
    """In the family of purges if they are set; one that is not set has no value."""
    assert run(["settings", "purger", "--set", "purger.audit.file=hidden"]) == 0
    listed = capsys.readouterr().out
    assert run(["settings", "purger.audit.other"]) == 0
    other = capsys.readouterr().out

    assert listed.split("\n\n")[1].splitlines()[0] == "Purges"
    assert "purger.audit.file" in listed
    assert "hidden" not in listed
    assert other.splitlines()[-1].split()[:3] == ["purger.audit.other", "-", "default"]


def test_settings_are_a_table_for_people(capsys: Capture, tmp_path: Path) -> None:
    """`headgate settings` prints one line for each setting."""
    config = tmp_path / "headgate.toml"
    config.write_text("[log]\nlevel = 'debug'\n")
    assert run(["settings", "--config", str(config)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "VALUE", "SOURCE", "DEFAULT", "UNIT", "HELP"]
    assert next(line for line in lines if line.startswith("log.level ")).split()[1:4] == [
        "debug",
        "config",
        "file",
    ]


def test_settings_fit_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting is there with its value, its help and where the value comes from."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((300, 50)))
    assert run(["settings", "--data", "/" + "long/" * 40, "--set", "cache.bytes=1"]) == 0

    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100
    assert "  cache.bytes = 1 bytes\n" in shown
    assert "(from --set; default:" in shown
    for family in FAMILIES.values():
        for one in family:
            assert any(line.startswith(f"  {one.name} = ") for line in lines), one.name


def test_without_a_command_there_is_help(capsys: Capture) -> None:
    """`headgate` and `headgate realm` alone print what they can do."""
    assert run([]) == 0
    assert run(["realm"]) == 0

    assert capsys.readouterr().out.count("Commands:") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "no such command 'no-such'. Try `headgate --help`"),
        (["realm", "create"], "missing argument 'NAME'. Try `headgate realm create --help`"),
        (["settings", "--set", "cache.bytes=x"], "setting 'cache.bytes' from --set cannot be used"),
        (["settings", "--data", "~nosuchuser/x"], "setting 'data' from flag cannot be used"),
        (["settings", "--data", "/x/\udcff"], "setting 'data' from flag cannot be used"),
        (["realm", "list", "--backend", "sqlite://[bad"], "backend 'sqlite:***' cannot be used"),
        (["realm", "list", "--backend", "sqlite:foo.db"], "backend 'sqlite:***' cannot be used"),
        (["realm", "list", "--backend", "sqlite:///a%00b"], "backend 'sqlite:///a%00b' cannot"),
        (["a\nb\udcff"], "no such command"),
        (["settings", "--config", "no/such.toml"], "config file 'no/such.toml' cannot be read: No"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: Capture
) -> None:
    """A mistake of the caller says what, why and what to do."""
    assert run(arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"headgate: error: {message}")
    assert captured.err.count("\n") == 1


def test_with_json_a_failure_is_an_object(capsys: Capture) -> None:
    """Scripts get type, message and fix on standard error."""
    assert run(["settings", "--json", "--set", "cache.bytes=x"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["error"] == {
        "type": "BadSetting",
        "message": "setting 'cache.bytes' from --set cannot be used: "
        "'x' is not a whole number of at least 0 (bytes)",
        "fix": "Correct the value",
    }


def test_a_config_file_that_is_no_text_is_refused(capsys: Capture, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are named as such."""
    config = tmp_path / "headgate.toml"
    config.write_bytes(b"\xff")

    assert run(["settings", "--config", str(config)]) == 2
    assert "it is no UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["settings"]])
def test_a_misplaced_url_is_not_repeated(command: list[str], capsys: Capture) -> None:
    """A URL where none belongs may have a password too."""
    assert run([*command, "postgresql://u:PW@h/db"]) == 2

    assert "PW" not in capsys.readouterr().err


def test_a_line_break_in_a_value_does_not_break_the_table(capsys: Capture) -> None:
    """Each setting is one line, whatever its value."""
    assert run(["settings", "--data", "/a\nb"]) == 0

    assert "/a\\nb" in capsys.readouterr().out


def test_an_unexpected_error_is_one_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line has no words of the error, which may be secret, but says how to see more."""
    monkeypatch.setattr("headgate.cli.version.versions", lambda: int("PW"))
    assert run(["version"]) == 1
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err == (
        "headgate: error: unexpected ValueError. `--set log.level=debug` shows where\n"
    )


def test_the_traceback_of_an_unexpected_error_is_logged(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the log level that the line names there is a traceback."""
    monkeypatch.setattr("headgate.cli.settings.described", lambda _: int("x"))
    assert run(["settings", "--json", "--set", "log.level=debug"]) == 1
    err = capsys.readouterr().err

    assert "Traceback" in err
    assert json.loads(err.splitlines()[-1])["error"]["message"] == "unexpected ValueError"


def test_output_that_cannot_be_written_is_a_failure(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk below the output is said in one line."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert run(["version"]) == 1

    err = capsys.readouterr().err
    assert err.startswith("headgate: error: input or output failed: No space left on device. ")
    assert err.count("\n") == 1


def test_without_standard_output_nothing_is_done(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command whose answer nobody could see is not begun."""
    monkeypatch.setattr(sys, "stdout", None)
    assert run(["version"]) == 1

    assert capsys.readouterr().err.startswith("headgate: error: there is no standard output")


@pytest.mark.parametrize("columns", [60, 80])
def test_settings_fit_the_terminal(
    columns: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if only COLUMNS says how wide it is."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("headgate.cli.settings.environment", lambda: {"COLUMNS": str(columns)})
    assert run(["settings"]) == 0

    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("s3.region", {"s3.region"}),
        ("gcs.allow", {"gcs.allow-http"}),
        ("gravitino.server.webserver.host", {"http.host"}),
    ],
)
def test_settings_can_be_chosen_by_name(name: str, found: set[str], capsys: Capture) -> None:
    """By a whole name, by its beginning, or by another name of the same."""
    assert run(["settings", name, "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)} == found
    assert run(["settings", name]) == 0
    _, _, family, *lines = capsys.readouterr().out.splitlines()
    assert family.istitle()
    assert {line.split()[0] for line in lines} == found


def test_a_setting_that_is_unknown_cannot_be_shown(capsys: Capture) -> None:
    """The nearest is named."""
    assert run(["settings", "s3.regoin"]) == 2

    assert "the nearest known name is 's3.region'" in capsys.readouterr().err


def test_a_store_in_memory_is_nobody_elses(capsys: Capture) -> None:
    """A command would look at an empty one of its own."""
    assert run(["realm", "list", "--backend", "memory:"]) == 2

    assert "memory: lives only inside of a server" in capsys.readouterr().err


def test_an_id_that_is_none_is_refused_with_what_one_looks_like(capsys: Capture) -> None:
    """Not with the words of a parser."""
    assert run(["log", "--since", "abc"]) == 2

    assert "'abc' is no id of a commit; `headgate log` shows them" in capsys.readouterr().err


def test_who_interrupts_it_while_it_is_loaded_is_answered_as_later() -> None:
    """With one line and not with a trace."""
    program = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "headgate.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("headgate", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "headgate: interrupted\n")
