"""What a server keeps on this machine for itself, and where tables therefore must not lie: whoever
clears up among the files of tables takes whatever no table refers to.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from headgate.errors import BadSetting
from headgate.model.locations import is_within, normalize, scheme_of
from headgate.settings.audit import AUDIT_FILE
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA
from headgate.settings.urls import sqlite_file

KEYS = "keys"  # the folder of keys in the data directory


def check_apart(settings: Settings, location: str) -> None:
    """Refuse a place for a catalog in which the server's own files lie, or which is theirs."""
    if scheme_of(location) != "file":
        return
    place = _real(Path(normalize(location).removeprefix("file://")))
    keys = _real(settings[DATA] / KEYS)
    own = next((one for one in _own(settings) if is_within(_real(one), place)), None)
    if own is not None or is_within(place, keys):
        raise BadSetting(
            f"tables cannot lie in {location}",
            why=f"the server keeps files of its own there: {own or settings[DATA] / KEYS}",
            fix="Choose a folder that is for tables only, as a new one in there",
        )


def _own(settings: Settings) -> Iterator[Path]:
    yield settings[DATA]
    file = sqlite_file(settings[BACKEND])
    if file is not None:
        yield file
    if settings[AUDIT_FILE] not in {"", "-", "none"}:
        yield Path(settings[AUDIT_FILE]).expanduser()


def _real(path: Path) -> str:
    return f"file://{os.path.realpath(path)}"
