"""The composition root: from settings to an open kernel; the only place that names adapters."""

import os
import random
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from headgate.backends.memory import MemoryBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.catalog.entities import CATALOG_TYPES
from headgate.clock import Clock, SystemClock
from headgate.errors import BadSetting, StoreNotFound
from headgate.http.database_reads import ReadCountingBackend
from headgate.kernel.backend import Backend
from headgate.kernel.commit import CommitOptions
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.purge.jobs import PURGE_TYPES
from headgate.settings.catalogs import SCHEMA_SEPARATOR
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.settings.store import (
    BACKEND,
    CACHE_SIZE,
    COMMIT_BATCH,
    COMMIT_TIMEOUT,
    DATA,
    DATABASE_FILE,
    POSTGRESQL_CONNECTIONS,
    POSTGRESQL_STALE_READS,
    POSTGRESQL_TIMEOUT,
    SQLITE_BUSY_TIMEOUT,
)
from headgate.settings.urls import mask, scheme, sqlite_file

STORED_TYPES = (*CATALOG_TYPES, *PURGE_TYPES, *MAINTENANCE_TYPES)
"""All that this program stores, besides what the kernel does."""
_HOST = re.compile(r"\w+://([^/?#]*@)?[^/?#@:][^/?#@]*([/?#]|$)|\w+://.*[?&]host=")


def open_kernel(
    settings: Settings,
    *,
    writable: bool = True,
    create: bool = True,
    names: bool = False,
    repair: bool = False,
) -> AbstractAsyncContextManager[Kernel]:
    """A kernel on the backend that the settings name, opened on entry and closed on exit.

    Without `create` a store that is not there is not made: `StoreNotFound`. With `names` it can
    share its separator with the other nodes. With `repair` its newest commit may lie in the future.
    """
    options = _options(settings, writable=writable, names=names, repair=repair)
    backend = make_backend(settings, create=create, writable=writable)
    return Kernel(backend, SystemClock(), entropy, options, STORED_TYPES)


def serving_kernel(
    settings: Settings, clock: Clock, *, writable: bool
) -> AbstractAsyncContextManager[Kernel]:
    """The same for a server, which counts how often the database is read.

    It uses the one clock of its process: whether a step of it is right is found out here.
    """
    options = _options(settings, writable=writable, names=True, repair=False)
    backend = ReadCountingBackend(make_backend(settings, writable=writable))
    return Kernel(backend, clock, entropy, options, STORED_TYPES)


def _options(settings: Settings, *, writable: bool, names: bool, repair: bool) -> KernelOptions:
    return KernelOptions(
        cache_bytes=settings[CACHE_SIZE],
        commit=CommitOptions(settings[COMMIT_TIMEOUT], settings[COMMIT_BATCH]),
        writable=writable,
        holder=server_name(),
        is_repair=repair,
        separator=settings[SCHEMA_SEPARATOR] if names else "",
    )


def server_name() -> str:
    """This process among all that share a store: `host:pid`."""
    return f"{socket.gethostname()}:{os.getpid()}"


def make_backend(settings: Settings, *, create: bool = True, writable: bool = True) -> Backend:
    """The backend that the settings name, not yet opened; `writable` if it is to be written."""
    url = settings[BACKEND]
    if not url:
        return _sqlite(settings[DATA] / DATABASE_FILE, settings, create=create)
    maker = _MAKERS.get(scheme(url))
    if maker is None:
        raise BadSetting(
            f"backend {mask(url)!r} cannot be used",
            why=f"{scheme(url)!r} is not one of {', '.join(_MAKERS)}",
            fix="Write sqlite:///PATH, postgresql://USER:PASSWORD@HOST/DATABASE or memory:",
        )
    return maker(url, settings, create=create, writable=writable)


