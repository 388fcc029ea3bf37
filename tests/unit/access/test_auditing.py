"""Which decisions an audit always records."""

import pytest

from headgate.access.auditing import Decision
from headgate.access.rules import RULES

CHANGING = (
    "create",
    "alter",
    "drop",
    "undrop",
    "change",
    "manage",
    "assign",
    "set",
    "grant",
    "register",
    "link",
    "import",
    "export",  # as much as a change: all that a metalake holds leaves it
    "work",
)


def decision(action: str, *, allowed: bool) -> Decision:
    return Decision(0, "r-1", "eve", action, "demo", ("main",), allowed)


@pytest.mark.parametrize("action", sorted(RULES))
def test_changes_always_matter_and_reads_only_if_refused(action: str) -> None:
    """Each action of the table is one or the other."""
    changes = action.startswith(CHANGING)

    assert decision(action, allowed=True).matters is changes
    assert decision(action, allowed=False).matters
