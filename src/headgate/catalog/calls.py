"""One call of a user: which catalog, who asks, and the key under which a repetition is known."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from headgate.errors import Unprocessable


class CatalogName(NamedTuple):
    """A catalog, by the names a request gives."""

    metalake: str
    catalog: str

    def __str__(self) -> str:
        return f"{self.metalake}.{self.catalog}"


class Call(NamedTuple):
    """What every use case is told besides its own arguments."""

    catalog: CatalogName
    principal: str = "anonymous"
    key: bytes = b""


class Done(NamedTuple):
    """What a call did: to which entities, and what else its answer says."""

    ids: Sequence[int]
    words: Sequence[str] = ()


_decoder = msgspec.msgpack.Decoder(tuple[str, list[int], list[str]])


def encode_outcome(what: str, done: Done) -> bytes:
    """The bytes a commit records under the key of its call."""
    return msgspec.msgpack.encode((what, done.ids, done.words))


def decode_outcome(record: bytes, what: str) -> Done:
    """What a recorded call did, which must have been the same as this one."""
    recorded, ids, words = _decoder.decode(record)
    if recorded != what:
        raise Unprocessable(
            "The idempotency key cannot be used",
            why=f"it was used for another request: {recorded}",
            fix="Give each request a key of its own",
        )
    return Done(ids, words)
