"""Iceberg's primitive types: how they are written, since which format version, what fits them."""

import re

from headgate.amounts import whole_number
from headgate.errors import BadMetadata

DEFAULTS_SINCE_VERSION = 3
_SINCE_VERSION = {
    "timestamp_ns": 3,
    "timestamptz_ns": 3,
    "unknown": 3,
    "variant": 3,
    "geometry": 3,
    "geography": 3,
}
_PLAIN = {
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
    "timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", "unknown", "variant",
}  # fmt: skip
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_GEOMETRY = re.compile(r"geometry\s*(?:\(\s*([^)]*?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography\s*(?:\(\s*([^,)]*?)\s*(?:,\s*(\w*)\s*)?\))?", re.IGNORECASE)
_EDGES = {"spherical", "vincenty", "thomas", "andoyer", "karney"}
_CRS = "OGC:CRS84"
_PRECISION_MAX = 38
_LENGTH_MAX = 2**31 - 1


def kind(type: str) -> str:
    """The type without its parameters: `decimal` for `decimal(10, 2)`. Others are refused."""
    lower = type.lower()
    if lower in _PLAIN:
        return lower
    if fixed := _FIXED.fullmatch(lower):
        if whole_number(fixed[1], _LENGTH_MAX) is None:
            raise BadMetadata(f"Invalid type {type[:80]}", why=f"its length is over {_LENGTH_MAX}")
        return "fixed"
    if decimal := _DECIMAL.fullmatch(lower):
        precision = whole_number(decimal[1], _PRECISION_MAX)
        if precision is None or whole_number(decimal[2], precision) is None:
            raise BadMetadata(
                f"Invalid type {type[:80]}",
                why=f"the precision is over {_PRECISION_MAX} or too small",
            )
        return "decimal"
    if (geometry := _GEOMETRY.fullmatch(type)) and geometry[1] != "":
        return "geometry"
    geography = _GEOGRAPHY.fullmatch(type)
    if geography and geography[1] != "" and (geography[2] or "spherical").lower() in _EDGES:
        return "geography"
    raise BadMetadata(f"Cannot parse type string to primitive: {type[:80]}")


def canonical(type: str) -> str:
    """One spelling for all that mean the same type; types of later versions stay as they are."""
    if match := _GEOMETRY.fullmatch(type):
        return f"geometry({(match[1] or _CRS).upper()})"
    if match := _GEOGRAPHY.fullmatch(type):
        return f"geography({(match[1] or _CRS).upper()},{(match[2] or 'spherical').lower()})"
    return re.sub(r"\s", "", type.lower())


def since_version(type: str) -> int:
    """The first format version that has this type."""
    return _SINCE_VERSION.get(kind(type), 1)


def fixed_length(type: str) -> int:
    """How many bytes a value of a fixed type has."""
    match = _FIXED.fullmatch(type.lower())
    assert match
    return int(match[1])


def decimal_scale(type: str) -> int:
    """How many digits a decimal has after the point."""
    match = _DECIMAL.fullmatch(type.lower())
    assert match
    return int(match[2])


def decimal_precision(type: str) -> int:
    """How many digits a decimal has."""
    match = _DECIMAL.fullmatch(type.lower())
    assert match
    return int(match[1])
