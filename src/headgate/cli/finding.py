"""What the doctor's looks have in common."""

from typing import NamedTuple


class Finding(NamedTuple):
    """What one look found."""

    subject: str
    ok: bool
    text: str
    warns: bool = False
    """It works, and may not be what was meant."""
