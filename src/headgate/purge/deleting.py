"""Deleting the files of a table, one step at a time, leaf first. Runs in a child process.

A step deletes files of one kind, and is over when they are gone, or when it is told which are not.
Each step can be repeated. Little is remembered, however many files there are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.metadata_files import unzipped
from headgate.clock import Clock
from headgate.errors import FileMissing, StorageUnavailable
from headgate.limits import WALK_SEEN_PATHS_MAX
from headgate.planning.reachable import Found, Walk
from headgate.purge.deleter import STILL_THERE, Progress, Task
from headgate.purge.ledger import Failed
from headgate.purge.leftovers import Leftovers, file_of, metadata_folders
from headgate.purge.needed_files import NeededFiles
from headgate.purge.removal import Hands, Kind, Means, Removal, Removed, Remover
from headgate.purge.steps import DATA, GONE, LAST, LISTS, MANIFESTS, OLDER, ROOTS, SEEN
from headgate.purge.surveying import AwayError, StaleError, referred
from headgate.purge.surveyor import PassedOver
from headgate.purge.sweeping import Deletion
from headgate.purge.territory import Standing, Territory
from headgate.storage.deletions import Check

LISTED_AT_ONCE = 1_000
PASSED_OVER_MAX = 100
"""Tables of one step that are told to the parent, for its log."""
SEEN_MAX = 10_000
"""Files of a place that are looked at if others say that they deleted all."""

Tell = Callable[[Progress], None]


class Files(Protocol):
    """Files as a child process deletes them."""

    def read(self, location: str) -> bytes:
        """A whole file, or FileMissing."""
        ...

    def missing(self, location: str) -> bool:
        """Whether there is no such file."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """The locations of all files below a place."""
        ...

    def deletion(self) -> Deletion:
        """What deletes many files."""
        ...

    def remove_folders(self, location: str) -> None:
        """Remove the empty folders here and below."""
        ...

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if what is missing may only be out of sight."""
        ...


class Tools(NamedTuple):
    """What a step works with."""

    files: Files
    others: Files
    """Where tables are read that refer to files of this one."""
    clock: Clock
    check: Check
    """Raises when nothing more is to be deleted."""
    tell: Tell


