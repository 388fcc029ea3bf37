"""The places of staged tables: taken before anybody is handed keys for them, for a while.

Beside the index of locations another one knows all staged tables by the time at which they end. So
each commit that stages one clears away a few whose time is over, and nobody has too many.
"""

from collections.abc import Iterable
from itertools import islice

import msgspec

from headgate.catalog.claimants import digest, is_left, staged, staged_at
from headgate.catalog.naming import id_bytes
from headgate.catalog.ports import Storage
from headgate.catalog.stored_names import LOCATIONS, STAGED
from headgate.errors import BadRequest
from headgate.kernel.draft import Draft
from headgate.limits import (
    STAGED_AFTER_KEYS_MS,
    STAGED_EXPIRED_PER_COMMIT,
    STAGED_PER_PRINCIPAL_MAX,
    STAGED_WITHOUT_KEYS_MS,
)

_TABLE, _COUNT = b"t", b"c"
_MS_BYTES = 8
_COUNT_BYTES = 4


class _Record(msgspec.Struct, frozen=True, array_like=True):
    """A staged table: who staged it, and what it holds."""

    value: bytes
    """What its locations say in their index."""
    by: bytes
    places: list[tuple[bytes, bytes]]
    """The keys of its locations, and what dropped tables had left there."""


_decoder = msgspec.msgpack.Decoder(_Record)


def hold_ms(storage: Storage, locations: Iterable[str]) -> int:
    """How long a staged table holds its locations: longer than the keys live that its creator is
    handed, so there are none for a location that is free."""
    seconds = max(map(storage.credential_seconds, locations), default=0)
    return seconds * 1_000 + STAGED_AFTER_KEYS_MS if seconds else STAGED_WITHOUT_KEYS_MS


def hold_staged(draft: Draft, keys: Iterable[bytes], principal: str, until_ms: int) -> None:
    """Hold vacant locations for a table that is staged now; `BadRequest` if there are too many."""
    _end_expired(draft)
    index, by = draft.index(LOCATIONS), digest(principal)
    _count(draft, by, 1)
    id, places = draft.new_id(), []
    value = staged(id, until_ms, by)
    for key in keys:
        before = index.get(key) or b""
        places.append((key, before if is_left(before) else b""))
        index.put(key, value)
    record = _Record(value, by, places)
    draft.index(STAGED).put(_key(until_ms, id), msgspec.msgpack.encode(record))


def end_staged(draft: Draft, value: bytes) -> None:
    """Hold nothing any more for the staged table that a location names, if it names one."""
    known = staged_at(value)
    if known is not None:
        _end(draft, _key(known.until_ms, known.id))


def _end_expired(draft: Draft) -> None:
    """End a few staged tables whose time is over, the oldest first."""
    records = draft.index(STAGED).scan(_TABLE, _key(draft.now_ms + 1, 0))
    for key, _ in list(islice(records, STAGED_EXPIRED_PER_COMMIT)):
        _end(draft, key)


def _end(draft: Draft, key: bytes) -> None:
    """Forget a staged table; where a dropped one had left files, it is as it was before."""
    records, index = draft.index(STAGED), draft.index(LOCATIONS)
    found = records.get(key)
    if found is None:
        return
    record = _decoder.decode(found)
    for place, before in record.places:
        if index.get(place) != record.value:
            continue
        if before:
            index.put(place, before)
        else:
            index.remove(place)
    records.remove(key)
    _count(draft, record.by, -1)


def _count(draft: Draft, by: bytes, change: int) -> None:
    """Keep the number of staged tables that one principal has."""
    records, key = draft.index(STAGED), _COUNT + by
    number = int.from_bytes(records.get(key) or b"", "big") + change
    if number > STAGED_PER_PRINCIPAL_MAX:
        raise BadRequest(
            "Table cannot be staged",
            why=f"the caller has staged {STAGED_PER_PRINCIPAL_MAX:,} tables in this catalog that "
            "it did not commit",
            fix="Commit them, create this one without staging it, or wait until they have expired",
        )
    if number > 0:
        records.put(key, number.to_bytes(_COUNT_BYTES, "big"))
    else:
        records.remove(key)


def _key(until_ms: int, id: int) -> bytes:
    return _TABLE + until_ms.to_bytes(_MS_BYTES, "big") + id_bytes(id)
