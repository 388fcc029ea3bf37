"""What entries refer to, as it is stored: read straight from the database, byte for byte."""

from collections.abc import Iterable, Sequence

import msgspec

from headgate.catalog.references import Identify, IndexReferences
from headgate.errors import CorruptRow, ObjectNotFound
from headgate.kernel.objects import join, payload_of
from headgate.kernel.records import Row as StoredRow
from headgate.kernel.store import Store
from headgate.portage.rows import Carried

Entry = tuple[bytes, bytes]
"""A key and a value."""


async def carried(
    store: Store, realm: str, refers: IndexReferences, entries: Sequence[Entry]
) -> list[tuple[Carried, ...]]:
    """What each of these entries refers to. Rows that change in place need not be there."""
    wanted = [(_ids(refers.objects, entry), _ids(refers.rows, entry)) for entry in entries]
    found = await _stored(store, realm, {id for both in wanted for ids in both for id in ids})
    return [
        (
            *(_present(found, realm, id) for id in objects),
            *(found[id] for id in rows if id in found),
        )
        for objects, rows in wanted
    ]


async def carried_objects(store: Store, realm: str, ids: Sequence[int]) -> list[Carried]:
    """These immutable objects."""
    found = await _stored(store, realm, ids)
    return [_present(found, realm, id) for id in ids]


async def _stored(store: Store, realm: str, ids: Iterable[int]) -> dict[int, Carried]:
    wanted = sorted(ids)
    if not wanted:
        return {}
    parts: dict[int, list[StoredRow]] = {}
    for row in await store.backend.fetch(realm, wanted):
        parts.setdefault(row.id, []).append(row)
    found = {}
    for id, rows in parts.items():
        encoded = join(rows)
        payload = payload_of(realm, encoded)
        found[id] = Carried(id, encoded.type, payload, bool(rows[0].version))
    return found


def _present(found: dict[int, Carried], realm: str, id: int) -> Carried:
    if id not in found:
        raise ObjectNotFound(
            f"object {id} of realm {realm!r} cannot be exported",
            why="an entry refers to it and it is not stored: it was swept meanwhile, or is lost",
            fix="Export again; if it stays, restore the database from a backup",
        )
    return found[id]


def _ids(identify: Identify | None, entry: Entry) -> list[int]:
    if identify is None:
        return []
    try:
        return [id for id in identify(*entry) if id]
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRow(
            "an entry cannot be exported",
            why=f"it is not what its index should have: {error}",
            fix="Check that pointer, head and index belong together; else restore a backup",
        ) from error
