"""How the demo speaks; that it works is shown by tests/acceptance/test_demo.py."""

import ast
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.cli.demo import code_of, plain, readable
from headgate.cli.main import run
from headgate.cli.tour import STEPS, files_below

Capture = pytest.CaptureFixture[str]


def a_step(catalog: object) -> object:
    """Its docstring is not part of what is shown."""
    numbers = [1, 2]
    return {
        "sum": sum(numbers),
    }


def test_the_code_of_a_step_is_what_a_user_would_write() -> None:
    """Neither the function around it is shown nor its `return`."""
    assert code_of(a_step) == 'numbers = [1, 2]\n{\n    "sum": sum(numbers),\n}'


def test_folders_may_go_while_files_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server deletes them at the same time."""
    for name in ("a/b/c.parquet", "d.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path) == ["c.parquet", "d.json"]
    scan = os.scandir

    def scan_late(folder: Any) -> Any:
        if str(folder) == str(tmp_path / "a"):
            shutil.rmtree(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert files_below(tmp_path) == ["d.json"]


def test_every_step_can_be_shown() -> None:
    """Each has a sentence about it, and its code is Python that fits on a page."""
    for title, step in STEPS.items():
        code = code_of(step)

        assert step.__doc__, title
        assert ast.parse(code).body, title
        assert "return " not in code.splitlines()[-1], title
        assert max(map(len, code.splitlines())) <= 96, title


def test_results_are_readable() -> None:
    """Rows are a table, facts are aligned, the rest is as Python shows it."""
    assert readable(pa.table({"id": [1, 20], "name": ["a", None]})) == "id  name\n1   a\n20"
    assert readable({"then": 2, "in between": 3}) == "then        2\nin between  3"
    assert readable([("a", "b")]) == "[('a', 'b')]"
    assert readable([]) == "[]"
    assert readable(7) == "7"


def test_results_are_plain_for_programs() -> None:
    """A table becomes its rows; what JSON does not have becomes text."""
    assert plain(pa.table({"id": [1]})) == [{"id": 1}]
    assert plain({"a": [1]}) == {"a": [1]}
    assert plain(object) == "<class 'object'>"


def test_a_missing_package_is_named_with_what_to_install(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, exit code 2, and nothing is started."""
    monkeypatch.delitem(sys.modules, "headgate.cli.tour", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert run(["demo"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "headgate: error: the demo cannot run: pyarrow is not installed. "
        "Run pip install 'headgate[demo]', or '.[demo]' in a clone\n"
    )
    assert run(["demo", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["type"] == "Unsupported"
