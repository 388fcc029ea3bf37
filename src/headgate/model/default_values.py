"""Default values of columns in JSON: which of them readers accept for a type."""

import re
from datetime import date
from decimal import Decimal

from headgate.model import types

_DATE = r"(?P<date>\d{4}-\d\d-\d\d)"
_TIME = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"
_HEX = re.compile(r"([0-9a-fA-F]{2})*")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_TEXTS = {
    "date": re.compile(_DATE, re.ASCII),
    "time": re.compile(_TIME, re.ASCII),
    "timestamp": re.compile(f"{_DATE}T{_TIME}", re.ASCII),
    "timestamptz": re.compile(rf"{_DATE}T{_TIME}(Z|[+-]00:00)", re.ASCII),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "binary": _HEX,
}
_BITS = {"int": 32, "long": 64}


def fits(value: object, type: str) -> bool:
    """Whether a value can be the default of a column; null always can.

    Readers refuse the whole table for a default that they cannot parse.
    """
    kind = types.kind(type).removesuffix("_ns")
    match value:
        case None:
            return True
        case bool():
            return kind == "boolean"
        case int():
            return kind in _BITS and -1 << _BITS[kind] - 1 <= value < 1 << _BITS[kind] - 1
        case float():
            return kind in {"float", "double"}
        case str():
            return _text_fits(value, kind, type)
    return False


def _text_fits(text: str, kind: str, type: str) -> bool:
    if kind == "string":
        return True
    if kind == "fixed":
        return len(text) == 2 * types.fixed_length(type) and bool(_HEX.fullmatch(text))
    if kind == "decimal":
        return bool(_NUMBER.fullmatch(text)) and _scale(text) == types.decimal_scale(type)
    pattern = _TEXTS.get(kind)
    match = pattern.fullmatch(text) if pattern else None
    return match is not None and _is_date(match.groupdict().get("date"))


def _scale(number: str) -> int:
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)  # infinity and its like do not match the pattern
    return -exponent


def _is_date(text: str | None) -> bool:
    try:
        return text is None or bool(date.fromisoformat(text))
    except ValueError:
        return False
