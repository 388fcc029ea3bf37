"""Counts what attempts do, so that none of them holds the event loop for long."""

import asyncio

from headgate.limits import BATCH_ENTRIES_MAX


class Overrun(BaseException):
    """An attempt did more than it is allowed where it runs. No attempt should catch it."""


class Work:
    """How many entries the attempts of a draft looked at or changed, and how many they may.

    It does not know its draft: then drafts would be cyclic garbage.
    """

    __slots__ = ("done", "done_max", "turn_max")

    def __init__(self) -> None:
        self.done = 0
        """By all attempts, also those that were undone."""
        self.done_max = BATCH_ENTRIES_MAX
        """Up to where the attempt that runs now may go."""
        self.turn_max = BATCH_ENTRIES_MAX
        """From where on other tasks are to run before the next attempt."""

    def allow(self, entries: int) -> None:
        """Let the attempt that begins now look at or change this many entries."""
        self.done_max = self.done + entries

    def count(self, entries: int) -> None:
        """Count entries that an attempt looks at or changes; `Overrun` if they are too many."""
        done = self.done = self.done + entries
        if done > self.done_max:
            raise Overrun

    @property
    def is_overrun(self) -> bool:
        """Whether the last attempt did more than was allowed, also if it hides that."""
        return self.done > self.done_max

    @property
    def is_turn_over(self) -> bool:
        """Whether other tasks are to run before the next attempt."""
        return self.done > self.turn_max

    async def give_way(self) -> None:
        """Let other tasks run."""
        await asyncio.sleep(0)
        self.turn_max = self.done + BATCH_ENTRIES_MAX
