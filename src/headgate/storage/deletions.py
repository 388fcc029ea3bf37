"""What deleting many files came to."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from headgate.storage.failures import NotDeleted

Folders = Mapping[str, Sequence[str]]
"""Names of files by the location of their folder."""
Check = Callable[[], None]
"""Raises when nothing more is to be deleted."""


class Deleted(NamedTuple):
    """All files that were asked for are in one of these."""

    deleted: int
    missing: list[str]
    """Those that were not there. Object stores do not tell: all of theirs count as deleted."""
    failed: NotDeleted


def may_go_on() -> None:
    """Nobody says that it is over."""
