"""Transforms of partition and sort fields: how they are written and which columns they fit."""

import re

from headgate.amounts import whole_number
from headgate.errors import BadMetadata
from headgate.model import types
from headgate.model.schemas import Column

VOID = "void"
_WIDE = re.compile(r"(bucket|truncate)\[(\d+)\]")
_WIDTH_MAX = 2**31 - 1
_WIDTHS = f"widths are 1 to {_WIDTH_MAX}"
_TIMES = {"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"}
_DATES = _TIMES | {"date"}
_TRUNCATABLE = {"int", "long", "string", "binary", "decimal"}
_FITTING = {
    "year": _DATES,
    "month": _DATES,
    "day": _DATES,
    "hour": _TIMES,
    "truncate": _TRUNCATABLE,
    "bucket": _TRUNCATABLE | _DATES | {"time", "fixed", "uuid"},
}
_UNSORTABLE = {"variant", "geometry", "geography"}


def canonical(transform: str) -> str:
    """The one spelling of a transform; those of later versions stay as they are."""
    lower = transform.lower()
    known = lower in _FITTING or lower in {"identity", VOID} or _WIDE.fullmatch(lower)
    return lower if known else transform


def kind(transform: str) -> str:
    """The transform without its width."""
    match = _WIDE.fullmatch(transform)
    return match[1] if match else transform


def width(transform: str) -> int:
    """The width of a transform that has one."""
    match = _WIDE.fullmatch(transform)
    assert match
    found = whole_number(match[2], _WIDTH_MAX)
    if not found:
        raise BadMetadata(f"Invalid transform {transform[:80]}", why=_WIDTHS)
    return found


def group(transform: str) -> str:
    """Partition fields of one column are of different groups: `hour` says all that `day` says."""
    return "time" if _FITTING.get(transform) in (_DATES, _TIMES) else transform


def check(transform: str, column: Column) -> None:
    """A transform can be applied to the values of a column."""
    assert isinstance(column.type, str)
    type, name = types.kind(column.type), kind(transform)
    if _WIDE.fullmatch(transform):
        width(transform)
    fitting = _FITTING.get(name)
    if (name == "identity" and type in _UNSORTABLE) or (fitting and type not in fitting):
        raise BadMetadata(f"Invalid source type {column.type} for transform: {transform[:80]}")
