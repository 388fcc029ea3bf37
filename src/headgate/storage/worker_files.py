"""Files for worker processes: a description that can be pickled, opened over there."""

import asyncio
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
    """Reads files one after the other; a worker has nothing else to do meanwhile."""

    def __init__(self, where: WorkerFiles) -> None:
        self._files = StorageFiles(where.options, where.roots)
        self._runner = asyncio.Runner()

    def read(self, location: str) -> bytes:
        """The content of a file."""
        return self._runner.run(self._files.read(location))
