"""Objects read straight from the database: the cache is for those who serve requests."""

from collections.abc import Collection

from headgate.kernel.objects import Foreign, Stored, join
from headgate.kernel.records import Row
from headgate.kernel.store import Store


async def read_objects(
    store: Store, realm: str, ids: Collection[int]
) -> dict[int, Stored | Foreign]:
    """The immutable objects with these ids; absent ones are not in the answer."""
    parts: dict[int, list[Row]] = {}
    for row in await store.backend.fetch(realm, ids):
        if not row.version:
            parts.setdefault(row.id, []).append(row)
    return {id: store.types.decode(realm, join(rows)) for id, rows in parts.items()}
