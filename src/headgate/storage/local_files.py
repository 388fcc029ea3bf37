"""Files on this machine: inside of the allowed folders only, and on the disk when we say so."""

import asyncio
import errno
import itertools
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from headgate.errors import BadRequest, Forbidden, HeadgateError
from headgate.storage import failures
from headgate.storage.failures import NotDeleted
from headgate.storage.file_sizes import check_size
from headgate.storage.file_writers import FileWriters
from headgate.storage.places import Place

LISTED_AT_ONCE = 1000
FOLDER_TRIES = 3
FORGOTTEN_ABOVE_BYTES = 256 << 10  # files that the system keeps no copy of in memory
ABSENT = (FileNotFoundError, NotADirectoryError)
READ = os.O_RDONLY | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NO_TRICKS = os.O_NOFOLLOW | os.O_NONBLOCK  # a link is not followed, a pipe is not waited for
sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)  # macOS has only `fsync`


class LocalFiles:
    """Paths are checked before each use: a symbolic link may have appeared since the last one."""

    def __init__(
        self, roots: Sequence[Place], *, sync: bool = True, writers: FileWriters | None = None
    ) -> None:
        self._named = tuple(Path(path_of(root)) for root in roots if root.kind == "file")
        self._roots = tuple(Path(os.path.realpath(root)) for root in self._named)
        self._known_roots = frozenset(self._roots)
        self._sync = sync
        self._writers = writers

    async def read(self, place: Place) -> bytes:
        return await asyncio.to_thread(self.read_now, place)

    async def write(self, place: Place, data: Sequence[bytes]) -> None:
        if self._writers is None:
            await asyncio.to_thread(self._write, place, data)
        else:
            await self._writers.run(partial(self._write, place, data))

    async def missing(self, place: Place) -> bool:
        return self.missing_now(place)

    def missing_now(self, place: Place) -> bool:
        """A few microseconds. It opens nothing, so the path is not checked against the roots."""
        try:
            return not stat.S_ISREG(os.lstat(path_of(place)).st_mode)
        except OSError:
            return True

    def absent_now(self, place: Place) -> bool:
        """Whether there is nothing for sure, not even a link."""
        try:
            os.lstat(path_of(place))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # it may be out of reach
            return False
        return False

    async def delete(self, places: Sequence[Place]) -> NotDeleted:
        return await asyncio.to_thread(self._delete, places)

    async def prepare(self, place: Place) -> None:
        """Make this folder and those above it."""
        await asyncio.to_thread(self._prepare, place)

    async def remove_folders(self, place: Place) -> None:
        """Remove the empty folders here and below; roots stay."""
        await asyncio.to_thread(self._remove_folders, place)

    async def list(self, place: Place) -> AsyncIterator[str]:
        walk = self._walk(place)
        while names := await asyncio.to_thread(_take, walk):
            for name in names:
                yield place.location(name)

    def check_root(self, place: Place, *, may_be_empty: bool) -> None:
        """Raise StorageUnavailable if the root that this file lies in is not there."""
        path = Path(os.path.realpath(path_of(place)))
        roots = [root for root in self._roots if path.is_relative_to(root)]
        is_there = Path.is_dir if may_be_empty else _holds_something
        if roots and not any(map(is_there, roots)):
            root = roots[0]
            raise failures.unavailable(
                location_of(place),
                f"folder {root} is empty" if root.is_dir() else f"there is no folder {root}",
                "Check that its disk is there.",
            )

    def read_now(self, place: Place) -> bytes:
        """The same on this thread."""
        with translated(place), self.opened_folder(place) as folder:
            opened = os.open(_name_of(place), READ | NO_TRICKS, dir_fd=folder)
            with os.fdopen(opened, "rb") as file:
                status = os.fstat(opened)
                if not stat.S_ISREG(status.st_mode):
                    raise IsADirectoryError
                check_size(location_of(place), status.st_size)
                return file.read(status.st_size)

    def _write(self, place: Place, data: Sequence[bytes]) -> None:
        """Nobody refers to a new file before it is complete, so it may grow under its own name."""
        with translated(place):
            for _ in range(FOLDER_TRIES):
                with suppress(*ABSENT):  # no folder yet, or it was empty and is removed
                    self._write_once(place, data)
                    return
                self._make_folder(self._checked(place).parent, place)
            self._write_once(place, data)

    def _write_once(self, place: Place, data: Sequence[bytes]) -> None:
        name = _name_of(place)
        with self.opened_folder(place) as folder:
            file = os.open(name, NEW | NO_TRICKS, 0o666, dir_fd=folder)
            try:
                whole = b"".join(data) if len(data) > 1 else data[0]
                _write_all(file, whole)
                if self._sync:
                    sync_data(file)
                    if len(whole) > FORGOTTEN_ABOVE_BYTES:
                        _forget(file)
            except BaseException:
                with suppress(OSError):  # what happened first is what is told
                    os.unlink(name, dir_fd=folder)
                raise
            finally:
                os.close(file)
            if self._sync:
                os.fsync(folder)

    @contextmanager
    def opened_folder(self, place: Place, *, direct: bool = False) -> Iterator[int]:
        """The folder of a file. Once it is open, no link can lead elsewhere.

        If it has to be reached directly there is no link below the root either.
        """
        path = path_of(place).rpartition("/")[0] or "/"
        try:
            folder = os.open(path, FOLDER)
        except ABSENT:
            self._checked(place)  # what lies elsewhere is not even said to be absent
            raise
        try:
            real = Path(_real_path(folder, path))
            self._check(real, place)
            if direct and real not in self._straight(path):
                raise Forbidden(
                    f"Location is not allowed: {location_of(place)}",
                    why="a symbolic link leads from its folder to another one",
                )
            yield folder
        finally:
            os.close(folder)

    def _prepare(self, place: Place) -> None:
        with translated(place):
            self._make_folder(self._checked(place), place)

    def _make_folder(self, folder: Path, place: Place) -> None:
        """A new folder is safe once the one above it is on the disk."""
        absent: list[Path] = []
        while not folder.is_dir():
            absent.append(folder)
            folder = folder.parent
        for new in reversed(absent):
            try:
                new.mkdir(exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise BadRequest(
                    f"Invalid location: {location_of(place)}",
                    why="a file lies where a folder is needed",
                    fix="Choose another location",
                ) from None
            self._sync_folder(new.parent)

    def _sync_folder(self, folder: Path) -> None:
        if not self._sync:
            return
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def _delete(self, places: Sequence[Place]) -> NotDeleted:
        kept: NotDeleted = []
        for place in places:
            try:
                opening = self.opened_folder(place, direct=True)
                with translated(place), suppress(*ABSENT), opening as folder:
                    name = _name_of(place)
                    for one in (name, f".{name}.crc"):  # Hadoop's twin
                        with suppress(FileNotFoundError):
                            os.unlink(one, dir_fd=folder)
            except HeadgateError as error:
                kept.append((location_of(place), error.why or str(error)))
        return kept

    def _remove_folders(self, place: Place) -> None:
        """The system itself keeps what is not empty; links are not followed, nor removed."""
        top = Path(path_of(place))
        if top.is_symlink() or not self._allows(Path(os.path.realpath(top))):
            return
        for folder, _, _ in os.walk(top, topdown=False):
            if Path(os.path.realpath(folder)) not in self._roots:
                with suppress(OSError):
                    Path(folder).rmdir()

    def _walk(self, place: Place) -> Iterator[str]:
        """Paths below the place; links to folders are not followed."""
        top = path_of(place)
        self._check(Path(os.path.realpath(top)), place)
        with translated(place):
            for folder, _, names in os.walk(top, onerror=_raise_unless_absent):
                for name in names:
                    yield f"{folder}/{name}".lstrip("/")

    def _checked(self, place: Place) -> Path:
        """The real path of the file's folder, and its name: a link cannot lead out of the roots."""
        folder, _, name = path_of(place).rpartition("/")
        real = Path(os.path.realpath(folder or "/"))
        self._check(real, place)
        return real / name

    def _check(self, real: Path, place: Place) -> None:
        if not self._allows(real):
            raise Forbidden(
                f"Location is not allowed: {location_of(place)}",
                why="it does not lie in an allowed folder, or a symbolic link leads out of it",
            )

    def _straight(self, path: str) -> Iterator[Path]:
        """Where a folder lies if no link is on the way: only the roots may be links."""
        plain = Path(os.path.normpath(path))
        for named, root in zip(self._named, self._roots, strict=True):
            if plain.is_relative_to(named):
                yield root / plain.relative_to(named)

    def _allows(self, real: Path) -> bool:
        return any(one in self._known_roots for one in (real, *real.parents))


def path_of(place: Place) -> str:
    """As the system names it."""
    return f"/{place.path}"


def location_of(place: Place) -> str:
    """As the client named it."""
    return place.location(place.path)


@contextmanager
def translated(place: Place) -> Iterator[None]:
    """Errors of the system leave as ours."""
    try:
        yield
    except IsADirectoryError:
        raise failures.folder(location_of(place)) from None
    except (FileNotFoundError, NotADirectoryError):
        raise failures.missing(location_of(place)) from None
    except FileExistsError:
        raise failures.exists(location_of(place)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Forbidden(
                f"Location is not allowed: {location_of(place)}", why="it is a symbolic link"
            ) from None
        if error.errno == errno.ENAMETOOLONG:
            raise BadRequest(
                f"Invalid location: {location_of(place)!r}",
                why="it, or a part of it, is longer than the disk can name",
                fix="Choose shorter names",
            ) from None
        raise failures.unavailable(
            location_of(place), error.strerror or str(error), "Check the disk and its permissions."
        ) from None


def _name_of(place: Place) -> str:
    return path_of(place).rpartition("/")[2]


def _real_path(folder: int, path: str) -> str:
    """Where an open folder lies; one question to Linux, one for each name in its path elsewhere."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115  each deleted folder is asked
    real = os.path.realpath(path)
    if not os.path.samestat(os.fstat(folder), os.stat(real)):  # noqa: PTH116  compared as it is
        raise FileNotFoundError  # it was moved away meanwhile
    return real


def _holds_something(folder: Path) -> bool:
    with suppress(*ABSENT), os.scandir(folder) as entries:
        return any(True for _ in entries)
    return False


def _raise_unless_absent(error: OSError) -> None:
    """What cannot be listed is not empty."""
    if not isinstance(error, ABSENT):
        raise error


def _write_all(file: int, data: bytes) -> None:
    """A single call may take a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _forget(file: int) -> None:
    """Nobody reads a large file soon: we keep its content ourselves. Written to the same pages of
    memory as the one before, it takes a fraction of the time that new pages take."""
    with suppress(AttributeError, OSError):  # only a hint, and not every system takes it
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _take(walk: Iterator[str]) -> Sequence[str]:
    return tuple(itertools.islice(walk, LISTED_AT_ONCE))
