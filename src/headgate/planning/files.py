"""How a worker process gets at files: a port, and the factory that crosses the process border."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from headgate.errors import FileMissing, Forbidden, StorageUnavailable


class OpenFiles(Protocol):
    """Files that are open for reading."""

    def read(self, location: str) -> bytes:
        """A whole file. Raises FileMissing if it does not exist, StorageUnavailable if the store
        does not answer, Forbidden if this location may not be read."""
        ...


Files = Callable[[], OpenFiles]
"""Opens files in a worker. It is pickled: an instance of a module's dataclass, or a partial."""


@dataclass(frozen=True)
class LocalFiles:
    """Files of this machine, under one folder. It is its own factory."""

    root: str = "/"

    def __call__(self) -> "LocalFiles":
        return self

    def read(self, location: str) -> bytes:
        path = local_path(location).resolve()
        if not path.is_relative_to(Path(self.root).resolve()):
            raise Forbidden(
                f"Not allowed to read {location}", why=f"it does not lie under {self.root}"
            )
        try:
            return path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise FileMissing(f"Failed to open input stream for file: {location}") from error
        except OSError as error:
            raise StorageUnavailable(f"Cannot read {location}", why=str(error)) from error


def local_path(location: str) -> Path:
    """`/x`, `file:/x` and `file:///x` are the same file."""
    if not location.startswith("file:"):
        return Path(location)
    return Path(unquote(urlsplit(location).path))
