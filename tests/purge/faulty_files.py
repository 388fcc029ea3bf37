"""Files of a storage in trouble, as the code of a deleting child sees them."""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.errors import FileMissing, StorageUnavailable
from headgate.storage.deletions import Check, Deleted
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles

LOCAL = StorageOptions(local_sync=False)
_numbers = itertools.count()
_troubles: dict[int, "Trouble"] = {}


@dataclass
class Trouble:
    """What goes wrong from now on; a test changes it at any time."""

    failing_share: float = 0.0
    """Of deletions: another try may succeed."""
    denied: frozenset[str] = frozenset()
    """Locations that nobody may delete."""
    stubborn: frozenset[str] = frozenset()
    """Locations whose deletion is acknowledged, and not done."""
    pause_seconds: float = 0.0
    """Before each file."""
    expires_after: int | None = None
    """Deletions, and then the storage refuses everything."""
    is_gone: bool = False
    """The bucket is not there."""
    before_check: Callable[[], None] = lambda: None
    """Called before a child asks whether it may delete the next file."""
    on_delete: Callable[[str], None] = lambda _location: None
    """Called when a file is deleted."""
    read: list[str] = field(default_factory=list)
    """What was read."""
    deleted: list[str] = field(default_factory=list)
    """What was deleted, in this order."""
    chance: random.Random = field(default_factory=random.Random)
    number: int = field(default_factory=lambda: next(_numbers))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        _troubles[self.number] = self

    def files_below(self, roots: tuple[str, ...]) -> "FaultyFactory":
        """What a child is given to open files with."""
        return FaultyFactory(self.number, WorkerFiles(LOCAL, roots))

    def check(self) -> None:
        """Raise what the storage answers to everything."""
        if self.expires_after is not None and len(self.deleted) >= self.expires_after:
            raise StorageUnavailable("Storage is not available", why="ExpiredToken")

    def refusal(self, location: str) -> str:
        """Why a file cannot be deleted; empty if it can."""
        with self._lock:
            if location in self.denied:
                return "AccessDenied"
            if self.expires_after is not None and len(self.deleted) >= self.expires_after:
                return "ExpiredToken"
            if self.chance.random() < self.failing_share:
                return "SlowDown"
            if location not in self.stubborn:
                self.on_delete(location)
                self.deleted.append(location)
            return ""


@dataclass(frozen=True)
class FaultyFactory:
    """Crosses to the child by its number."""

    number: int
    inner: WorkerFiles

    def __call__(self) -> "FaultyFiles":
        return FaultyFiles(self.inner(), _troubles[self.number])


class FaultyFiles:
    """The real files, with trouble."""

    def __init__(self, inner: OpenedFiles, trouble: Trouble) -> None:
        self._inner = inner
        self._trouble = trouble

    def read(self, location: str) -> bytes:
        self._trouble.check()
        if self._trouble.is_gone:
            raise FileMissing(f"there is no {location}")
        self._trouble.read.append(location)
        return self._inner.read(location)

    def missing(self, location: str) -> bool:
        self._trouble.check()
        return self._inner.missing(location)

    def all_missing(self, locations: Sequence[str]) -> bool:
        self._trouble.check()
        return self._inner.all_missing(locations)

    def list(self, prefix: str) -> Iterator[str]:
        self._trouble.check()
        return self._inner.list(prefix)

    def deletion(self) -> "FaultyDeletion":
        return FaultyDeletion(self._inner, self._trouble)

    def remove_folders(self, location: str) -> None:
        self._inner.remove_folders(location)

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        self._trouble.check()
        if self._trouble.is_gone:
            raise StorageUnavailable(f"{location} is out of reach", why="NoSuchBucket")
        self._inner.check_store(location, may_be_empty=may_be_empty)


class FaultyDeletion:
    """Deletes one by one what it can."""

    def __init__(self, inner: OpenedFiles, trouble: Trouble) -> None:
        self._files = inner
        self._inner = inner.deletion()
        self._trouble = trouble

    def delete(self, folders: Mapping[str, Sequence[str]], check: Check) -> Deleted:
        deleted, missing, failed = 0, list[str](), list[tuple[str, str]]()
        for folder, names in folders.items():
            for name in names:
                location = f"{folder}/{name}"
                if self._files.missing(location):
                    missing.append(location)
                    continue
                time.sleep(self._trouble.pause_seconds)
                self._trouble.before_check()
                check()
                if why := self._trouble.refusal(location):
                    failed.append((location, why))
                elif location in self._trouble.stubborn:
                    deleted += 1
                else:
                    done = self._inner.delete({folder: [name]}, check)
                    deleted += done.deleted
                    missing += done.missing
                    failed += done.failed
        return Deleted(deleted, missing, failed)
