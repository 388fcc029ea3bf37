"""JSON as metadata holds it: what is kept is kept byte by byte, what is read is checked."""

from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw

from headgate.errors import BadMetadata, InvalidInput

T = TypeVar("T")

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Object = dict[str, Any]
Json = bytes | memoryview | Raw
"""Encoded JSON; a `Raw` or a view keeps the whole file alive that it is a part of."""

encode = msgspec.json.Encoder().encode
_decoder = cache(msgspec.json.Decoder)  # to make one takes longer than most decoding


def decode(data: Json, kind: type[T], what: str, error: type[InvalidInput] = BadMetadata) -> T:
    """Reads encoded JSON as `kind`; `what` names it in the error."""
    try:
        value: T = _decoder(kind).decode(data)  # type: ignore[arg-type]
        return value
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        raise error(f"Cannot parse {what}", why=reason(broken)) from None


def convert(value: object, kind: type[T], what: str) -> T:
    """Reads decoded JSON as `kind`."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, RecursionError) as broken:
        raise BadMetadata(f"Cannot parse {what}", why=reason(broken)) from None


def reason(broken: Exception) -> str:
    """Why JSON could not be read, to stand inside of a sentence."""
    if isinstance(broken, RecursionError):
        return "it is nested too deeply"
    text = str(broken)
    return text[:1].lower() + text[1:]


def members(data: Json, what: str, error: type[InvalidInput] = BadMetadata) -> dict[str, Raw]:
    """The members of an object, each still encoded."""
    return decode(data, dict[str, Raw], what, error)


def builtins(value: object, what: str) -> object:
    """A value as plain Python objects, if it was encoded or not."""
    return decode(value, object, what) if isinstance(value, Raw | bytes) else value


def with_member(data: Json, name: str, value: object) -> bytes:
    """An encoded object with one member set; the others stay as they were written."""
    return encode({**members(data, "object"), name: value})
