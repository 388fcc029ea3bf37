"""Files of a table that somebody else's purge looks at: each table has so much time, and a store
that does not answer is asked a few times more, and then no more. Runs in a child process."""

from collections.abc import Sequence
from threading import Event
from typing import Protocol

from headgate.clock import Clock
from headgate.errors import StorageUnavailable, TooLarge
from headgate.limits import REFERENCE_STORE_FAILURES_MAX, REFERENCE_TABLE_SECONDS_MAX

PAUSES_SECONDS = (0.2, 1.0)
"""Before a store that did not answer is asked again."""


class Files(Protocol):
    """Files as they are read."""

    def read(self, location: str) -> bytes:
        """A whole file, or FileMissing."""
        ...

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if what is missing may only be out of sight."""
        ...


class PatientFiles:
    """The files of one table, read until its time is over."""

    def __init__(self, files: Files, clock: Clock, pauses: Sequence[float] = ()) -> None:
        self._files = files
        self._clock = clock
        self._until = clock.seconds() + REFERENCE_TABLE_SECONDS_MAX
        self._pauses = list(pauses)
        self._failures = 0

    def read(self, location: str) -> bytes:
        """A whole file; `TooLarge` if the time is over."""
        while True:
            self._check_time()
            try:
                return self._asked(location)
            except StorageUnavailable:
                self._failures += 1
                if not self._pauses:
                    raise
                Event().wait(self._pauses.pop(0))

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if what is missing may only be out of sight."""
        self._files.check_store(location, may_be_empty=may_be_empty)

    def _asked(self, location: str) -> bytes:
        if self._failures >= REFERENCE_STORE_FAILURES_MAX:
            raise StorageUnavailable("It is not read", why="its storage did not answer before")
        return self._files.read(location)

    def _check_time(self) -> None:
        if self._clock.seconds() > self._until:
            raise TooLarge(
                "A table is too large",
                why=f"to read what it refers to takes more than {REFERENCE_TABLE_SECONDS_MAX:g} s",
            )
