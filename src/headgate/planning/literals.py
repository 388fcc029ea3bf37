"""Values on the wire as values of columns, and back: JSON single values of the specification."""

import struct
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from pyiceberg.conversions import to_json
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)
from pyiceberg.utils.datetime import to_human_timestamp

Value = Any
"""Of a column: what is allowed depends on its type."""

SINGLE = struct.Struct("<f")

PRUNABLE = (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestamptzType,
    TimestampType,
    TimeType,
    UUIDType,
)
"""The types whose values pyiceberg can compare with bounds."""


class NotComparable(Exception):
    """The value may be right, but pruning cannot use it."""


def comparable(type: IcebergType, value: Value) -> Value:
    """A value of a filter in a form that pyiceberg binds to a column of this type.

    Raises NotComparable if only the client can compare it; what pyiceberg refuses later is wrong.
    """
    if not isinstance(type, PRUNABLE):
        raise NotComparable
    if isinstance(type, BinaryType | FixedType):
        return _bytes(type, value)
    if isinstance(type, DecimalType):
        return _decimal(type, value)
    if isinstance(type, TimestamptzType) and isinstance(value, str):
        return value.replace("Z", "+00:00")
    if isinstance(type, FloatType) and isinstance(value, float):
        return _rounded(value)
    return value


def single_value(type: IcebergType, value: Value) -> Value:
    """A value of a partition as JSON."""
    if value is None or isinstance(type, UnknownType):
        return None
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(type, TimestampNanoType | TimestamptzNanoType):
        zone = "+00:00" if isinstance(type, TimestamptzNanoType) else ""
        seconds, nanos = divmod(value, 1_000_000_000)
        return f"{to_human_timestamp(seconds * 1_000_000)}.{nanos:09}{zone}"
    if isinstance(type, FloatType | DoubleType):
        return float(value)
    assert isinstance(type, PrimitiveType)
    return to_json(type, value)


def _bytes(type: BinaryType | FixedType, value: Value) -> bytes:
    try:
        found = bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise NotComparable from error
    if isinstance(type, FixedType) and len(found) != len(type):
        raise NotComparable
    return found


def _rounded(value: float) -> float:
    """To the precision of the column, which its bounds have too: 1.1 as a double is no float."""
    try:
        found: float = SINGLE.unpack(SINGLE.pack(value))[0]
    except OverflowError as error:
        raise NotComparable from error
    return found


def _decimal(type: DecimalType, value: Value) -> Decimal:
    """With the scale of the column, if that changes nothing."""
    try:
        given = Decimal(repr(value) if isinstance(value, float) else value)
        found = given.quantize(Decimal(1).scaleb(-type.scale))
    except (ArithmeticError, InvalidOperation, TypeError, ValueError) as error:
        raise NotComparable from error
    if found != given:
        raise NotComparable
    return found
