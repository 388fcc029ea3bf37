"""Stored objects: typed immutable values, registered by unique name, and their form in rows.

An object's bytes are `format | flags | crc32 | payload`: the checksum covers flags, realm, id and
type too, so a row that was swapped for another is found out. The payload is a msgpack map, above a
threshold compressed. A type only ever *gains* fields. Fields this program does not know are kept in
`Stored.unknown` and written back, and rows of types it does not know come as `Foreign`: an older
and a newer program can share a store.

What a `Digested` object's digest covers is its type, its id and its payload before it is compressed
and split: a backend or a newer program may store the same content in another form.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import zstandard

from headgate.errors import BadName, CorruptRow, NewerFormat, TooLarge, WrongType
from headgate.kernel.records import Row
from headgate.limits import (
    COMPRESS_ABOVE_BYTES,
    OBJECT_BYTES_MAX,
    ROW_BYTES_MAX,
    TYPE_NAME_CHARS_MAX,
)

T = TypeVar("T")

FORMAT = 1
PLAIN, ZSTD = 0, 1
ENVELOPE = struct.Struct(">BBI")
TYPE_NAME = re.compile(r"[a-z][a-z0-9-]*")
_UNKNOWN_EMPTY = b"\xa1?\x80"  # how the `unknown` field of a struct is encoded: "?": {}


class Stored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The base of all stored types. Plain data; equality by value.

    They are trees, so the garbage collector need not look at them: caches hold very many.
    """

    unknown: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict, name="?")
    """Fields written by a newer program: carried along, written back, never looked at."""


class Digested(Stored, frozen=True, kw_only=True):
    """The base of types whose objects are known by the digest of what is stored."""

    digest: bytes | msgspec.UnsetType = msgspec.UNSET
    """Known as soon as the object is stored or read; not stored itself."""


D = TypeVar("D", bound=Digested)
S = TypeVar("S", bound=Stored)


class Foreign(msgspec.Struct, frozen=True):
    """An object of a type this program does not know: its payload, untouched."""

    type: str
    payload: bytes


class ObjectType(NamedTuple):
    """A type and the unique name under which its objects are stored."""

    name: str
    cls: type[Stored]


class Encoded(NamedTuple):
    """An object ready to be stored."""

    id: int
    type: str
    data: bytes
    digest: bytes = b""
    """Of an object of a `Digested` type."""


class FieldDecoder(Generic[S]):
    """Decodes the fields of one type, and keeps those it does not know."""

    def __init__(self, cls: type[S]) -> None:
        encoded = [name for name in cls.__struct_encode_fields__ if name != "digest"]
        assert encoded[-1] == "?", "`unknown` is encoded last"
        assert not cls.__struct_config__.omit_defaults, "all fields are stored"
        self._known = frozenset(cls.__struct_encode_fields__)
        self._decoder = msgspec.msgpack.Decoder(cls)

    def decode(self, payload: bytes) -> S:
        """The value with these fields; `msgspec.MsgspecError` if there is none."""
        try:
            return self._decoder.decode(payload)
        except msgspec.ValidationError:
            return self._decode_newer(payload)

    def _decode_newer(self, payload: bytes) -> S:
        """The value of a payload that has fields this program does not know."""
        fields = msgspec.msgpack.decode(payload, type=dict[str, msgspec.Raw])
        names = [name for name in fields if name not in self._known]
        unknown = {name: msgspec.Raw(bytes(fields.pop(name))) for name in names}
        value = self._decoder.decode(msgspec.msgpack.encode(fields))
        return msgspec.structs.replace(value, unknown=unknown)


