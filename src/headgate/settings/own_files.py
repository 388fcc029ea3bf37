"""What a server keeps on this machine for itself, and where tables therefore must not lie: whoever
clears up among the files of tables takes whatever no table refers to.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headgate.errors import BadSetting
from headgate.model.locations import is_within, normalize, overlaps, scheme_of
from headgate.settings.audit import AUDIT_FILE
from headgate.settings.authentication import MASTER_KEY_FILE
from headgate.settings.object_stores import S3_CREDENTIALS_FILE
from headgate.settings.server import LOG_CHECKPOINT_FILE
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA, DATABASE_FILE
from headgate.settings.urls import sqlite_file

_SQLITE_BESIDE = ("", "-wal", "-shm", "-journal")
_IN_DATA = ("keys", "audit.log", *(f"{DATABASE_FILE}{suffix}" for suffix in _SQLITE_BESIDE))
"""What lies in the data directory, besides the tables of catalogs that have no other location."""


_EXAMPLE = "tables"


class OwnFile(NamedTuple):
    """A file or folder of the server, and what puts it there."""

    path: Path
    source: str

    def __str__(self) -> str:
        return f"{self.path} ({self.source})"


def check_apart(settings: Settings, location: str) -> None:
    """Refuse a place for a catalog in which the server's own files lie, or which is theirs."""
    own = own_file_at(settings, location)
    if own is not None:
        raise BadSetting(
            f"tables cannot lie in {location}",
            why=f"the server keeps files of its own there: {own}",
            fix=f"Choose a folder that is for tables only{_example(settings, location)}",
        )


def own_file_at(settings: Settings, location: str) -> OwnFile | None:
    """A file or folder of the server that a location holds or lies in; None if there is none.

    Symbolic links are followed on both sides, and the names of the links count as well.
    """
    if scheme_of(location) != "file":
        return None
    named = normalize(location)
    places = {named, _real(Path(named.removeprefix("file://")))}
    for place in places:
        for own in {_named(settings[DATA]), _real(settings[DATA])}:
            if is_within(own, place):
                return OwnFile(settings[DATA], f"the data directory, setting {DATA.name}")
        for file in _own(settings):
            if any(overlaps(own, place) for own in {_named(file.path), _real(file.path)}):
                return file
    return None


def is_apart(settings: Settings, location: str) -> bool:
    """Whether a location neither holds files of the server nor lies in one."""
    return own_file_at(settings, location) is None


def holds_file(location: str, path: Path) -> bool:
    """Whether a local location holds a file, by its name or by where symbolic links lead."""
    if scheme_of(location) != "file":
        return False
    named = normalize(location)
    places = {named, _real(Path(named.removeprefix("file://")))}
    return any(overlaps(own, place) for own in {_named(path), _real(path)} for place in places)


def _example(settings: Settings, location: str) -> str:
    """A folder that could be chosen instead, in words; empty if none was found."""
    for folder in (normalize(location), _named(settings[DATA])):
        example = f"{folder.rstrip('/')}/{_EXAMPLE}"
        if is_apart(settings, example):
            return f", such as {example}"
    return ""


def _own(settings: Settings) -> Iterator[OwnFile]:
    for name in _IN_DATA:
        yield OwnFile(settings[DATA] / name, f"in the data directory, setting {DATA.name}")
    file = sqlite_file(settings[BACKEND])
    if file is not None:
        for suffix in _SQLITE_BESIDE:
            yield OwnFile(file.with_name(f"{file.name}{suffix}"), f"setting {BACKEND.name}")
    if settings[AUDIT_FILE] not in {"", "-", "none"}:
        yield OwnFile(Path(settings[AUDIT_FILE]).expanduser(), f"setting {AUDIT_FILE.name}")
    for setting in (MASTER_KEY_FILE, S3_CREDENTIALS_FILE, LOG_CHECKPOINT_FILE):
        if settings[setting]:
            yield OwnFile(Path(settings[setting]).expanduser(), f"setting {setting.name}")


def _named(path: Path) -> str:
    return f"file://{os.path.abspath(path)}"  # noqa: PTH100  without `..`, links as they are


def _real(path: Path) -> str:
    return f"file://{os.path.realpath(path)}"
