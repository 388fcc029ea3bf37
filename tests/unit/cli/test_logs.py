"""Log messages as text and as JSON."""

import json
import logging

import pytest

from headgate.cli import logs
from headgate.http.access_log import AccessLog, Exchange
from headgate.http.standing import Answer


def exchange() -> Exchange:
    answer = Answer("GET", "/a", "anonymous", None, "/{name}", 200, [], b"")
    return Exchange(answer, "id-1", 1_000, 0.001, 1)


async def test_json_lines_say_each_fact_of_a_request_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message does not repeat the fields."""
    logs.set_up("info", "json", access=True)
    log = AccessLog()
    log.add(exchange())
    log.write()

    text = capsys.readouterr().err
    line = json.loads(text)
    assert (line["message"], line["path"], line["status"]) == ("request", "/a", 200)
    assert (text.count("id-1"), text.count("/{name}"), text.count("GET")) == (1, 1, 1)


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


@pytest.mark.parametrize("level", ["debug", "warning", "error"])
@pytest.mark.parametrize("access", [True, False])
async def test_requests_are_logged_whatever_the_level(
    level: str, access: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """They have a setting of their own; other messages of their level are not shown with them."""
    logs.set_up(level, "text", access=access)
    log = AccessLog()
    wanted = log.wanted
    if wanted:
        log.add(exchange())
        log.write()
    logging.getLogger("headgate.x").info("told")

    said = capsys.readouterr().err
    assert wanted == access
    assert ("GET /a" in said) == access
    assert ("told" in said) == (level == "debug")


def test_text_lines_are_followed_by_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """Below the message, as Python prints it."""
    logs.set_up("warning", "text")
    try:
        int("x")
    except ValueError:
        logging.getLogger("headgate.x").exception("failed")

    first, second, *_, last = capsys.readouterr().err.splitlines()
    assert first.endswith("ERROR headgate.x: failed")
    assert second.startswith("Traceback")
    assert last.startswith("ValueError: ")


def test_nobody_forges_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Line ends and control characters are escaped, also those that only some readers know."""
    logs.set_up("info", "text")
    logging.getLogger("headgate.x").info("from %s", "me\n2026 WARNING fake\x1b[31m\u2028\x85")

    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(r"from me\n2026 WARNING fake\x1b[31m\u2028\x85")


def test_a_name_is_one_word() -> None:
    """It cannot say who else it is, or in which request."""
    plain = exchange()
    sly = Exchange(plain.answer._replace(principal="a principal=b\n"), "id-1", 1_000, 0.001, 1)

    assert " principal=anonymous request=id-1" in str(plain)
    assert r" principal='a principal=b\n' request=id-1" in str(sly)
