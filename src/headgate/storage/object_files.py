"""Files in object stores, through obstore."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import obstore
from obstore.exceptions import GenericError

from headgate.errors import FileMissing, HeadgateError
from headgate.limits import DELETES_IN_FLIGHT_MAX, OBJECTS_DELETED_AT_ONCE
from headgate.storage.deletions import Check, may_go_on
from headgate.storage.failures import NETWORK, NotDeleted, translated, unavailable
from headgate.storage.file_sizes import check_size
from headgate.storage.places import Place
from headgate.storage.stores import Store, Stores

LISTED_AT_ONCE = 1000
NO_BUCKET = "Create it, or correct the location of the catalog."
READ_AT_ONCE_BYTES = 1 << 20  # it is copied while everybody waits
WRITE_PAUSES_SECONDS = (0, 0.2, 1)


class ObjectFiles:
    """Places of any bucket; each bucket's store is opened when it is first used."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def read(self, place: Place) -> bytes:
        store = await self._stores.of(place)
        location = place.location(place.path)
        with translated(location):
            answer = await obstore.get_async(store, place.path)
            size = answer.meta["size"]
            check_size(location, size)
            if size <= READ_AT_ONCE_BYTES:
                return bytes(await answer.bytes_async())
            stream = answer.stream(min_chunk_size=READ_AT_ONCE_BYTES)
            pieces = [bytes(piece) async for piece in stream]
        return await asyncio.to_thread(b"".join, pieces)

    async def write(self, place: Place, data: Sequence[bytes]) -> None:
        """A connection that breaks is no answer, and obstore does not repeat a creation then. To
        repeat it is safe: the worst that can happen is that the file is there already."""
        store = await self._stores.of(place)
        whole = b"".join(data)
        location = place.location(place.path)
        try:
            with translated(location):
                for pause in WRITE_PAUSES_SECONDS:
                    with suppress(GenericError):
                        await _create(store, place.path, whole)
                        return
                    await asyncio.sleep(pause)
                await _create(store, place.path, whole)
        except FileMissing:  # a new file needs nothing but its bucket
            raise unavailable(location, "the bucket does not exist", NO_BUCKET) from None

    async def missing(self, place: Place) -> bool:
        store = await self._stores.of(place)
        try:
            with translated(place.location(place.path)):
                await obstore.head_async(store, place.path)
        except FileMissing:
            return True
        return False

    async def delete(self, places: Sequence[Place], check: Check = may_go_on) -> NotDeleted:
        """The places are of one store."""
        try:
            store = await self._stores.of(places[0])
        except HeadgateError as error:
            return [(place.location(place.path), error.why) for place in places]
        kept: NotDeleted = []
        for start in range(0, len(places), OBJECTS_DELETED_AT_ONCE):
            check()
            some = places[start : start + OBJECTS_DELETED_AT_ONCE]
            kept += await _delete_some(store, some, check)
        return kept

    async def list(self, place: Place) -> AsyncIterator[str]:
        store = await self._stores.of(place)
        with translated(place.location(place.path)):
            async for objects in obstore.list(store, place.path, chunk_size=LISTED_AT_ONCE):
                for found in objects:
                    yield place.location(found["path"])


async def _create(store: Store, path: str, data: bytes) -> None:
    await obstore.put_async(store, path, data, mode="create", use_multipart=False)


async def _delete_some(store: Store, places: Sequence[Place], check: Check) -> NotDeleted:
    """All at once; one by one if that fails, since a store says no more than that it did.

    A store that does not answer any of the first ones is not asked for the others.
    """
    try:
        with translated(places[0].root):
            await obstore.delete_async(store, [place.path for place in places])
    except HeadgateError:
        kept: NotDeleted = []
        for start in range(0, len(places), DELETES_IN_FLIGHT_MAX):
            check()
            some = places[start : start + DELETES_IN_FLIGHT_MAX]
            errors = await asyncio.gather(*(_delete_one(store, place) for place in some))
            if all(error and error.fix == NETWORK for error in errors):
                why = errors[0].why if errors[0] else ""
                return [*kept, *((place.location(place.path), why) for place in places[start:])]
            refused = [(place, error) for place, error in zip(some, errors, strict=True) if error]
            gone = await asyncio.gather(*(_is_gone(store, place) for place, _ in refused))
            kept += [
                (place.location(place.path), error.why)
                for (place, error), is_gone in zip(refused, gone, strict=True)
                if not is_gone
            ]
        return kept
    return []


async def _delete_one(store: Store, place: Place) -> HeadgateError | None:
    """Why it could not be deleted."""
    try:
        with translated(place.location(place.path)):
            await obstore.delete_async(store, place.path)
    except FileMissing:
        return None
    except HeadgateError as error:
        return error
    return None


async def _is_gone(store: Store, place: Place) -> bool:
    """Whether a refused deletion was not needed: else what is long gone could fail for ever."""
    try:
        with translated(place.location(place.path)):
            await obstore.head_async(store, place.path)
    except FileMissing:
        return True
    except HeadgateError:
        return False
    return False
