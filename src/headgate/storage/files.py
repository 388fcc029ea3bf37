"""The files of tables, wherever they lie: what the catalog is given as its storage."""

import itertools
import operator
from collections.abc import AsyncIterator, Sequence

from headgate.clock import Clock, SystemClock
from headgate.errors import AlreadyExists, Forbidden, HeadgateError
from headgate.storage import endpoints
from headgate.storage.failures import NotDeleted
from headgate.storage.file_writers import FileWriters
from headgate.storage.local_files import LocalFiles
from headgate.storage.object_files import ObjectFiles
from headgate.storage.options import StorageOptions
from headgate.storage.places import Place, parse, place_within
from headgate.storage.stores import Stores

store = operator.attrgetter("store")


class StorageFiles:
    """Locations are taken as clients write them: `/x`, `file:/x`, `s3://bucket/key` and so on.

    Nothing is reached but what lies below one of the roots, which are locations too.
    """

    def __init__(
        self,
        options: StorageOptions,
        roots: Sequence[str],
        *,
        clock: Clock | None = None,
        resolve: endpoints.Resolve = endpoints.resolve,
        writers: FileWriters | None = None,
    ) -> None:
        self._roots = tuple(parse(root) for root in roots)
        self._local = LocalFiles(self._roots, sync=options.local_sync, writers=writers)
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
                place = parse(location)
                self._at(place)
            except HeadgateError as error:
                kept.append((location, error.why))
            else:
                places.append(place)
        places.sort(key=store)
        for _, group in itertools.groupby(places, key=store):
            of_one_store = tuple(group)
            kept += await self._at(of_one_store[0]).delete(of_one_store)
        return kept

    async def prepare(self, location: str) -> None:
        """Make the folders that a client will write to, where folders have to be made."""
        place = parse(location)
        if place.kind == "file":
            await self._local.prepare(place)

    async def remove_folders(self, location: str) -> None:
        """Remove the empty folders here and below, where there are folders; a root stays."""
        place = parse(location)
        if place.kind == "file":
            await self._local.remove_folders(place)

    def list(self, prefix: str) -> AsyncIterator[str]:
        """The locations of all files below a prefix, which counts by whole segments."""
        place = parse(prefix)
        return self._at(place).list(place)

    def _at(self, place: Place) -> LocalFiles | ObjectFiles:
        """Local files check for themselves: links may lead elsewhere than names say."""
        if place.kind == "file":
            return self._local
        if not any(place_within(place, root) for root in self._roots):
            raise Forbidden(
                f"Location is not allowed: {place.location(place.path)}",
                why="it does not lie below a location of this catalog",
            )
        return self._objects
