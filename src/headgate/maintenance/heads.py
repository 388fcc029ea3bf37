"""The commits of a pointer that are kept, and the three whose contents are: the current one, the
one that was current when the grace began, and the one that was being made then."""

from array import array
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from headgate.errors import CorruptRow
from headgate.ids import time_ms
from headgate.kernel.head import Head
from headgate.kernel.objects import expect
from headgate.kernel.records import EMPTY, Pointer
from headgate.kernel.store import Store
from headgate.maintenance.reading import read_objects


class KeptHeads(NamedTuple):
    """What is kept of the log of a pointer."""

    ids: "array[int]"
    """The commits, newest first. The last ones may have been cut."""
    now: Head | None
    """None if there was no commit yet."""
    before: Head | None
    """The newest one that is older than the grace; None if that is the current one, or is cut."""
    after: Head | None
    """The oldest one that is not; None if that is the current one, or there is none.

    What a commit stores is older than the commit itself, so this one may have brought what is older
    than the grace. Later ones began after it was made: whatever an entry referred to at any time
    since is young itself, or one of these three refers to it.
    """


async def kept_heads(store: Store, pointer: Pointer, cutoff_ms: int) -> KeptHeads:
    """Walk back through the log of a pointer: one commit in twenty is read, the others are in its
    tail."""
    ids = array("q")
    if pointer.value == EMPTY:
        return KeptHeads(ids, None, None, None)
    now = await read_head(store, pointer.realm, pointer.value)
    if now is None:
        raise CorruptRow(
            f"pointer {pointer.name!r} of realm {pointer.realm!r} cannot be followed",
            why=f"its current commit {pointer.value} is not stored",
            fix="Restore the database from a backup",
        )
    ids.append(pointer.value)
    young = _young(ids, cutoff_ms)
    head: Head | None = now
    while head is not None and head.tail:
        if young == len(ids):
            young += _young(head.tail, cutoff_ms)
        ids.extend(head.tail)
        head = await read_head(store, pointer.realm, head.tail[-1])
    around = [ids[at] if 0 < at < len(ids) else EMPTY for at in (young, young - 1)]
    before, after = [await read_head(store, pointer.realm, id) if id else None for id in around]
    return KeptHeads(ids, now, before, after)


def _young(ids: Sequence[int], cutoff_ms: int) -> int:
    """How many of these, the newest first, are not older than the grace."""
    return sum(1 for _ in takewhile(lambda one: time_ms(one) >= cutoff_ms, ids))


async def read_head(store: Store, realm: str, id: int) -> Head | None:
    """A commit as it is stored; None if it is not kept any more."""
    found = (await read_objects(store, realm, [id])).get(id)
    return None if found is None else expect(found, Head, id)