class ObjectTypes:
    """The types this program knows."""

    def __init__(self, types: Iterable[ObjectType]) -> None:
        self._decoders: dict[str, FieldDecoder[Any]] = {}
        self._names: dict[type, str] = {}
        for name, cls in types:
            check_type_name(name)
            if name in self._decoders or cls in self._names:
                raise BadName(
                    f"type {name!r} cannot be registered",
                    why=f"the name or {cls.__name__} is registered already",
                    fix="Give each stored type one name of its own",
                )
            self._decoders[name] = FieldDecoder(cls)
            self._names[cls] = name

    def knows(self, name: str) -> bool:
        """Whether objects of this type can be read."""
        return name in self._decoders

    def name_of(self, value: Stored | Foreign) -> str:
        """The registered name of this value's type."""
        name = self._names.get(type(value))
        if name is not None:
            return name
        if isinstance(value, Foreign):
            check_type_name(value.type)
            return value.type
        raise BadName(
            f"{type(value).__name__} cannot be stored",
            why="its type is not registered",
            fix="Add it to the object types of this program",
        )

    def encode(self, realm: str, id: int, value: Stored | Foreign) -> Encoded:
        """The stored form of an object."""
        name = self.name_of(value)
        payload = value.payload if isinstance(value, Foreign) else encode_fields(value)
        if len(payload) > OBJECT_BYTES_MAX:
            raise TooLarge(
                f"object {id} of type {name!r} cannot be stored",
                why=f"it takes {len(payload):,} bytes, the limit is {OBJECT_BYTES_MAX:,}",
                fix="Split it",
            )
        digest = digest_of(name, id, payload) if isinstance(value, Digested) else b""
        flags = PLAIN
        if len(payload) > COMPRESS_ABOVE_BYTES:
            flags, payload = ZSTD, zstandard.compress(payload, 1)
        checksum = _checksum(realm, id, name, flags, payload)
        return Encoded(id, name, ENVELOPE.pack(FORMAT, flags, checksum) + payload, digest)

    def decode(self, realm: str, encoded: Encoded) -> Stored | Foreign:
        """The object in these bytes; `CorruptRow` if they are not what was written."""
        payload = payload_of(realm, encoded)
        decoder = self._decoders.get(encoded.type)
        if decoder is None:
            return Foreign(encoded.type, payload)
        try:
            value: Stored = decoder.decode(payload)
        except msgspec.MsgspecError as error:
            raise _corrupt(realm, encoded, str(error)) from error
        if isinstance(value, Digested):
            return with_digest(value, digest_of(encoded.type, encoded.id, payload))
        return value


def check_type_name(name: str) -> None:
    """A type name is 1 to 32 lower-case letters, digits and dashes."""
    if not TYPE_NAME.fullmatch(name) or len(name) > TYPE_NAME_CHARS_MAX:
        raise BadName(
            f"{name!r} is no type name",
            why=f"it must be 1 to {TYPE_NAME_CHARS_MAX} characters of a-z, 0-9 and -",
            fix="Choose another name",
        )


def digest_of(type: str, id: int, payload: bytes) -> bytes:
    """What an object is known by: the SHA-256 of its type, its id and its fields as stored."""
    digest = hashlib.sha256(f"{type}/{id}/".encode())
    digest.update(payload)
    return digest.digest()


def with_digest(value: D, digest: bytes) -> D:
    """The same object, whose digest is known."""
    return msgspec.structs.replace(value, digest=digest)


def encode_fields(value: Stored) -> bytes:
    """The map of all fields, the unknown ones among them."""
    if isinstance(value, Digested) and value.digest:
        value = msgspec.structs.replace(value, digest=msgspec.UNSET)
    unknown = value.unknown
    data = msgspec.msgpack.encode(msgspec.structs.replace(value, unknown={}) if unknown else value)
    count, start = map_header(data)
    body = data[start : -len(_UNKNOWN_EMPTY)]
    if not unknown:
        return _map_of(count - 1) + body
    extra = b"".join(msgspec.msgpack.encode(name) + bytes(raw) for name, raw in unknown.items())
    return _map_of(count - 1 + len(unknown)) + body + extra


def expect(value: object, cls: type[T], id: int) -> T:
    """This value, known to be of this type."""
    if isinstance(value, cls):
        return value
    found = value.type if isinstance(value, Foreign) else type(value).__name__
    raise WrongType(
        f"object {id} is not a {cls.__name__}",
        why=f"the id belongs to a {found}",
        fix="Check where the id comes from",
    )


