"""What a scenario is told: it runs in a process of its own, and reads this when it begins."""

import os
from pathlib import Path

import msgspec

VARIABLE = "HEADGATE_SWARM_PLAN"
"""Names the file with the plan."""


class Plan(msgspec.Struct, frozen=True):
    """Tables, and how many clients do what with them."""

    tables: str
    """The path of all of them, on their server."""
    doomed: list[str]
    """Tables that are dropped, by a client each."""
    loaded: list[str]
    readers: int
    changed: list[str]
    """Tables that others commit to, by a client each."""
    churners: int
    """Clients that make small tables, and drop them."""
    begun: str
    """A file that is written when the dropping begins."""

    @property
    def clients(self) -> int:
        """All of them."""
        return len(self.doomed) + self.readers + len(self.changed) + self.churners


def read_plan() -> Plan:
    """The plan of this process."""
    return msgspec.json.decode(Path(os.environ[VARIABLE]).read_bytes(), type=Plan)
