"""How commands speak: JSON for scripts, aligned tables and plain sentences for people."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec


def to_json(value: object) -> str:
    """This value as one line of JSON."""
    return msgspec.json.encode(value).decode()


def iso(time_ms: int) -> str:
    """This instant in ISO 8601, UTC, to the millisecond."""
    instant = datetime.fromtimestamp(time_ms / 1000, UTC)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows under headings, the columns aligned."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def printable(text: str) -> str:
    """This text with what could drive a terminal written as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
