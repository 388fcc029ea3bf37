"""One line per request.

Lines are collected for a moment and written together: a write for each would cost more than all
else that the front does.
"""

import asyncio
import logging
import re
from typing import Any

from headgate.http.standing import Answer

WRITE_AFTER_SECONDS = 0.02
LINES_MAX = 100  # written at once: about a millisecond

_PLAIN = re.compile(r"[\w.@+:/-]+")

logger = logging.getLogger("headgate.access")


class Exchange:
    """A request and what came of it."""

    __slots__ = ("answer", "at_ms", "id", "reads", "seconds")

    def __init__(self, answer: Answer, id: str, at_ms: int, seconds: float, reads: int) -> None:
        self.answer = answer
        self.id = id
        self.at_ms = at_ms
        self.seconds = seconds
        self.reads = reads

    def __str__(self) -> str:
        answer = self.answer
        return (
            f"{answer.method} {answer.path} {answer.status} {self.seconds * 1000:.1f} ms"
            f" {len(answer.body)} bytes {self.reads} reads"
            f" route={answer.template} principal={_word(answer.principal)} request={self.id}"
        )

    def fields(self) -> dict[str, object]:
        """The same for logs that are lines of JSON."""
        answer = self.answer
        return {
            "method": answer.method,
            "path": answer.path,
            "route": answer.template,
            "status": answer.status,
            "ms": round(self.seconds * 1000, 3),
            "bytes": len(answer.body),
            "database_reads": self.reads,
            "request_id": self.id,
            "principal": answer.principal,
        }


def _word(name: str) -> str:
    """A name that cannot be taken for several things."""
    return name if _PLAIN.fullmatch(name) else ascii(name)


class AccessLog:
    """Writes exchanges to where log messages of level INFO go."""

    def __init__(self) -> None:
        self._waiting: list[Exchange] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody reads it."""
        return logger.isEnabledFor(logging.INFO)

    def add(self, exchange: Exchange) -> None:
        """Log this request soon."""
        self._waiting.append(exchange)
        if len(self._waiting) >= LINES_MAX:
            self.write()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITE_AFTER_SECONDS, self.write)

    def write(self) -> None:
        """Log what has been collected, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        records = [_Record(exchange) for exchange in self._waiting]
        self._waiting = []
        if records:
            for handler in _handlers():
                _write(handler, records)


class _Record(logging.LogRecord):
    """What logging makes of a message, without asking where in the program it was made."""

    _all_alike = vars(logging.LogRecord(logger.name, logging.INFO, "", 0, "", (), None))

    def __init__(self, exchange: Exchange) -> None:
        self.__dict__.update(self._all_alike)
        self.msg: Any = exchange
        self.created = exchange.at_ms / 1000

    @property
    def fields(self) -> dict[str, object]:
        """Read by formatters that write JSON."""
        return self.msg.fields()  # type: ignore[no-any-return]


def _handlers() -> list[logging.Handler]:
    """Those that a message of ours would reach."""
    found: list[logging.Handler] = []
    level: logging.Logger | None = logger
    while level is not None:
        found += level.handlers
        level = level.parent if level.propagate else None
    return found


def _write(handler: logging.Handler, records: list[_Record]) -> None:
    """Hand these to a handler; one that writes to a stream writes once."""
    if type(handler) is not logging.StreamHandler:
        for record in records:
            if record.levelno >= handler.level:
                handler.handle(record)
        return
    if handler.level > logging.INFO:
        return
    text = "".join(handler.format(record) + handler.terminator for record in records)
    handler.acquire()
    try:
        handler.stream.write(text)
        handler.flush()
    finally:
        handler.release()