def place_of(settings: Settings) -> dict[str, str]:
    """Where the store is, for processes on other machines."""
    return {
        BACKEND.name: settings[BACKEND],
        DATA.name: str(settings[DATA]),
        SQLITE_BUSY_TIMEOUT.name: str(settings[SQLITE_BUSY_TIMEOUT]),
        POSTGRESQL_TIMEOUT.name: str(settings[POSTGRESQL_TIMEOUT]),
    }


def backend_at(place: Mapping[str, str]) -> Backend:
    """The backend of a store that is there, not yet opened."""
    named = {name: text for name, text in place.items() if text}
    return make_backend(load(flags=named), create=False)


def database_file(settings: Settings) -> Path | None:
    """The file of an embedded store, None for any other; BadSetting if the URL cannot be used."""
    make_backend(settings)
    url = settings[BACKEND]
    if not url:
        return settings[DATA].absolute() / DATABASE_FILE
    return sqlite_file(url)


def is_there(path: Path) -> bool:
    """Whether a file or folder can be seen."""
    try:
        return path.exists()
    except OSError:  # somebody does not let us look
        return False


def entropy() -> int:
    """A number that nobody else has: the version of a conditional write."""
    return secrets.randbits(62) + 1


def chance() -> Callable[[], float]:
    """Numbers from 0 to 1, for what is left to chance."""
    return random.Random(entropy()).random  # noqa: S311  nobody gains by guessing them  # nosec B311


def _memory(_url: str, _settings: Settings, *, create: bool, writable: bool) -> Backend:
    del create, writable  # it is always new
    return MemoryBackend()


def _sqlite_url(url: str, settings: Settings, *, create: bool, writable: bool) -> Backend:
    del writable  # the file tells
    path = sqlite_file(url)
    if path is None:
        raise BadSetting(
            f"backend {mask(url)!r} cannot be used",
            why="it names no file by its absolute path",
            fix="Write an absolute path as in sqlite:///absolute/path/headgate.db, "
            "and ? # % in it as %3F %23 %25",
        )
    return _sqlite(path, settings, create=create)


def _sqlite(path: Path, settings: Settings, *, create: bool) -> Backend:
    if path.parent.is_file():
        raise BadSetting(
            f"there can be no store in {path.parent.absolute()}",
            why="it is a file",
            fix="Name a directory with --data, or a file in one with --backend",
        )
    if not create and not is_there(path):
        raise StoreNotFound(
            "there is no store",
            why=f"{path.absolute()} does not exist",
            fix="`headgate serve` makes it; --data DIR or --backend URL names another",
        )
    return SqliteBackend(path, busy_timeout_seconds=settings[SQLITE_BUSY_TIMEOUT])


def _postgresql(url: str, settings: Settings, *, create: bool, writable: bool) -> Backend:
    if not _HOST.match(url):
        raise BadSetting(
            f"backend {mask(url)!r} cannot be used",
            why="it names no host",
            fix="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; "
            "a socket is postgresql:///DATABASE?host=/FOLDER",
        )
    try:
        module = import_module("headgate.backends.postgresql.backend")
    except ImportError as error:
        raise BadSetting(
            f"backend {mask(url)!r} cannot be used",
            why="its driver is not installed",
            fix="Run pip install 'headgate[postgresql]', or '.[postgresql]' in a clone",
        ) from error
    return cast(
        "Backend",
        module.PostgresqlBackend(
            url,
            connections_max=settings[POSTGRESQL_CONNECTIONS],
            command_timeout_seconds=settings[POSTGRESQL_TIMEOUT],
            create=create,
            standby=settings[POSTGRESQL_STALE_READS] and not writable,
        ),
    )


class _Maker(Protocol):
    def __call__(
        self, url: str, settings: Settings, /, *, create: bool, writable: bool
    ) -> Backend: ...


_MAKERS: dict[str, _Maker] = {
    "memory": _memory,
    "sqlite": _sqlite_url,
    "postgresql": _postgresql,
    "postgres": _postgresql,
}
