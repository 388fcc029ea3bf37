"""Default values of columns: Gravitino's literals as Iceberg's JSON and back."""

import math
from decimal import Decimal, Inexact, localcontext

from headgate.errors import BadRequest, Unsupported
from headgate.model import default_values, schemas
from headgate.model import types as iceberg
from headgate.model.gravitino import types
from headgate.model.gravitino.wire import Expression

_DIGITS = 60  # more than any decimal has
_WORDS = {"true": True, "false": False}


def to_iceberg(default: Expression, type: schemas.Type) -> object:
    """The value of a literal in Iceberg's JSON; None if it is null."""
    if default.type.lower() != "literal":
        raise Unsupported(
            "Iceberg cannot work a default value out", why="it is no literal", fix="Use a literal"
        )
    if default.value is None or default.data_type == "null":
        return None
    value = _read(default.value, type) if isinstance(type, str) else None
    if value is None or not default_values.fits(value, str(type)):
        named = type if isinstance(type, str) else type["type"]
        raise BadRequest(
            f"Invalid default value {default.value[:80]!r}",
            why=f"a column of type {named} cannot have it",
            fix="Write it as values of the type are written; times with a zone in UTC",
        )
    return value


def from_iceberg(value: object, type: schemas.Type) -> Expression:
    """The literal of a default value."""
    if isinstance(value, bool):
        text = str(value).lower()
    else:
        text = value if isinstance(value, str) else repr(value)
    return Expression(type="literal", data_type=types.from_iceberg(type), value=text)


def _read(text: str, type: str) -> object:
    """The value in a text, None if there is none."""
    if "_" in text and iceberg.kind(type) != "string":
        return None  # Python would read numbers with it
    try:
        match iceberg.kind(type).removesuffix("_ns"):
            case "boolean":
                return _WORDS.get(text.lower())
            case "int" | "long":
                return int(text)
            case "float" | "double":
                number = float(text)
                return number if math.isfinite(number) else None
            case "decimal":
                return _decimal(text, iceberg.decimal_scale(type))
            case "timestamp":
                return text.replace(" ", "T")
            case "timestamptz":
                return text.replace(" ", "T").replace("Z", "+00:00")
    except (ValueError, ArithmeticError):
        return None
    return text


def _decimal(text: str, scale: int) -> str:
    """The number with just as many digits behind the point as its type has."""
    with localcontext(prec=_DIGITS) as context:
        context.traps[Inexact] = True
        return f"{Decimal(text).quantize(Decimal(1).scaleb(-scale)):f}"
