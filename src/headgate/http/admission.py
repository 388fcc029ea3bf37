"""Who is being served: at most so many requests at once, and each for a limited time."""

import asyncio
from typing import Any

from headgate.clock import Clock

Task = asyncio.Task[Any]


class Admission:
    """The requests under way, oldest first. One timer serves them all: it waits for the oldest."""

    def __init__(self, requests_max: int, seconds_max: float, clock: Clock) -> None:
        self._requests_max = requests_max
        self._seconds_max = seconds_max
        self._clock = clock
        self._deadlines: dict[Task, float] = {}
        self._overdue: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """How many requests are under way."""
        return len(self._deadlines)

    @property
    def full(self) -> bool:
        """Whether the next one has to be sent away."""
        return len(self._deadlines) >= self._requests_max

    def enter(self, task: Task) -> None:
        """This task serves a request from now on; it is cancelled when its time is up."""
        self._deadlines[task] = self._clock.seconds() + self._seconds_max
        if self._timer is None:
            self._wait(self._seconds_max)

    def leave(self, task: Task) -> None:
        """Its request is answered."""
        del self._deadlines[task]
        self._overdue.discard(task)

    def was_late(self, task: Task) -> bool:
        """Whether the cancellation that this task met came from here; if so, it is undone."""
        if task not in self._overdue:
            return False
        task.uncancel()
        return True

    def stop(self) -> None:
        """Time is up for everybody."""
        for task in self._deadlines:
            self._end(task)

    def close(self) -> None:
        """Nobody is watched any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """End what is overdue, and come back when the oldest of the others will be."""
        self._timer = None
        now = self._clock.seconds()
        for task, deadline in self._deadlines.items():
            if deadline > now:
                self._wait(deadline - now)
                return
            self._end(task)

    def _end(self, task: Task) -> None:
        if task not in self._overdue:
            self._overdue.add(task)
            task.cancel()
