"""The files of tables, wherever they lie: what the catalog is given as its storage."""

import asyncio
import itertools
import operator
import os
from collections.abc import AsyncIterator, Sequence

from headgate.clock import Clock, SystemClock
from headgate.errors import AlreadyExists, Forbidden, HeadgateError
from headgate.storage import endpoints
from headgate.storage.deletions import Check, may_go_on
from headgate.storage.failures import NotDeleted
from headgate.storage.file_writers import FileWriters
from headgate.storage.local_deletion import LocalDeletion
from headgate.storage.local_files import LocalFiles, path_of
from headgate.storage.object_files import ObjectFiles
from headgate.storage.options import StorageOptions
from headgate.storage.places import Place, RootPlaces, parse
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
        places = tuple(parse(root) for root in roots)
        self._roots = RootPlaces(places)
        self._local = LocalFiles(places, sync=options.local_sync, writers=writers)
        self._objects = ObjectFiles(Stores(options, clock or SystemClock(), resolve=resolve))

    async def read(self, location: str) -> bytes:
        """The whole file, or FileMissing."""
        place = parse(location)
        return await self._at(place).read(place)

    def read_now(self, location: str) -> bytes | None:
        """The same on this thread; None where it would have to be waited for."""
        place = parse(location)
        return self._local.read_now(place) if place.kind == "file" else None

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

    def absent_now(self, location: str) -> bool | None:
        """Whether there is nothing for sure; None where that would need a round trip."""
        place = parse(location)
        return self._local.absent_now(place) if place.kind == "file" else None

    async def delete(self, locations: Sequence[str], check: Check = may_go_on) -> NotDeleted:
        """Delete them; those that are absent count as deleted. Says which could not be, and why.

        `check` raises, between requests to object stores, if there is to be an end.
        """
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
            if of_one_store[0].kind == "file":
                kept += await self._local.delete(of_one_store)
            else:
                kept += await self._objects.delete(of_one_store, check)
        return kept

    def local_deletion(self) -> LocalDeletion:
        """What deletes many local files."""
        return LocalDeletion(self._local)

    async def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if the bucket of a file is gone, or the root it lies in.

        Then a file that is missing may only be out of sight: a disk may not be mounted, and the
        folder that it belongs to may be there and empty.
        """
        place = parse(location)
        if place.kind == "file":
            self._local.check_root(place, may_be_empty=may_be_empty)
        else:
            async for _ in self._objects.list(place):
                break

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

    async def is_empty(self, location: str) -> bool:
        """Whether there is certainly no file below; False if not even its folder is there, where
        there are folders: its disk may be away."""
        place = parse(location)
        if place.kind == "file" and not await asyncio.to_thread(os.path.isdir, path_of(place)):
            return False
        async for _ in self.list(location):
            return False
        return True

    def list(self, prefix: str) -> AsyncIterator[str]:
        """The locations of all files below a prefix, which counts by whole segments."""
        place = parse(prefix)
        return self._at(place).list(place)

    def _at(self, place: Place) -> LocalFiles | ObjectFiles:
        """Local files check for themselves: links may lead elsewhere than names say."""
        if place.kind == "file":
            return self._local
        if not self._roots.hold(place):
            raise Forbidden(
                f"Location is not allowed: {place.location(place.path)}",
                why="it does not lie below a location of this catalog",
            )
        return self._objects
