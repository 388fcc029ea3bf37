"""Files for worker processes: a description that can be pickled, opened over there."""

import asyncio
import threading
from dataclasses import dataclass

from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions


@dataclass(frozen=True)
class WorkerFiles:
    """Where the files of a catalog lie; called in a worker, it opens them."""

    options: StorageOptions
    roots: tuple[str, ...]

    def __call__(self) -> "OpenedFiles":
        return OpenedFiles(self)


class OpenedFiles:
    """Reads files for any number of threads, on an event loop in a thread of its own."""

    def __init__(self, where: WorkerFiles) -> None:
        self._files = StorageFiles(where.options, where.roots)
        self._loop = asyncio.new_event_loop()
        # A daemon: it ends with the worker, which has nothing to say at its end.
        threading.Thread(target=self._loop.run_forever, name="files", daemon=True).start()

    def read(self, location: str) -> bytes:
        """The content of a file."""
        return asyncio.run_coroutine_threadsafe(self._files.read(location), self._loop).result()
