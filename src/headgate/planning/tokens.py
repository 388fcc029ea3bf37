"""Plan ids and plan tasks: opaque to clients, complete in themselves, so that nothing is stored.

They come back from clients and are not trusted: they name a snapshot and positions in the manifest
list of the table that they are used on, and never a file.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from headgate.errors import PlanNotFound, PlanTaskNotFound
from headgate.limits import PLAN_ID_CHARS_MAX, PLAN_TOKEN_BYTES_MAX

VERSION = 1


class Pinned(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a scan reads, whatever happens to the table meanwhile."""

    version: int
    snapshot: int | None
    """The snapshot to read; None for a table that had none."""
    start: int | None
    """Read only what was appended after this snapshot."""
    schema: int
    case_sensitive: bool = True
    filter: bytes | None = None
    """As JSON. None in a plan id means that the filter was too long for one."""
    stats: list[str] = []
    rows: int | None = None
    """How many rows will do."""
    manifests: list[int] | None = None
    """Positions in the manifest list; None for all."""


def pack(pinned: Pinned) -> str:
    """A token for a body."""
    packed = zlib.compress(msgspec.msgpack.encode(pinned), 1)
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


def plan_id(pinned: Pinned) -> str:
    """A token for a path: short, and without its filter if need be."""
    token = pack(pinned)
    if len(token) <= PLAN_ID_CHARS_MAX:
        return token
    return pack(msgspec.structs.replace(pinned, filter=None, stats=[]))


def unpack_plan(token: str) -> Pinned:
    """What a plan id stands for; its filter is None if it cannot be fetched again."""
    pinned = _unpack(token)
    if pinned is None or pinned.manifests is not None:
        raise PlanNotFound(f"Plan does not exist: {shown(token)}")
    return pinned


def unpack_task(token: str) -> Pinned:
    """What a plan task stands for."""
    pinned = _unpack(token)
    if pinned is None or pinned.manifests is None or pinned.filter is None:
        raise PlanTaskNotFound(f"Plan task does not exist: {shown(token)}")
    return pinned


def shown(token: str) -> str:
    """A token in a message."""
    return token if len(token) <= 40 else f"{token[:40]}…"


def _unpack(token: str) -> Pinned | None:
    try:
        packed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, PLAN_TOKEN_BYTES_MAX)
        if unpacker.unconsumed_tail or not unpacker.eof:
            return None
        pinned = msgspec.msgpack.decode(data, type=Pinned)
    except (ValueError, zlib.error, msgspec.MsgspecError):
        return None
    return pinned if pinned.version == VERSION else None
