"""Catalogs that were dropped while files of their tables are still there.

Their names are free. Their places are not: until the last file is deleted they are remembered here,
in an index beside the names of the others, with all that is needed to get there.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from headgate.catalog.entities import CatalogEntity
from headgate.catalog.naming import Readable, id_bytes
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey

DROPPED = "dropped"
"""The index under `catalogs`, by the ids of the catalogs."""


class Dropped(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a dropped catalog. New fields come last and have defaults."""

    object: int
    """Its last state."""
    name: str
    """The name that it had."""
    dropped_ms: int = 0
    by: str = ""
    """Who dropped it, or its metalake."""
    request: str = ""


class DroppedCatalog(NamedTuple):
    """A dropped catalog, with its last state."""

    id: int
    record: Dropped
    entity: CatalogEntity


_decoder = msgspec.msgpack.Decoder(Dropped)


def remember(draft: Draft, id: int, record: Dropped) -> None:
    """Keep a catalog in mind, in the commit that frees its name."""
    draft.index(DROPPED).put(id_bytes(id), msgspec.msgpack.encode(record))


def forget(draft: Draft, id: int) -> Dropped | None:
    """Keep it in mind no more; None if another node was faster."""
    index = draft.index(DROPPED)
    record = find_dropped(index, id)
    if record is not None:
        index.remove(id_bytes(id))
    return record


def decode_dropped(value: bytes) -> Dropped:
    """The dropped catalog in these bytes of the index."""
    return _decoder.decode(value)


def find_dropped(index: Readable, id: int) -> Dropped | None:
    """The dropped catalog of this id."""
    value = index.get(id_bytes(id))
    return None if value is None else decode_dropped(value)


def all_dropped(index: Readable) -> Iterator[tuple[int, Dropped]]:
    """The dropped catalogs of a metalake by their ids, the oldest first."""
    for key, value in index.scan(b"", None):
        yield int.from_bytes(key, "big"), decode_dropped(value)


async def dropped_catalogs(kernel: Kernel, realm: str) -> list[DroppedCatalog]:
    """The dropped catalogs of a metalake, which may be dropped itself."""
    [value] = await kernel.pointers.read([PointerKey(realm, CATALOG_POINTER)])
    return await dropped_under(await open_head(kernel.store, realm, value))


async def dropped_under(catalogs: HeadView) -> list[DroppedCatalog]:
    """The same, as a head of the pointer `catalogs` has them."""
    found = await look(catalogs.index(DROPPED), lambda tree: list(all_dropped(tree)))
    entities = await catalogs.get_all([record.object for _, record in found], CatalogEntity)
    return [
        DroppedCatalog(id, record, entity)
        for (id, record), entity in zip(found, entities, strict=True)
    ]


def still_there(taken: LocationTaken, catalog: str) -> LocationTaken:
    """The error of whoever wants the place of a dropped catalog."""
    error = LocationTaken(
        taken.what,
        why=f"{catalog} was dropped, and files of its tables are still there",
        fix="Choose another location, or wait until they are deleted: "
        "`headgate jobs list` shows how far that is",
        holder=taken.holder,
    )
    error.passing = True
    return error
