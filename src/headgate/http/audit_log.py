"""Decisions as lines of JSON, written by a thread of their own.

A request waits for no disk: its decision is put into a queue. What cannot be written is counted
and said once; requests go on.
"""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Protocol, Self

import msgspec

from headgate.access.auditing import Decision
from headgate.http.measures import Samples
from headgate.limits import AUDIT_CLOSE_SECONDS, AUDIT_GATHER_SECONDS, AUDIT_WAITING_MAX

logger = logging.getLogger(__name__)


class Lines(Protocol):
    """Where lines are written."""

    def append(self, lines: bytes) -> None:
        """Write these; OSError if that fails."""
        ...

    def close(self) -> None:
        """Write no more."""
        ...


class AuditLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision as it is written."""

    time: datetime
    request: str
    principal: str
    action: str
    metalake: str
    object: tuple[str, ...]
    allowed: bool
    why: str = ""
    groups: tuple[str, ...] = ()
    address: str = ""
    times: int = 1


class AuditLog:
    """Records refusals and changes, and a sample of all else that is allowed.

    `chance` gives numbers from 0 to 1; those below `sampling` are the sample.
    """

    def __init__(self, file: Lines, sampling: float, chance: Callable[[], float]) -> None:
        self.written = 0
        self._failed = 0
        self._turned_away = 0
        self._file = file
        self._sampling = sampling
        self._chance = chance
        self._waiting: SimpleQueue[Decision | None] = SimpleQueue()
        self._closing = threading.Event()
        self._writer = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._is_failing = False

    def __enter__(self) -> Self:
        self._writer.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._waiting.put(None)
        self._writer.join(AUDIT_CLOSE_SECONDS)

    def decided(self, decision: Decision) -> None:
        """Record this soon, or a sample of its like."""
        if not decision.matters and self._chance() >= self._sampling:
            return
        if self._waiting.qsize() >= AUDIT_WAITING_MAX:
            self._turned_away += 1
            self._complain("it is written too slowly")
        else:
            self._waiting.put(decision)

    @property
    def lost(self) -> int:
        """How many decisions should have been recorded and are not."""
        return self._failed + self._turned_away

    def samples(self) -> Samples:
        """What was recorded and what could not be."""
        return {
            "headgate_audit_records_total": self.written,
            "headgate_audit_records_lost_total": self.lost,
        }

    def _write_all(self) -> None:
        """The thread: write what comes, all of a moment at once, until there is no more."""
        goes_on = True
        while goes_on:
            first = self._waiting.get()
            self._closing.wait(AUDIT_GATHER_SECONDS)
            decisions = [first, *self._rest()]
            goes_on = None not in decisions
            self._write([one for one in decisions if one is not None])
        self._file.close()

    def _rest(self) -> list[Decision | None]:
        found: list[Decision | None] = []
        while True:
            try:
                found.append(self._waiting.get_nowait())
            except Empty:
                return found

    def _write(self, decisions: list[Decision]) -> None:
        if not decisions:
            return
        try:
            self._file.append(b"".join(map(_line, decisions)))
        except (OSError, ValueError) as error:
            self._failed += len(decisions)
            self._complain(str(error))
        else:
            self.written += len(decisions)
            self._is_failing = False

    def _complain(self, why: str) -> None:
        """Say it once, until it works again."""
        if not self._is_failing:
            self._is_failing = True
            logger.error("the audit cannot be written: %s; requests go on without it", why)


def _line(decision: Decision) -> bytes:
    time = datetime.fromtimestamp(decision.time_ms / 1000, UTC)
    return msgspec.json.encode(AuditLine(time, *decision[1:])) + b"\n"