class Step:
    """One step."""

    def __init__(self, name: str, task: Task, tools: Tools, hands: Hands = Removal) -> None:
        self._name = name
        self._task = task
        self._files, self._others, self._clock, self._check, self._tell = tools
        self._territory = Territory(task.roots, task.own, task.foreign)
        self._sums = Progress(name)
        self._found = 0
        self._failed: list[Failed] = []
        """What is not told yet."""
        self._failures = 0
        self._needed: set[int] = set()
        """Files of the table that others refer to."""
        self._hands = hands
        self._walk = self._begun()

    def run(self) -> None:
        """Do it. It went well if nothing was told to have failed."""
        try:
            self._find_needed()
        except StaleError:
            self._tell(Progress(self._name, is_stale=True))
            return
        except AwayError as error:
            self._tell(Progress(self._name, away=str(error)))
            return
        walk = self._walk
        older = partial(walk.older, self._task.metadata_location)
        rest = partial(_all, walk.lists, walk.statistics, older)
        if self._name in {DATA, SEEN}:
            if self._name == DATA:
                self._remover().data(walk, self._removed)
                self._tell_unread()
            if self._name == SEEN or self._found:
                self._verify(walk.data, besides=partial(_all, walk.manifests, rest, self._last))
        elif self._name == MANIFESTS:
            self._delete(walk.manifests)
            self._verify(walk.manifests)
        elif self._name == LISTS:
            self._delete(walk.lists)
        elif self._name == OLDER:
            self._delete(partial(_all, walk.statistics, older))
            self._clear(rest)
        elif self._name == GONE:
            self._look_for_last()
        else:
            assert self._name == LAST, self._name
            self._end()
        self._report(self._name, expected=self._found)

    def _begun(self) -> Walk:
        location = self._task.metadata_location
        try:
            data = self._files.read(location)
        except FileMissing as error:
            # Before the roots go it cannot be gone by us: then an empty disk is the wrong one.
            self._files.check_store(location, may_be_empty=self._task.stage in {ROOTS, GONE})
            if error.why:
                raise StorageUnavailable(f"{location} cannot be read", why=error.why) from error
            raise
        # What is not the table's is not read either: it would be listed on the job of others.
        whole_catalog = self._task.whole_catalog
        follows = partial(self._territory.may_delete, whole_catalog=whole_catalog)
        return Walk(unzipped(data, location), self._files, follows=follows)

    def _find_needed(self) -> None:
        """Walk over the tables that refer to files of this one."""
        passed_over: list[PassedOver] = []
        needed = NeededFiles(passed_over)
        try:
            for one, paths in referred(self._task.referrers, self._others, passed_over):
                self._check()
                needed.add(one, set(self._own_keys(paths)))
        finally:
            if passed_over:
                told = passed_over[:PASSED_OVER_MAX]
                self._tell(Progress(self._name, passed_over=told))
        self._needed |= needed.all()

    def _own_keys(self, paths: list[str]) -> Iterator[int]:
        """Those of these files that are the table's own."""
        for path in paths:
            folder, name = self._territory.find(path)
            if folder.standing_of(name) is Standing.OWN:
                yield hash((folder.key, name))

    def _last(self) -> Iterator[Found]:
        """The metadata file that the walk begins with."""
        yield Found([self._task.metadata_location], [0])

    def _end(self) -> None:
        """All but the metadata file is gone: now this one, and the folders."""
        self._delete(self._last)
        location = self._task.metadata_location
        if self._found > self._failures and not self._files.missing(location):
            self._fail(location, STILL_THERE)
        for place in self._own_places():
            self._check()
            self._files.remove_folders(place)

    def _look_for_last(self) -> None:
        """The metadata file was read, so it is there: that is well if it is not to be deleted."""
        location = self._task.metadata_location
        folder, name = self._territory.find(location)
        is_own = folder.standing_of(name) is Standing.OWN
        if is_own and hash((folder.key, name)) not in self._needed:
            self._fail(location, STILL_THERE)

    def _delete(self, kind: Kind) -> None:
        """Delete all files of a kind that are the table's own; tell of those that are outside."""
        self._remover().files(kind, self._removed)
        self._tell_unread()

    def _remover(self) -> Remover:
        means = Means(self._files, self._clock, self._check)
        return self._hands(self._task, means, self._needed)

    def _removed(self, removed: Removed) -> None:
        """Count what was done, and tell it."""
        sums = self._sums
        self._found += removed.found
        self._sums = msgspec.structs.replace(
            sums,
            deleted=sums.deleted + removed.deleted,
            missing=sums.missing + removed.missing,
            bytes=sums.bytes + removed.bytes,
            kept=sums.kept + removed.kept,
            left_outside=sums.left_outside + removed.left_outside,
        )
        self._failures += len(removed.failed)
        self._failed += removed.failed
        self._report(self._name, outside=list(removed.outside))

    def _tell_unread(self) -> None:
        """What a damaged manifest leads to is not known, so not all is deleted. One that is not the
        table's is not read: it is listed, and what it leads to in the table's places is counted as
        unreferenced."""
        for one in self._walk.unread:
            if one.why:
                self._fail(one.path, one.why)
        self._walk.unread.clear()

    def _verify(self, kind: Kind, besides: Kind | None = None) -> None:
        """Look at what is left in the table's places: none of it may be of this kind.

        `besides` is what may be left in any case; it is found with little effort.
        """
        if self._failures:
            return
        self._report("verifying")
        for left in self._left():
            if besides:
                left.difference_update(self._keys(besides))
            self._compare(left, kind)

    def _clear(self, kind: Kind) -> None:
        """Look at what is left in the table's places, once all of this kind is deleted: none of it
        may be there. Metadata files of commits that never landed go, and what else nothing refers
        to is counted. The metadata file itself goes last."""
        if self._failures:
            return
        location = self._task.metadata_location
        known = (path for found in self._walk.older(location) for path in found.paths)
        folders = metadata_folders(self._territory, self._task.own, (location, *known))
        strays: list[str] = []
        while strays := self._strays(kind, folders, strays):
            self._delete(partial(_these, strays))  # listed once more, to see that they are gone

    def _strays(self, kind: Kind, folders: set[bytes], deleted: list[str]) -> list[str]:
        """List the table's places: the metadata files there that are to be deleted. None if
        something failed, as what was deleted and is still there."""
        self._report("verifying")
        others = Leftovers(folders, self._needed, frozenset(self._keys(self._last)))
        for left in self._left(others):
            self._compare(left, kind)
        for path in set(deleted).intersection(others.strays):
            self._fail(path, STILL_THERE)
        self._sums = msgspec.structs.replace(self._sums, unreferenced=others.unreferenced)
        return [] if self._failures else others.strays

    def _compare(self, left: set[int], kind: Kind) -> None:
        """Fail for all files of a kind that are among those left, unless others need them."""
        left.difference_update(self._needed)
        if left:
            for found in kind():
                self._check()
                for path in found.paths:
                    folder, name = self._territory.find(path)
                    is_own = folder.standing_of(name) is Standing.OWN
                    if is_own and hash((folder.key, name)) in left:
                        self._fail(path, STILL_THERE)
            self._tell_unread()

    def _left(self, others: Leftovers | None = None) -> Iterator[set[int]]:
        """What lies in the table's places, some at a time. A checksum stands for its file."""
        left: set[int] = set()
        most = SEEN_MAX if self._name == SEEN else None
        for place in self._own_places():
            for number, location in enumerate(islice(self._files.list(place), most)):
                if not number % LISTED_AT_ONCE:
                    self._check()
                folder, name = self._territory.find(location)
                left.add(hash((folder.key, name)))
                if name.startswith("."):
                    left.add(hash((folder.key, file_of(name))))
                if others is not None:
                    others.add(folder, name, location)
                if len(left) >= WALK_SEEN_PATHS_MAX:
                    yield left
                    left = set()
        if left:
            yield left

    def _keys(self, kind: Kind) -> Iterator[int]:
        for found in kind():
            for path in found.paths:
                folder, name = self._territory.find(path)
                yield hash((folder.key, name))

    def _own_places(self) -> Iterator[str]:
        for place in self._task.own:
            if self._territory.standing_of(place) is Standing.OWN:
                yield place

    def _fail(self, path: str, why: str) -> None:
        self._failures += 1
        self._failed.append(Failed(path, why))

    def _report(
        self, phase: str, *, outside: list[str] | None = None, expected: int | None = None
    ) -> None:
        """Tell how far it is: how many files there are is a guess until all are found."""
        guess = max(self._found, self._walk.listed if self._name == DATA else 0)
        self._sums = msgspec.structs.replace(
            self._sums,
            phase=phase,
            expected=guess if expected is None else expected,
            failed=self._failed,
            outside=outside or [],
        )
        self._failed = []
        self._tell(self._sums)


def _these(paths: list[str]) -> Iterator[Found]:
    yield Found(paths, [0] * len(paths))


def _all(*kinds: Kind) -> Iterator[Found]:
    return chain.from_iterable(kind() for kind in kinds)
