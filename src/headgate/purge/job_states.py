"""The states of a purge job."""

from enum import StrEnum


class State(StrEnum):
    """Where a job is in its life."""

    PENDING = "PENDING"
    """It waits for its first or next attempt."""
    RUNNING = "RUNNING"
    """A worker has it."""
    SUCCEEDED = "SUCCEEDED"
    """Every file is gone."""
    DEAD_LETTER = "DEAD_LETTER"
    """It failed too often: it waits for an operator."""
    CANCELLED = "CANCELLED"
    """An operator gave it up; its files stay."""


ENDED = frozenset({State.SUCCEEDED, State.CANCELLED})
"""What is forgotten, by whoever finds it."""
