"""Bounds requests: so many are served at once, and each is answered within a limited time."""

import asyncio
from collections import Counter
from typing import Any

from headgate.clock import Clock

Task = asyncio.Task[Any]


class Admission:
    """Counts the requests that are being served. A request that still waits is not among them.

    A quarter of the places is out of reach for any one principal: slow requests of one, such as
    commits that queue for one table, leave places for all others.
    """

    def __init__(self, requests_max: int) -> None:
        self._requests_max = requests_max
        self._per_principal_max = requests_max - requests_max // 4
        self._by_principal: Counter[str] = Counter()
        self.count = 0

    @property
    def full(self) -> bool:
        """Whether every next request has to be sent away."""
        return self.count >= self._requests_max

    def is_full_for(self, principal: str) -> bool:
        """Whether the next request of this principal has to be sent away."""
        return self.full or self._by_principal[principal] >= self._per_principal_max

    def enter(self, principal: str) -> None:
        """Serve one more request."""
        self.count += 1
        self._by_principal[principal] += 1

    def leave(self, principal: str) -> None:
        """Serve one request less."""
        self.count -= 1
        self._by_principal[principal] -= 1
        if not self._by_principal[principal]:
            del self._by_principal[principal]


class Deadlines:
    """The deadlines of all requests, oldest first. One timer waits for the oldest.

    A deadline covers all that a request waits for: authentication, its body, a place, its handler.
    """

    def __init__(self, seconds_max: float, clock: Clock) -> None:
        self._seconds_max = seconds_max
        self._clock = clock
        self._deadlines: dict[Task, float] = {}
        self._overdue: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """How many requests have a deadline now."""
        return len(self._deadlines)

    def enter(self, task: Task, began: float) -> None:
        """Cancel this task when the request that began then has had its time.

        Requests enter in the order in which they began.
        """
        self._deadlines[task] = began + self._seconds_max
        if self._timer is None:
            self._wait(self._seconds_max)

    def leave(self, task: Task) -> None:
        """Forget the deadline of a task whose request has its answer."""
        del self._deadlines[task]
        self._overdue.discard(task)

    def was_late(self, task: Task) -> bool:
        """Whether the cancellation that this task met came from here; if so, it is undone."""
        if task not in self._overdue:
            return False
        task.uncancel()
        return True

    def stop(self) -> None:
        """End all requests now."""
        for task in self._deadlines:
            self._end(task)

    def close(self) -> None:
        """Watch no request any more."""
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
