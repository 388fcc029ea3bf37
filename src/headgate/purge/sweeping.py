"""Deleting batch by batch: on the thread that finds the files as long as that is quick, else on
several."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Protocol, Self

from headgate.clock import Clock
from headgate.limits import PURGE_BATCH_FILES
from headgate.storage.deletions import Check, Deleted, Folders

QUICK_SECONDS = 0.02
"""A batch that takes no longer is not worth another thread: Python's lock would be passed on for
each file. Nearly all of the time is then spent with finding files."""
QUICK_AGAIN_BATCHES = 16
"""After so many on other threads it is tried again; after twice as many if it was slow again."""
PAUSES_SECONDS = (0.05, 0.2, 0.8)
"""Before what could not be deleted is tried again."""


class Deletion(Protocol):
    """What deletes many files."""

    def delete(self, folders: Folders, check: Check) -> Deleted:
        """Delete these. `check` raises, in between, if there is to be an end."""
        ...


class Batch:
    """Files that are deleted together."""

    def __init__(self) -> None:
        self.folders: dict[str, list[str]] = {}
        self.count = 0
        self.bytes = 0
        self._sizes: dict[str, list[int]] = {}

    def add(self, folder: str, name: str, size: int) -> None:
        """Take in another one."""
        names = self.folders.get(folder)
        if names is None:
            names = self.folders[folder] = []
            self._sizes[folder] = []
        names.append(name)
        self._sizes[folder].append(size)
        self.count += 1
        self.bytes += size

    @property
    def is_full(self) -> bool:
        """Whether it is time for the next one."""
        return self.count >= PURGE_BATCH_FILES

    def deleted_bytes(self, done: Deleted) -> int:
        """The size of what was deleted, as far as metadata knew it."""
        kept = {*done.missing, *(location for location, _ in done.failed)}
        if not kept:
            return self.bytes
        return sum(
            size
            for folder, names in self.folders.items()
            for name, size in zip(names, self._sizes[folder], strict=True)
            if f"{folder}/{name}" not in kept
        )


Done = Callable[[Batch, Deleted], None]
"""Is told, on the thread that brings batches, what came of each."""


class Sweep:
    """Takes batches and deletes them. Use it in a `with`: at its end all is done."""

    def __init__(
        self, deletion: Deletion, threads: int, clock: Clock, check: Check, done: Done
    ) -> None:
        self._deletion = deletion
        self._threads = threads
        self._clock = clock
        self._check = check
        self._done = done
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="deleter")
        self._under_way: dict[Future[Deleted], Batch] = {}
        self._until_quick = 0
        self._slow = QUICK_AGAIN_BATCHES
        self._over = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_rest: object) -> None:
        try:
            while self._under_way and failed is None:
                self._collect()
        finally:
            self._over.set()
            self._pool.shutdown(wait=True, cancel_futures=True)

    def take(self, batch: Batch) -> None:
        """Delete this batch, now or soon."""
        if self._until_quick == 0:
            began = self._clock.seconds()
            self._done(batch, self._delete(batch))
            if self._clock.seconds() - began > QUICK_SECONDS and self._threads > 1:
                self._until_quick = self._slow
                self._slow *= 2
            return
        self._until_quick -= 1
        self._under_way[self._pool.submit(self._delete, batch)] = batch
        while len(self._under_way) > self._threads or (self._under_way and self._until_quick == 0):
            self._collect()

    def _collect(self) -> None:
        """Wait for a batch."""
        for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
            self._done(self._under_way.pop(future), future.result())

    def _delete(self, batch: Batch) -> Deleted:
        done = self._deletion.delete(batch.folders, self._check)
        for pause in PAUSES_SECONDS:
            if not done.failed:
                break
            self._over.wait(pause)
            self._check()
            again = self._deletion.delete(_by_folder(done), self._check)
            done = Deleted(
                done.deleted + again.deleted, [*done.missing, *again.missing], again.failed
            )
        return done


def _by_folder(done: Deleted) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = {}
    for location, _ in done.failed:
        folder, _, name = location.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return folders
