"""Parts of third parties: found by name or by path, and what is said of those that are not."""

import os.path
import string
from pathlib import Path

import pytest

from headgate.errors import BadSetting
from headgate.extensions import REASON_CHARS_MAX, Kind, reason
from tests.unit.third_parties import install

KIND = Kind("part", "headgate.test-parts", ("own", "other"))


def test_a_part_is_found_by_the_name_of_its_entry_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever installs a package chooses by name; what is built in comes first."""
    install(monkeypatch, tmp_path, "partner", {KIND.group: {"joined": "os.path:join", "own": "x"}})

    assert KIND.load("joined") is os.path.join
    assert KIND.names() == ("own", "other", "joined")


@pytest.mark.parametrize("path", ["string:Formatter.format", "string:digits", "string.digits"])
def test_a_part_is_found_by_its_import_path(path: str) -> None:
    """With a colon, as entry points are written, or with dots only."""
    wanted = string.digits if path.endswith("digits") else string.Formatter.format

    assert KIND.load(path) is wanted


def test_an_unknown_name_is_refused_with_the_nearest_and_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Installed ones are known too."""
    install(monkeypatch, tmp_path, "partner", {KIND.group: {"joined": "os.path:join"}})
    with pytest.raises(BadSetting) as caught:
        KIND.load("joint")

    assert str(caught.value) == (
        "part 'joint' is unknown: the nearest known name is 'joined'. "
        "Choose one of own, other, joined, or the import path of one, as module:Name"
    )


def test_where_nothing_is_installed_only_a_path_is_advised() -> None:
    """There is no name to choose."""
    with pytest.raises(BadSetting, match=r"'x' is unknown\. Choose the import path of one"):
        Kind("part", "headgate.no-such-group").load("x")


def test_two_packages_with_one_name_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody could know which one it is; the same one twice is no matter."""
    install(monkeypatch, tmp_path / "1", "one", {KIND.group: {"cut": "os.path:split"}})
    install(monkeypatch, tmp_path / "2", "same", {KIND.group: {"cut": "os.path:split"}})
    assert KIND.load("cut") is os.path.split
    install(monkeypatch, tmp_path / "3", "another", {KIND.group: {"cut": "os.path:dirname"}})

    with pytest.raises(BadSetting, match="several packages bring one: os"):
        KIND.load("cut")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no_such_module:X", "'no_such_module' cannot be imported (ModuleNotFoundError: No module"),
        ("string:digit", "'string' has no 'digit'"),
        ("string:Formatter.formats", "'string' has no 'Formatter.formats'"),
        ("string:", "'string' has no ''"),
        (":x", "'' cannot be imported (ValueError: Empty module name)"),
        ("..x", "'.' cannot be imported (TypeError: "),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, why: str) -> None:
    """The refusal says how far it leads."""
    with pytest.raises(BadSetting) as caught:
        KIND.load(path)

    assert caught.value.what == f"part {path!r} cannot be used"
    assert caught.value.why.startswith(why)
    assert caught.value.fix


@pytest.mark.parametrize(
    "raised", ["RuntimeError('broken\\n  badly')", "SystemExit('broken badly')"]
)
def test_a_module_that_breaks_while_it_is_imported_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raised: str
) -> None:
    """On one line, whatever it raises; it does not end the program."""
    (tmp_path / "broken_partner.py").write_text(f"raise {raised}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadSetting, match=r"imported \((RuntimeError|SystemExit): broken badly\)"):
        KIND.load("broken_partner:X")


def test_a_reason_is_one_short_line() -> None:
    """It is put into messages, and into records of jobs."""
    assert reason(ValueError("a\n\tb")) == "ValueError: a b"
    assert reason(ValueError()) == "ValueError"
    assert len(reason(ValueError("x" * 10_000))) == len("ValueError: ") + REASON_CHARS_MAX
