"""Files of a table that somebody else's purge looks at: each table has so much time, and a store
that does not answer is asked a few times more, and then no more. Runs in a child process."""

from collections.abc import Sequence
from threading import Event
from typing import Protocol

from headgate.clock import Clock
from headgate.errors import StorageUnavailable, TooLarge
from headgate.limits import REFERENCE_STORE_FAILURES_MAX

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

    def __init__(
        self, files: Files, clock: Clock, seconds: float, pauses: Sequence[float] = ()
    ) -> None:
        """Its time of so many seconds begins now."""
        self._files = files
        self._clock = clock
        self._seconds = seconds
        self._until = clock.seconds() + seconds
        self._pauses = list(pauses)
        self._failures = 0
        self.is_late = False
        """Whether something was not read because the time was over."""

    def read(self, location: str) -> bytes:
        """A whole file; `TooLarge` if the time is over."""
        while True:
            self.check_time()
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

    def check_time(self) -> None:
        """Raise `TooLarge` if the time is over."""
        if self._clock.seconds() > self._until:
            self.is_late = True
            raise TooLarge(
                "A table is too large",
                why=f"to read what it refers to takes more than {self._seconds:g} s",
            )
