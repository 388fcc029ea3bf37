"""Numbers of purges: what this process deletes, and how many jobs the store has.

The jobs are the same for every process that looks, so they are never added up. They are read when
somebody asks for numbers, and not more often than every few seconds.
"""

import asyncio
import logging
from collections import Counter
from typing import Protocol

from headgate.clock import Clock
from headgate.errors import HeadgateError
from headgate.http.measures import Samples
from headgate.limits import PURGE_MEASURES_SECONDS, READY_SECONDS
from headgate.purge.inspecting import Found, Inspector
from headgate.purge.job_states import State

LIVE = (State.PENDING, State.RUNNING, State.DEAD_LETTER)
"""The states that jobs can stay in."""
RATE_SECONDS_MIN = 1.0  # between two looks that tell a rate
_MS_PER_SECOND = 1_000

logger = logging.getLogger(__name__)


class Counted(Protocol):
    """What this process deleted since it started."""

    @property
    def files(self) -> int: ...

    @property
    def bytes(self) -> int: ...


class PurgeMeasures:
    """What `/metrics` says of purges; without `counted`, nothing is deleted here."""

    def __init__(self, inspector: Inspector, clock: Clock, counted: Counted | None = None) -> None:
        self._inspector = inspector
        self._clock = clock
        self._counted = counted
        self._jobs: Samples = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()
        self._last = clock.seconds(), 0
        self._rate = 0.0

    async def refresh(self) -> None:
        """Read the jobs anew, unless that was done a moment ago.

        If they cannot be read nothing is said of them: the other numbers are all the more wanted.
        """
        async with self._reading:
            if self._read_at is not None and (
                self._clock.seconds() < self._read_at + PURGE_MEASURES_SECONDS
            ):
                return
            self._jobs = {}
            self._read_at = self._clock.seconds()
            try:
                async with asyncio.timeout(READY_SECONDS):
                    self._jobs = _job_samples(
                        await self._inspector.all_live(), self._clock.wall_ms()
                    )
            except (HeadgateError, TimeoutError) as error:
                logger.warning("the purge jobs cannot be counted: %s", error)

    def samples(self) -> Samples:
        """All of it as it is now, or was when it was read."""
        if self._counted is None:
            return dict(self._jobs)
        return {
            **self._jobs,
            "headgate_purge_files_total": self._counted.files,
            "headgate_purge_bytes_total": self._counted.bytes,
            "headgate_purge_files_per_second": self._files_per_second(self._counted.files),
        }

    def _files_per_second(self, files: int) -> float:
        """Since the look before; looks that follow at once tell the same."""
        now, (then, before) = self._clock.seconds(), self._last
        if now - then >= RATE_SECONDS_MIN:
            self._rate = round((files - before) / (now - then), 1)
            self._last = now, files
        return self._rate


def _job_samples(jobs: list[Found], now_ms: int) -> Samples:
    states = Counter(one.state for one in jobs)
    waiting = [_due_ms(one) for one in jobs if one.state == State.PENDING]
    oldest_ms = now_ms - min(waiting, default=now_ms)
    return {
        **{f'headgate_purge_jobs{{state="{state}"}}': states[state] for state in LIVE},
        "headgate_purge_oldest_pending_seconds": max(oldest_ms, 0) / _MS_PER_SECOND,
    }


def _due_ms(found: Found) -> int:
    """Since when a job could have been done: its grace period is no delay."""
    return max(found.live.job.created_ms, found.live.job.not_before_ms)
