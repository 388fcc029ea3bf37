"""Lines, written together."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headgate.cli.logs import JsonLines, TextLines
from headgate.http import access_log
from headgate.http.access_log import LINES_MAX, AccessLog, Exchange
from headgate.http.standing import Answer


class Stream(io.StringIO):
    """Counts how often it is written to."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@contextmanager
def logged(formatter: logging.Formatter, level: int = logging.NOTSET) -> Iterator[Stream]:
    stream = Stream()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.setLevel(level)
    access_log.logger.addHandler(handler)
    access_log.logger.setLevel(logging.INFO)
    access_log.logger.propagate = False
    try:
        yield stream
    finally:
        access_log.logger.removeHandler(handler)
        access_log.logger.setLevel(logging.NOTSET)
        access_log.logger.propagate = True


def exchange(number: int = 1) -> Exchange:
    answer = Answer("GET", "/a%2Fb", "anonymous", None, "/{a}", 200, [], b"1234567")
    return Exchange(answer, f"id-{number}", 1_000, 0.0015, 2)


async def test_lines_of_a_moment_are_written_at_once() -> None:
    """A write for each would cost more than the request."""
    with logged(TextLines()) as stream:
        log = AccessLog()
        for number in range(3):
            log.add(exchange(number))
        assert stream.getvalue() == ""
        await asyncio.sleep(0.1)

        assert stream.writes == 1
        assert stream.getvalue().splitlines()[2] == (
            "1970-01-01T00:00:01.000Z INFO headgate.access: GET /a%2Fb 200 1.5 ms 7 bytes 2 reads "
            "route=/{a} principal=anonymous request=id-2"
        )


def test_json_lines_have_fields() -> None:
    """For programs that read logs."""
    with logged(JsonLines()) as stream:
        log = AccessLog()
        log._waiting = [exchange()]
        log.write()

        line = json.loads(stream.getvalue())
    assert line["time"] == "1970-01-01T00:00:01.000Z"
    assert (line["ms"], line["database_reads"], line["route"]) == (1.5, 2, "/{a}")


async def test_a_full_collection_is_written_without_waiting() -> None:
    """So that writing never takes long."""
    with logged(TextLines()) as stream:
        log = AccessLog()
        for number in range(LINES_MAX):
            log.add(exchange(number))

        assert len(stream.getvalue().splitlines()) == LINES_MAX
        log.write()
        assert stream.writes == 1


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
async def test_a_handler_gets_what_it_wants(level: int) -> None:
    """Its level holds for these lines as for all others."""
    with logged(TextLines(), level) as stream:
        log = AccessLog()
        log.add(exchange())
        log.write()

        assert bool(stream.getvalue()) == (level == logging.INFO)


async def test_other_handlers_get_one_record_after_the_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only plain streams are known well enough to write to directly."""
    with caplog.at_level(logging.INFO, "headgate.access"):
        log = AccessLog()
        assert log.wanted
        log.add(exchange(1))
        log.add(exchange(2))
        log.write()

    assert [message.rpartition("=")[2] for message in caplog.messages] == ["id-1", "id-2"]
