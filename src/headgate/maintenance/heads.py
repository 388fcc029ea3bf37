"""The commits of a pointer that are kept, and the two whose contents are: the current one, and the
one that was current when the grace began."""

from array import array
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
    """The newest one that is older than the grace; None if that is the current one, or is cut.

    Whatever an entry referred to at any time since is young itself, or this one refers to it.
    """


async def kept_heads(store: Store, pointer: Pointer, cutoff_ms: int) -> KeptHeads:
    """Walk back through the log of a pointer: one commit in twenty is read, the others are in its
    tail."""
    ids = array("q")
    if pointer.value == EMPTY:
        return KeptHeads(ids, None, None)
    now = await _read(store, pointer.realm, pointer.value)
    if now is None:
        raise CorruptRow(
            f"pointer {pointer.name!r} of realm {pointer.realm!r} cannot be followed",
            why=f"its current commit {pointer.value} is not stored",
            fix="Restore the database from a backup",
        )
    ids.append(pointer.value)
    before = pointer.value if time_ms(pointer.value) < cutoff_ms else EMPTY
    head: Head | None = now
    while head is not None and head.tail:
        ids.extend(head.tail)
        if before == EMPTY:
            before = next((id for id in head.tail if time_ms(id) < cutoff_ms), EMPTY)
        head = await _read(store, pointer.realm, head.tail[-1])
    if before in {EMPTY, pointer.value}:
        return KeptHeads(ids, now, None)
    return KeptHeads(ids, now, await _read(store, pointer.realm, before))


async def _read(store: Store, realm: str, id: int) -> Head | None:
    found = (await read_objects(store, realm, [id])).get(id)
    return None if found is None else expect(found, Head, id)
