"""How many files a table has, found out by a child process, seen from the parent."""

import pickle
from collections.abc import Callable

import msgspec

from headgate.catalog.ports import Roots
from headgate.errors import BadMetadata, FileMissing, InvalidInput, StorageUnavailable
from headgate.purge.sizing import Sizes
from headgate.workers.pool import WorkerPool


class Sizer:
    """Lets a child count files."""

    def __init__(self, pool: WorkerPool, files_below: Callable[[Roots], object]) -> None:
        self._pool = pool
        self._files_below = files_below

    async def sizes(self, location: str, roots: Roots) -> Sizes:
        """How many files of each kind lie below a table's metadata file."""
        answer = await self._pool.run("count", self._files(roots), location.encode())
        return msgspec.msgpack.decode(answer, type=Sizes)

    async def is_large(self, location: str, roots: Roots, least: int) -> bool:
        """Whether there are so many data files; what cannot be read is not large, as whoever
        deletes it will tell."""
        if not least:
            return True
        asked = self._files(roots), location.encode(), str(least).encode()
        try:
            return bool(await self._pool.run("is-large", *asked))
        except (FileMissing, BadMetadata, InvalidInput, StorageUnavailable):
            return False

    def _files(self, roots: Roots) -> bytes:
        return pickle.dumps(self._files_below(roots))
