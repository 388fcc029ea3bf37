"""The files of tables, wherever they lie: what the catalog is given as its storage."""

import itertools
from collections.abc import AsyncIterator, Sequence

from headgate.clock import Clock, SystemClock
from headgate.errors import AlreadyExists, HeadgateError
from headgate.storage import endpoints
from headgate.storage.failures import NotDeleted
from headgate.storage.local_files import LocalFiles
from headgate.storage.object_files import ObjectFiles
from headgate.storage.options import StorageOptions
from headgate.storage.places import Place, parse
from headgate.storage.stores import Stores


class StorageFiles:
    """Locations are taken as clients write them: `/x`, `file:/x`, `s3://bucket/key` and so on.

    Local files are reached below `local_roots` only; object stores as far as the options go.
    """

    def __init__(
        self,
        options: StorageOptions,
        local_roots: Sequence[str] = (),
        *,
        clock: Clock | None = None,
        resolve: endpoints.Resolve = endpoints.resolve,
    ) -> None:
        self._local = LocalFiles(local_roots, sync=options.local_sync)
        self._objects = ObjectFiles(Stores(options, clock or SystemClock(), resolve=resolve))

    async def read(self, location: str) -> bytes:
        """The whole file, or FileMissing."""
        place = parse(location)
        return await self._at(place).read(place)

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        """Create a file; it is durable when this returns. An existing file is never changed.

        That the very same file is already there is no error: the answer to a first try was lost.
        """
        pieces = (data,) if isinstance(data, bytes) else data
        place = parse(location)
        try:
            await self._at(place).write(place, pieces)
        except AlreadyExists:
            if await self.read(location) != b"".join(pieces):
                raise

    async def missing(self, location: str) -> bool:
        """Whether there is no such file."""
        place = parse(location)
        return await self._at(place).missing(place)

    def missing_now(self, location: str) -> bool | None:
        """The same without waiting; None where that would need a round trip."""
        place = parse(location)
        return self._local.missing_now(place) if place.kind == "file" else None

    async def delete(self, locations: Sequence[str]) -> NotDeleted:
        """Delete them; those that are absent count as deleted. Says which could not be, and why."""
        kept: NotDeleted = []
        places = []
        for location in locations:
            try:
                places.append(parse(location))
            except HeadgateError as error:
                kept.append((location, error.why))
        places.sort(key=_store)
        for _, group in itertools.groupby(places, key=_store):
            of_one_store = tuple(group)
            kept += await self._at(of_one_store[0]).delete(of_one_store)
        return kept

    def list(self, prefix: str) -> AsyncIterator[str]:
        """The locations of all files below a prefix, which counts by whole segments."""
        place = parse(prefix)
        return self._at(place).list(place)

    def _at(self, place: Place) -> LocalFiles | ObjectFiles:
        return self._local if place.kind == "file" else self._objects


def _store(place: Place) -> tuple[str, str, str]:
    return (place.kind, place.bucket, place.account)