def split(realm: str, encoded: Encoded) -> list[Row]:
    """The rows of an immutable object of any size."""
    if len(encoded.data) <= ROW_BYTES_MAX:
        return [single(realm, encoded, 0)]
    starts = range(0, len(encoded.data), ROW_BYTES_MAX)
    return [
        Row(
            realm,
            encoded.id,
            part,
            len(starts),
            encoded.type,
            0,
            encoded.data[start : start + ROW_BYTES_MAX],
        )
        for part, start in enumerate(starts)
    ]


def single(realm: str, encoded: Encoded, version: int) -> Row:
    """The one versioned row of an object that is written conditionally."""
    if len(encoded.data) > ROW_BYTES_MAX:
        raise TooLarge(
            f"object {encoded.id} of type {encoded.type!r} cannot be written conditionally",
            why=f"it takes {len(encoded.data):,} bytes and a row holds {ROW_BYTES_MAX:,}",
            fix="Keep large content in an immutable object and refer to it",
        )
    return Row(realm, encoded.id, 0, 1, encoded.type, version, encoded.data)


def join(rows: Sequence[Row]) -> Encoded:
    """The object whose rows these are, in any order; `CorruptRow` if one is missing."""
    first = rows[0]
    ordered = sorted(rows, key=lambda row: row.part)
    complete = len(rows) == first.parts and all(
        row.part == part and row.parts == first.parts and row.type == first.type
        for part, row in enumerate(ordered)
    )
    if not complete:
        found = ", ".join(f"{row.part + 1}/{row.parts} {row.type}" for row in ordered)
        raise CorruptRow(
            f"object {first.id} of realm {first.realm!r} cannot be read",
            why=f"its rows do not fit together: {found}",
            fix="Restore the database from a backup",
        )
    return Encoded(first.id, first.type, b"".join(row.value for row in ordered))


def map_header(payload: bytes) -> tuple[int, int]:
    """How many pairs a msgpack map has, and where they begin."""
    first = payload[0]
    if 0x80 <= first <= 0x8F:
        return first & 0x0F, 1
    if first == 0xDE:
        return int.from_bytes(payload[1:3], "big"), 3
    return 0, 0


def _map_of(count: int) -> bytes:
    return bytes([0x80 | count]) if count < 16 else b"\xde" + count.to_bytes(2, "big")


def payload_of(realm: str, encoded: Encoded) -> bytes:
    """What was written, byte for byte and not compressed; `CorruptRow` if it is something else."""
    if len(encoded.data) < ENVELOPE.size:
        raise _corrupt(realm, encoded, "it is too short")
    written_format, flags, checksum = ENVELOPE.unpack_from(encoded.data)
    if written_format != FORMAT:
        raise _newer(realm, encoded, f"format {written_format}, this program knows {FORMAT}")
    payload = encoded.data[ENVELOPE.size :]
    if checksum != _checksum(realm, encoded.id, encoded.type, flags, payload):
        raise _corrupt(realm, encoded, "its checksum does not match")
    if flags not in {PLAIN, ZSTD}:
        raise _newer(realm, encoded, f"flags {flags:#x} that this program does not know")
    return zstandard.decompress(payload, OBJECT_BYTES_MAX) if flags == ZSTD else payload


def _checksum(realm: str, id: int, type: str, flags: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(f"{realm}/{id}/{type}/{flags}".encode()))


def _newer(realm: str, encoded: Encoded, what: str) -> NewerFormat:
    return NewerFormat(
        f"object {encoded.id} of realm {realm!r} cannot be read",
        why=f"it has {what}",
        fix="Upgrade this node",
    )


def _corrupt(realm: str, encoded: Encoded, why: str) -> CorruptRow:
    return CorruptRow(
        f"object {encoded.id} ({encoded.type}) of realm {realm!r} cannot be read",
        why=why,
        fix="Restore the database from a backup",
    )
