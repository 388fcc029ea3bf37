"""Files for worker processes: a description that can be pickled, opened over there."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from headgate.storage.bulk_deletion import BulkDeletion
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions

LISTED_AT_ONCE = 1_000
ASKED_AT_ONCE = 32
"""Whether they are there."""

T = TypeVar("T")


@dataclass(frozen=True)
class WorkerFiles:
    """Where the files of a catalog lie; called in a worker, it opens them."""

    options: StorageOptions
    roots: tuple[str, ...]

    def __call__(self) -> "OpenedFiles":
        return OpenedFiles(self)


class OpenedFiles:
    """Files for any number of threads, on an event loop that all of a process share."""

    def __init__(self, where: WorkerFiles) -> None:
        self._files = StorageFiles(where.options, where.roots)
        self._loop = _loop(os.getpid())

    def read(self, location: str) -> bytes:
        """The content of a file."""
        here = self._files.read_now(location)
        return self._run(self._files.read(location)) if here is None else here

    def missing(self, location: str) -> bool:
        """Whether there is no such file."""
        return self._run(self._files.missing(location))

    def all_missing(self, locations: Sequence[str]) -> bool:
        """Whether none of these files is there, nor anything in its place."""
        far: list[str] = []
        for location in locations:
            is_absent = self._files.absent_now(location)
            if is_absent is None:
                far.append(location)
            elif not is_absent:
                return False
        return not far or self._run(_all_missing(self._files, far))

    def list(self, prefix: str) -> Iterator[str]:
        """The locations of all files below a prefix."""
        found = self._files.list(prefix)
        while some := self._run(_take(found)):
            yield from some

    def deletion(self) -> BulkDeletion:
        """What deletes many files."""
        return BulkDeletion(self._files, self._files.local_deletion(), self._run)

    def remove_folders(self, location: str) -> None:
        """Remove the empty folders here and below, where there are folders."""
        self._run(self._files.remove_folders(location))

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if the bucket of a file is gone, or the root it lies in."""
        self._run(self._files.check_store(location, may_be_empty=may_be_empty))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@lru_cache(1)
def _loop(process: int) -> asyncio.AbstractEventLoop:  # noqa: ARG001  a fork has no threads
    """The loop of a process: files are opened for ever new places, and threads are never given
    back."""
    loop = asyncio.new_event_loop()
    # A daemon: it ends with the worker, which has nothing to say at its end.
    threading.Thread(target=loop.run_forever, name="files", daemon=True).start()
    return loop


async def _all_missing(files: StorageFiles, locations: Sequence[str]) -> bool:
    for start in range(0, len(locations), ASKED_AT_ONCE):
        some = locations[start : start + ASKED_AT_ONCE]
        if not all(await asyncio.gather(*map(files.missing, some))):
            return False
    return True


async def _take(found: AsyncIterator[str]) -> list[str]:
    some: list[str] = []
    async for location in found:
        some.append(location)
        if len(some) == LISTED_AT_ONCE:
            break
    return some
