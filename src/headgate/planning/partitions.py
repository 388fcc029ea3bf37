"""Partition values in the form in which pyiceberg's literals are."""

from typing import Any
from uuid import UUID

from pyiceberg.typedef import Record


def comparable_partition(partition: Record) -> tuple[Any, ...]:
    """A partition's values. Its reader makes UUIDs, its literals are bytes, and both must agree:
    otherwise nothing equals anything, and files are lost from a scan."""
    return tuple(
        value.bytes if isinstance(value, UUID) else value
        for value in (partition[position] for position in range(len(partition)))
    )
