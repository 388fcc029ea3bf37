"""Finding what a table refers to outside of its own places. Runs in a child process.

All snapshots are looked at. Manifests never change, so what is outside in each is remembered: a
table with a new snapshot costs the manifests that came with it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import Protocol

from msgspec.structs import replace

from headgate.catalog.metadata_files import unzipped
from headgate.clock import SystemClock
from headgate.errors import (
    BadMetadata,
    FileMissing,
    Forbidden,
    InvalidInput,
    StorageRefused,
    StorageUnavailable,
    TooLarge,
)
from headgate.limits import (
    REFERENCE_MANIFESTS_KNOWN_MAX,
    REFERENCE_NOTED_CHARS_MAX,
    REFERENCE_TABLE_SECONDS_MAX,
    REFERENCE_UNREAD_MAX,
    WALK_SEEN_PATHS_MAX,
)
from headgate.planning.reachable import Listed, Unread, Walk
from headgate.purge import gaps
from headgate.purge.folders import Folders
from headgate.purge.gaps import Gaps
from headgate.purge.patience import PAUSES_SECONDS, Files, PatientFiles
from headgate.purge.reading_budget import allowance
from headgate.purge.surveyor import Outside, PassedOver, Referrer, Shared, Surveyed, not_known
from headgate.purge.territory import Standing, Territory


class SurveyedFiles(Files, gaps.Files, Protocol):
    """The same, and looked for."""


_known: dict[tuple[tuple[str, ...], Listed], Folders] = {}
"""The folders outside of some places that a manifest leads to. Who takes a name again makes another
file of it, most likely of another length."""
_referred: dict[tuple[Referrer, ...], set[int]] = {}
"""The files outside that the tables refer to that were asked about last."""


class StaleError(Exception):
    """A table does not refer to what it was said to."""


class AwayError(Exception):
    """The storage of a table that is awaited does not answer; its metadata file is the argument."""


class Survey:
    """A look at all that a table refers to."""

    def __init__(
        self,
        table: Surveyed,
        files: Files,
        seconds: float = REFERENCE_TABLE_SECONDS_MAX,
        pauses: Sequence[float] = (),
    ) -> None:
        """Its time of so many seconds begins now."""
        self._table = table
        self._location = table.metadata_location
        self._metadata = table.metadata
        self._own = table.own
        self._territory = Territory(None, table.own, ())
        self._files = PatientFiles(files, SystemClock(), seconds, pauses)
        self._folders = Folders()
        self._noted_files: set[str] = set()
        """Files outside that metadata and lists name, whether they are there or not."""
        self._noted_chars = 0
        self._leading: set[str] = set()
        """Manifests that lead outside."""
        self._manifests: dict[str, Folders] = {}
        """The first of those that were read: no more than can be known."""
        self._listed: dict[str, Listed] = {}
        """The same, as lists know them."""
        self._unread: list[Unread] = []
        self.unclear = ""
        """Why there may be more than was found."""
        self.is_away = False
        self._is_doubted = table.is_doubted
        self._is_repeated = False

    def run(self) -> Outside:
        """Find out. Manifests that are known are not read."""
        for _ in self._paths():
            pass
        outside = self._outside()
        sure = replace(self._table, is_doubted=False)
        if self._unread and not any(one.why for one in self._unread):
            gaps.remember(sure, Gaps([one.path for one in self._unread], outside))
        else:
            gaps.forget(sure)
        return outside

    def again(self, referrer: Referrer) -> Iterator[list[str]]:
        """The files outside, some at a time, as far as they can be read; StaleError if they are not
        as they were."""
        self._is_repeated = True
        yield from self._paths()
        if self.unclear:
            return
        if referrer.is_checked and self._outside().digest != referrer.digest:
            raise StaleError

    def _paths(self) -> Iterator[list[str]]:
        """All files outside, until the time is over."""
        try:
            yield from self._all_paths()
        except TooLarge as error:
            self._doubt(f"{error}", is_away=False)
            self._unread.append(Unread(self._location, f"{error}", only_here=True))

    def _all_paths(self) -> Iterator[list[str]]:
        yield self._noted([self._location])
        walk = self._begun()
        if walk is None:
            return
        for kind in (walk.lists, walk.statistics, partial(walk.older, self._location)):
            for found in kind():
                yield self._noted(found.paths)
        for manifest, found in walk.content(self._leaves_out):
            self._files.check_time()  # one manifest may take long, and is not read at once
            paths, folders = self._sorted(found.paths)
            if paths:
                self._leading.add(manifest)
                if manifest in self._manifests:
                    self._manifests[manifest] |= folders
                self._folders |= folders
                yield paths
        if self._is_repeated:
            yield list(self._noted_files)  # manifests may be outside themselves
        self._follow_up(walk)

    def _begun(self) -> Walk | None:
        try:
            data = self._metadata or unzipped(self._files.read(self._location), self._location)
            return Walk(data, self._files, goes_on=True)
        except FileMissing:
            # The table is there, so an empty disk is the wrong one.
            self._check_stores([self._location])
            self._unread.append(Unread(self._location, ""))
        except StorageRefused as error:
            self._doubt(f"{error}", is_away=False)  # unless its store refuses all that is asked
            self._check_stores([self._location])
            self._unread.append(Unread(self._location, f"{error}"))
        except (TooLarge, StorageUnavailable) as error:
            self._doubt(f"{error}", is_away=isinstance(error, StorageUnavailable))
            self._unread.append(Unread(self._location, f"{error}"))
        except (Forbidden, BadMetadata, InvalidInput) as error:
            self._unread.append(Unread(self._location, error.why or error.what))
        return None

    def _leaves_out(self, listed: Listed) -> bool:
        """Whether a manifest need not be read, as it is known what it leads to."""
        manifest = listed.path
        self._noted([manifest])
        folders = None if self._is_doubted else _known.get((self._own, listed))
        if folders is None or (folders and self._is_repeated):
            if len(self._manifests) < REFERENCE_MANIFESTS_KNOWN_MAX:
                self._manifests.setdefault(manifest, Folders())
                self._listed[manifest] = listed
            return False
        if folders:
            self._leading.add(manifest)
            self._folders |= folders
        return True

    def _follow_up(self, walk: Walk) -> None:
        """Remember what was read; what was not is gone or damaged, if its storage answers."""
        self._unread += walk.unread
        for path, why, only_here, is_away in walk.unread:
            if only_here:
                self._doubt(f"{path} cannot be read here: {why}", is_away=is_away)
            self._manifests.pop(path, None)
            self._leading.discard(path)
        self._check_stores([one.path for one in walk.unread if not one.why])
        for manifest, folders in self._manifests.items():
            while len(_known) >= REFERENCE_MANIFESTS_KNOWN_MAX:
                with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
                    del _known[next(iter(_known))]
            _known[self._own, self._listed[manifest]] = folders

    def _check_stores(self, missing: Sequence[str]) -> None:
        """What is missing is gone if its storage is there."""
        try:
            gaps.check_stores(self._table, missing, self._files)
        except StorageUnavailable as error:
            self._doubt(f"{error}", is_away=True)

    def _doubt(self, why: str, *, is_away: bool) -> None:
        self.unclear = self.unclear or why
        self.is_away = self.is_away or is_away

    def _noted(self, paths: Sequence[str]) -> list[str]:
        """Those of these files that are outside."""
        outside, folders = self._sorted(paths)
        if outside:
            self._noted_files.update(outside)
            self._noted_chars += sum(map(len, outside))
            if self._noted_chars > REFERENCE_NOTED_CHARS_MAX:
                raise TooLarge("A table is too large", why="its lists name too many files")
            self._folders |= folders
        return outside

    def _sorted(self, paths: Sequence[str]) -> tuple[list[str], Folders]:
        """Those of these files that are outside, and the folders in which they lie."""
        outside: list[str] = []
        folders: set[bytes] = set()
        for path in paths:
            folder, name = self._territory.find(path)
            if folder.standing_of(name) is Standing.OUTSIDE:
                outside.append(path)
                folders.add(folder.key)
        return outside, Folders(frozenset(folders))

    def _outside(self) -> Outside:
        unread = sorted({one.path for one in self._unread})
        digest = blake2b(digest_size=16)
        for paths in (self._leading, self._noted_files):
            for path in sorted(paths):
                digest.update(path.encode(errors="replace") + b"\0")
            digest.update(b"\0")
        return Outside(
            folders=tuple(sorted(self._folders.flat)),
            trees=tuple(sorted(self._folders.trees)),
            digest=digest.digest(),
            unread=tuple(unread[:REFERENCE_UNREAD_MAX]),
            unclear=self.unclear,
            is_away=self.is_away,
            is_late=self._files.is_late,
        )


def survey(
    table: Surveyed, files: SurveyedFiles, seconds: float = REFERENCE_TABLE_SECONDS_MAX
) -> Outside:
    """What a table refers to outside of its own places, read in so many seconds. Whatever is wrong
    with it is said of it, and of no other table."""
    try:
        return gaps.as_before(table, files) or Survey(table, files, seconds).run()
    except Exception as error:  # noqa: BLE001  whatever it is, others are looked at
        why = f"{type(error).__name__}: {error}"
        return Outside(unread=(table.metadata_location,), unclear=why)


def referred(
    referrers: Sequence[Referrer], files: Files, passed_over: list[PassedOver]
) -> Iterator[tuple[Referrer, list[str]]]:
    """The files that these tables refer to outside of their places, table by table, some at a time;
    StaleError if a table does not refer to what it was said to, AwayError if it is awaited.

    A table of which not all can be read is added to `passed_over`; StorageUnavailable if it is of
    the same schema. All tables of other schemas together have the time of the slowest table, or as
    much as so many tables are allowed; those behind protect only what could be read of them.
    """
    clock = SystemClock()
    far = sum(not one.holds_up for one in referrers)
    left = max(REFERENCE_TABLE_SECONDS_MAX, allowance(far))
    for one in referrers:
        began = clock.seconds()
        seconds = one.seconds if one.holds_up else min(one.seconds, left)
        unclear = ""
        try:
            survey = Survey(one.table, files, seconds, PAUSES_SECONDS)
            for paths in survey.again(one):
                yield one, paths
            unclear = survey.unclear
            if survey.is_away and one.is_awaited:
                raise AwayError(one.table.metadata_location)
        except (StaleError, AwayError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, it is said of this table
            unclear = f"{type(error).__name__}: {error}"
        if unclear:
            passed_over.append(PassedOver(one.table.metadata_location, unclear))
        if unclear and one.holds_up:
            raise not_known()
        if not one.holds_up:
            left -= clock.seconds() - began


def shared_by(referrers: Sequence[Referrer], files: Files, wanted: Iterable[str]) -> Shared:
    """Those of these files that these tables refer to."""
    territory = Territory(None, (), ())
    asked: dict[int, list[str]] = {}
    for path in wanted:
        asked.setdefault(_key(territory, path), []).append(path)
    who = tuple(referrers)
    known = _referred.get(who)
    passed_over: list[PassedOver] = []
    try:
        walk = (paths for _, paths in referred(referrers, files, passed_over))
        found = _find(walk, territory, asked, who) if known is None else known & asked.keys()
    except StaleError:
        return Shared(is_stale=True)
    except AwayError as error:
        return Shared(away=str(error))
    except StorageUnavailable:
        return Shared(is_held_up=True, passed_over=passed_over)
    if passed_over:  # it may be clear the next time
        _referred.pop(who, None)
    return Shared([path for key in found for path in asked[key]], passed_over=passed_over)


def _find(
    walk: Iterator[list[str]],
    territory: Territory,
    asked: Collection[int],
    who: tuple[Referrer, ...],
) -> set[int]:
    """Those of the files asked for that come by. All are remembered unless they are too many: a
    purge asks about some at a time, and the next question is about the same tables."""
    found: set[int] = set()
    every: set[int] | None = set()
    for paths in walk:
        keys = {_key(territory, path) for path in paths}
        found |= keys.intersection(asked)
        if every is not None:
            every |= keys
            if len(every) > WALK_SEEN_PATHS_MAX:
                every = None
    if every is not None:
        _referred.clear()
        _referred[who] = every
    return found


def _key(territory: Territory, path: str) -> int:
    """The same for all spellings of a file."""
    folder, name = territory.find(path)
    return hash((folder.key, name))
