"""What a server and a program that works on one of its jobs tell each other: the program reports,
and the answer is an order."""

import msgspec

from headgate.purge.deleter import Progress, Task
from headgate.workers.frames import Failure

LOST = "LOST"
"""Stands for the state of a job that is somebody else's."""


class Report(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """What a program tells of its work."""

    token: str
    number: int
    """1, 2, and so on: one that comes twice counts once. 0 only asks what is to be done first."""
    progress: Progress | None = None
    has_ended: bool = False
    """The stage is done, as far as it can be."""
    error: Failure | None = None
    """Why it cannot be done."""


class Order(msgspec.Struct, frozen=True, rename="kebab"):
    """What a program is to do now."""

    task: Task | None = None
    """A stage to be begun; if there is none, and no state, the one under way goes on."""
    state: str = ""
    """Of the job, when there is nothing more to be done."""
    why: str = ""
    """Why it did not succeed."""


class Claimed(msgspec.Struct, frozen=True, rename="kebab"):
    """A job that a program has now."""

    token: str
    """To be sent with each report."""
    silence_seconds: float
    """So long after the last report that was answered the program deletes nothing more."""
    order: Order
