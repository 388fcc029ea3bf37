"""What a backend stores and answers: pointers, rows, swaps, outcomes."""

from enum import Enum
from typing import NamedTuple

EMPTY = 0  # the value of a pointer that exists and has no commit yet; never an id


class Outcome(Enum):
    """How a conditional write ended. The third way, unknown, is the error `OutcomeUnknown`."""

    APPLIED = "applied"
    LOST = "lost"


class PointerKey(NamedTuple):
    """Names one pointer."""

    realm: str
    name: str


class Pointer(NamedTuple):
    """A pointer and the id of its current head, or EMPTY."""

    realm: str
    name: str
    value: int


class Swap(NamedTuple):
    """Move a pointer from `expected` to `new`."""

    key: PointerKey
    expected: int
    new: int


class Row(NamedTuple):
    """One stored row. Objects over the row limit are several rows of one id."""

    realm: str
    id: int
    part: int
    parts: int
    type: str
    version: int  # 0 for immutable rows; a token that changes with each conditional write
    value: bytes


class ScannedRow(NamedTuple):
    """A row as a scan sees it: all but its value."""

    realm: str
    id: int
    part: int
    type: str
    version: int


class Partition(NamedTuple):
    """One of the shares a scan is divided into, counted from 0."""

    share: int
    shares: int


WHOLE = Partition(0, 1)
