"""Validation by polling: what was read for one request serves the next ones, until it moves.

A vector that a request has read is kept. Every poll reads all pointers of the kept vectors in one
batch, and drops the vectors of those that moved; a commit of this process drops them at once. What
is not kept is read by the request itself, so no vector is ever patched together, and none that is
given is older than an interval and a read. Polling may be late in taking away, never in giving:
whoever is refused asks again with a read of its own.
"""

import logging
import math
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.calls import Call
from headgate.catalog.kept_vectors import KeptVectors, Keys
from headgate.clock import Clock
from headgate.errors import HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.kernel.pointers import Pointers, Vector
from headgate.kernel.realms import REALMS_KEY

logger = logging.getLogger(__name__)


class PointerReader(Protocol):
    """Reads pointers together; see `kernel.pointers`."""

    async def read_together(self, keys: Keys, known: Vector | None) -> Vector:
        """Their values, all current at one instant. `known` was answered earlier."""
        ...


class Validation(NamedTuple):
    """How requests learn whether what they know is still true."""

    usual: PointerReader
    fresh: PointerReader
    """For whoever must not be late: it asks the database."""

    def reader(self, call: Call) -> PointerReader:
        """The one for this call."""
        return self.fresh if call.is_fresh else self.usual


def per_request(kernel: Kernel) -> Validation:
    """Every request asks the database."""
    return Validation(kernel.pointers, kernel.pointers)


class PollStatistics(msgspec.Struct):
    """What polling did since the process began."""

    polls: int = 0
    failures: int = 0
    fallbacks: int = 0
    """Reads that requests made themselves."""


class Polling:
    """Polls the pointers of one process, and reads them for its requests."""

    def __init__(self, kernel: Kernel, interval_seconds: float) -> None:
        self.statistics = PollStatistics()
        self._clock: Clock = kernel.clock
        self._pointers: Pointers = kernel.pointers
        self._interval_seconds = interval_seconds
        self._kept = KeptVectors()
        self._polled_at = self._clock.seconds()
        self._good_until = -math.inf
        self._fails = False
        self.validation = Validation(self, _Fresh(self._pointers, self._kept))
        kernel.committer.listeners.append(self._kept.forget)

    @property
    def age_seconds(self) -> float:
        """How old the last good poll is."""
        return self._clock.seconds() - self._polled_at

    async def read_together(self, keys: Keys, known: Vector | None) -> Vector:
        """The kept vector if polling works, else one that is read now."""
        vector = self._kept.find(keys)
        if vector is not None and self._clock.seconds() < self._good_until:
            return vector
        self.statistics.fallbacks += 1
        return await self.validation.fresh.read_together(keys, known)

    async def poll_for_ever(self) -> None:
        """Poll once in each interval. While that fails, requests read for themselves."""
        while True:
            began = self._clock.seconds()
            try:
                await self.poll()
            except Exception as error:  # noqa: BLE001  whatever it is, it is tried again
                self._note_failure(error)
            else:
                self._note_success()
            passed = self._clock.seconds() - began
            await self._clock.sleep(max(self._interval_seconds - passed, 0))

    async def poll(self) -> None:
        """Read all pointers that answers rest on, and drop what moved."""
        began, since = self._clock.seconds(), self._kept.turn
        keys = self._kept.pointers or [REALMS_KEY]  # a poll of nothing says nothing
        values = await self._pointers.read(keys)
        self._kept.settle(dict(zip(keys, values, strict=True)), since)
        self.statistics.polls += 1
        self._polled_at = began
        self._good_until = began + 2 * self._interval_seconds

    def _note_failure(self, error: Exception) -> None:
        self.statistics.failures += 1
        if not self._fails:
            unexpected = not isinstance(error, HeadgateError)
            what = "polling fails, so requests read for themselves: %s"
            logger.warning(what, error, exc_info=unexpected)
        self._fails = True

    def _note_success(self) -> None:
        if self._fails:
            logger.warning("polling works again")
        self._fails = False


class _Fresh:
    """Asks the database, and keeps what it says."""

    def __init__(self, pointers: Pointers, kept: KeptVectors) -> None:
        self._pointers = pointers
        self._kept = kept

    async def read_together(self, keys: Keys, known: Vector | None) -> Vector:
        since = self._kept.turn
        vector = await self._pointers.read_together(keys, known)
        self._kept.keep(keys, vector, since)
        return vector
