"""Deleting files as they are found, as far as they are the table's own."""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from headgate.clock import Clock
from headgate.planning.reachable import Found, Seen, Walk
from headgate.purge.deleter import Task
from headgate.purge.ledger import NONE_LEFT, Failed, LeftFiles, left_files
from headgate.purge.sweeping import Batch, Deletion, Sweep
from headgate.purge.territory import NOWHERE, Standing, Territory
from headgate.storage.deletions import Check, Deleted

Kind = Callable[[], Iterator[Found]]
"""Finds all files of a kind, each time anew."""


class Removed(msgspec.Struct, frozen=True, array_like=True):
    """What came of some files."""

    deleted: int = 0
    missing: int = 0
    bytes: int = 0
    failed: tuple[Failed, ...] = ()
    outside: tuple[str, ...] = ()
    """Files that are not in the table's own places: the parent of the child may delete them."""
    kept: int = 0
    """Files that others refer to, and stay."""
    left_outside: LeftFiles = NONE_LEFT
    """Files that are not in the table's own places, and stay."""

    @property
    def found(self) -> int:
        """How many files of the table's own there were."""
        return self.deleted + self.missing + len(self.failed)


Tell = Callable[[Removed], None]


class Bulk(Protocol):
    """Files as they are deleted in bulk."""

    def deletion(self) -> Deletion:
        """What deletes many files."""
        ...


class Means(NamedTuple):
    """What a removal works with."""

    files: Bulk
    clock: Clock
    check: Check
    """Raises when nothing more is to be deleted."""


class Remover(Protocol):
    """Deletes all files of a kind, and tells what came of them."""

    def data(self, walk: Walk, tell: Tell) -> None:
        """Data and delete files: these are the many."""
        ...

    def files(self, kind: Kind, tell: Tell) -> None:
        """Files of another kind."""
        ...


Hands = Callable[["Task", Means, AbstractSet[int]], Remover]
"""What makes a remover of a task, its means, and what is needed by others."""


class Removal:
    """Deletes in this process, but not what is needed by others: hashes of folder and name."""

    def __init__(
        self,
        task: Task,
        means: Means,
        needed: AbstractSet[int] = frozenset(),
        content: Callable[[Walk], Iterator[Found]] = Walk.data,
    ) -> None:
        self._means = means
        self._needed = needed
        self._content = content
        self._threads = task.threads
        self._whole_catalog = task.whole_catalog
        self._territory = Territory(task.roots, task.own, task.foreign)

    def data(self, walk: Walk, tell: Tell) -> None:
        self.remove(self._content(walk), tell)

    def files(self, kind: Kind, tell: Tell) -> None:
        self.remove(kind(), tell)

    def remove(self, found: Iterable[Found], tell: Tell) -> None:
        """Delete these, each once."""
        files, clock, check = self._means
        seen, batch, kept, needed = Seen(), Batch(), 0, self._needed
        done = partial(_tell_of, tell)
        with Sweep(files.deletion(), self._threads, clock, check, done) as sweep:
            for some in found:
                check()
                outside: list[str] = []
                left: list[str] = []
                for path, size in zip(some.paths, some.sizes, strict=True):
                    folder, name = self._territory.find(path)
                    if not seen.is_new((folder.key, path if folder is NOWHERE else name)):
                        continue
                    standing = folder.standing_of(name)
                    if standing is not Standing.OWN:
                        may_go = standing is Standing.OUTSIDE and self._whole_catalog
                        (outside if may_go else left).append(path)
                        continue
                    if needed and hash((folder.key, name)) in needed:
                        kept += 1
                        continue
                    batch.add(folder.location, name, size)
                    if batch.is_full:
                        sweep.take(batch)
                        batch = Batch()
                if outside or left:
                    tell(Removed(outside=tuple(outside), left_outside=left_files(left)))
            if batch.count:
                sweep.take(batch)
        if kept:
            tell(Removed(kept=kept))


def _tell_of(tell: Tell, batch: Batch, done: Deleted) -> None:
    assert done.deleted + len(done.missing) + len(done.failed) == batch.count
    failed = tuple(Failed(location, why) for location, why in done.failed)
    tell(Removed(done.deleted, len(done.missing), batch.deleted_bytes(done), failed))
