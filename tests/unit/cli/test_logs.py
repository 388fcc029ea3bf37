"""Log messages as text and as JSON."""

import json
import logging
from collections.abc import Iterator

import pytest

from headgate.cli import logs


@pytest.fixture(autouse=True)
def own_root_logger() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_carry_the_fields_of_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    """A message is one object with time, level, logger, message and what was added."""
    logs.set_up("info", "json")
    logging.getLogger("headgate.x").info("kept %d", 3, extra={"fields": {"realm": "demo"}})

    line = json.loads(capsys.readouterr().err)
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "logger": "headgate.x", "message": "kept 3", "realm": "demo"}


def test_json_lines_carry_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """An error's traceback stays inside of its line."""
    logs.set_up("info", "json")
    try:
        int("x")
    except ValueError:
        logging.getLogger("headgate.x").exception("failed")

    line = json.loads(capsys.readouterr().err)
    assert "ValueError" in line["error"]


def test_text_lines_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """A line has the time, the level, the logger and the message."""
    logs.set_up("warning", "text")
    logging.getLogger("headgate.x").info("not shown")
    logging.getLogger("headgate.x").warning("shown")

    assert capsys.readouterr().err.endswith("Z WARNING headgate.x: shown\n")
