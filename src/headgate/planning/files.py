"""How a worker process gets at files: a port, and the factory that crosses the process border."""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from headgate.errors import FileMissing, Forbidden, StorageUnavailable
from headgate.limits import PLANNING_READS_AHEAD, PLANNING_STORES_OPEN_MAX


class OpenFiles(Protocol):
    """Files that are open for reading."""

    def read(self, location: str) -> bytes:
        """A whole file. Raises FileMissing if it does not exist, StorageUnavailable if the store
        does not answer, Forbidden if this location may not be read."""
        ...


Files = Callable[[], OpenFiles]
"""Opens files in a worker. It is pickled: an instance of a module's dataclass, or a partial."""


@lru_cache(PLANNING_STORES_OPEN_MAX)
def open_files(factory: bytes) -> OpenFiles:
    """What a pickled factory opens: the same for the same settings, so that connections are used
    again."""
    files: OpenFiles = pickle.loads(factory)()  # noqa: S301  the server's own words  # nosec B301
    return files


def read_ahead(files: OpenFiles, locations: Iterable[str]) -> Iterator[Callable[[], bytes]]:
    """For each location, in their order, what gives the file's bytes or raises why it cannot."""
    waiting: deque[Future[bytes]] = deque()
    threads = ThreadPoolExecutor(PLANNING_READS_AHEAD)
    try:
        for location in locations:
            waiting.append(threads.submit(files.read, location))
            if len(waiting) > PLANNING_READS_AHEAD:
                yield waiting.popleft().result
        while waiting:
            yield waiting.popleft().result
    finally:
        threads.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class LocalFiles:
    """Files of this machine, under one folder. It is its own factory."""

    root: str = "/"

    def __call__(self) -> "LocalFiles":
        return self

    def read(self, location: str) -> bytes:
        try:
            path = local_path(location).resolve()
            if not path.is_relative_to(Path(self.root).resolve()):
                raise Forbidden(
                    f"Not allowed to read {location}", why=f"it does not lie under {self.root}"
                )
            return path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise FileMissing(f"Failed to open input stream for file: {location}") from error
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, zero bytes
            raise StorageUnavailable(f"Cannot read {location}", why=str(error)) from error


def local_path(location: str) -> Path:
    """`/x`, `file:/x` and `file:///x` are one file. Nothing is decoded: `%20` is part of a name."""
    path = location.removeprefix("file:")
    return Path(path if path == location else f"/{path.lstrip('/')}")
