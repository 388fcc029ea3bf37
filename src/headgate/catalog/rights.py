"""How rights are kept under `grants`: who has which role, and what it may do on which object."""

import msgspec

from headgate.catalog.naming import id_bytes

ASSIGNED = "assigned"
"""Principal id, role id -> nothing."""
GRANTED = "granted"
"""Role id, object id -> a grant."""


class Grant(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a role may and may not do on one object, and where that is."""

    kind: int
    """An ObjectType."""
    allow: int
    deny: int
    catalog: int = 0
    """The catalog that it is or is in; 0 if it is none and in none."""


_decoder = msgspec.msgpack.Decoder(Grant)
_encoder = msgspec.msgpack.Encoder()


def decode_grant(value: bytes) -> Grant:
    """The grant in these bytes of an index."""
    return _decoder.decode(value)


def encode_grant(grant: Grant) -> bytes:
    """The bytes of this grant in an index."""
    return _encoder.encode(grant)


def pair(first: int, second: int) -> bytes:
    """The key of a principal and its role, or of a role and an object."""
    return id_bytes(first) + id_bytes(second)


def second_of(key: bytes) -> int:
    """The second id of a pair."""
    return int.from_bytes(key[8:], "big")
