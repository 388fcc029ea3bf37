"""JSON as metadata holds it: what is kept is kept byte by byte, what is read is checked."""

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw

from headgate.errors import BadMetadata, InvalidInput, TooLarge
from headgate.limits import METADATA_PARTS_MAX

T = TypeVar("T")

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Object = dict[str, Any]
Json = bytes | memoryview | Raw
"""Encoded JSON; a `Raw` or a view keeps the whole file alive that it is a part of."""

encode = msgspec.json.Encoder().encode
_NAME = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')  # of the next member


class _Decoders(dict[type[Any], msgspec.json.Decoder[Any]]):
    """Decoders by the type that they read: to make one takes longer than most decoding."""

    def __missing__(self, kind: type[Any]) -> msgspec.json.Decoder[Any]:
        return self.setdefault(kind, msgspec.json.Decoder(kind))


_decoders = _Decoders()


def decode(data: Json, kind: type[T], what: str, error: type[InvalidInput] = BadMetadata) -> T:
    """Reads encoded JSON as `kind`; `what` names it in the error."""
    try:
        value: T = _decoders[kind].decode(data)
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
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]  # JSON stays JSON


def check_parts(data: bytes, what: str) -> None:
    """Refuse JSON of which more objects would be made than fit into memory. Commas are counted,
    also those in texts: that takes no time."""
    parts = data.count(b",")
    if parts > METADATA_PARTS_MAX:
        raise TooLarge(
            f"Cannot parse {what}",
            why=f"it has {parts:,} parts, and at most {METADATA_PARTS_MAX:,} are read",
            fix="Expire snapshots of the table",
        )


def members(data: Json, what: str, error: type[InvalidInput] = BadMetadata) -> dict[str, Raw]:
    """The members of an object, each still encoded."""
    return decode(data, dict[str, Raw], what, error)


def unique_members(data: bytes, what: str) -> dict[str, Raw]:
    """The same of an object in which no name stands twice: readers would differ on its meaning.

    The text is walked along the members that were found, so one that was overwritten shows.
    """
    found = members(data, what)
    position = 0
    for name, value in found.items():
        written = _NAME.match(data, position)
        if not written or decode(written[1], str, what) != name:
            break
        if not data.startswith(memoryview(value), written.end()):
            break
        position = written.end() + memoryview(value).nbytes
    repeated = _NAME.match(data, position)
    if repeated:
        raise BadMetadata(
            f"Cannot parse {what}",
            why=f"the member {decode(repeated[1], str, what)!r} stands in it more than once",
            fix="Keep one of them",
        )
    return found


def builtins(value: object, what: str) -> object:
    """A value as plain Python objects, if it was encoded or not."""
    return decode(value, object, what) if isinstance(value, Raw | bytes) else value


def with_member(data: Json, name: str, value: object) -> bytes:
    """An encoded object with one member set; the others stay as they were written."""
    return encode({**members(data, "object"), name: value})
