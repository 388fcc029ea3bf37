"""One call of a user: which catalog, who asks, and the key under which a repetition is known."""

import hashlib
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import msgspec

from headgate.errors import Unprocessable
from headgate.workers.turns import Tenant


class CatalogName(NamedTuple):
    """A catalog, by the names a request gives."""

    metalake: str
    catalog: str

    def __str__(self) -> str:
        return f"{self.metalake}.{self.catalog}"


class Caller(NamedTuple):
    """Who asks, as far as the request itself tells."""

    name: str = "anonymous"
    groups: tuple[str, ...] = ()
    """That its token says it is in, without those that Headgate keeps."""
    roles: tuple[str, ...] | None = None
    """Those whose rights it wants to use now; None means all that it has."""
    proof: Hashable = None
    """What has to be compared with the kept identities: a token's id, a password's digest."""
    is_server: bool = False
    """Nobody asks: the server does it by itself, and may."""
    since: int = 0
    """The id of the last drop of a kept user of this name: users of metalakes with older ids are
    not this one. 0 if none was dropped."""
    groups_since: tuple[tuple[str, int], ...] = ()
    """The same for those of its kept groups whose name a dropped one had."""


ANYBODY = Caller()
ITSELF = Caller("headgate", is_server=True)
OPERATOR = "operator"
"""Who changes things by commands on the store, if nobody else is named."""


class Call(NamedTuple):
    """What every use case is told besides its own arguments."""

    catalog: CatalogName
    caller: Caller = ANYBODY
    key: bytes = b""
    fingerprint: str = ""
    """Of what is asked for, so that a key is not used for something else."""
    request: str = ""
    """The id of the request, for the audit."""
    is_fresh: bool = True
    """Whether the database is to be asked, also where pointers are polled."""

    @property
    def principal(self) -> str:
        """The name of who asks."""
        return self.caller.name

    @property
    def tenant(self) -> Tenant:
        """The metalake and the principal that work for this call is charged to."""
        return Tenant(self.catalog.metalake, self.caller.name)

    def note(self, do: str, kind: str, name: Sequence[object], **more: object) -> dict[str, object]:
        """What the change log says of it."""
        return {"do": do, "kind": kind, "name": name, **more, "by": self.principal}


class Done(NamedTuple):
    """What a call did: to which entities, and what else its answer says."""

    ids: Sequence[int]
    words: Sequence[str] = ()
    repeated: bool = False
    """An earlier delivery of the call did it, and this one nothing."""


WHAT_CHARS_MAX = 500
_decoder = msgspec.msgpack.Decoder(tuple[str, int, list[int], list[str]])


def encode_outcome(what: str, delivery: int, done: Done) -> bytes:
    """The bytes a commit records under the key of its call."""
    return msgspec.msgpack.encode((_shortened(what), delivery, done.ids, done.words))


def decode_outcome(record: bytes, what: str, delivery: int = 0) -> Done:
    """What a recorded call did, which must have been the same as this one."""
    recorded, by, ids, words = _decoder.decode(record)
    if recorded != _shortened(what):
        raise Unprocessable(
            "The idempotency key cannot be used",
            why=f"it was used for another request: {recorded}",
            fix="Give each request a key of its own",
        )
    return Done(ids, words, repeated=by != delivery)


def _shortened(what: str) -> str:
    """A record has little room: the end of a long text is a digest instead."""
    if len(what) <= WHAT_CHARS_MAX:
        return what
    return f"{what[:WHAT_CHARS_MAX]}… {hashlib.sha256(what.encode()).hexdigest()}"
