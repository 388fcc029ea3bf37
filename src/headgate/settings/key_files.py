"""Files with keys: which users of this machine can use them, by their modes."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headgate.errors import BadSetting
from headgate.settings.object_stores import S3_CREDENTIALS_FILE
from headgate.settings.setting import Settings
from headgate.settings.store import DATA

KEYS_FOLDER = "keys"
"""In the data directory: what the server makes itself, to sign tokens and to seal secrets."""
_OF_ALL = stat.S_IRWXO
_OF_OTHERS = stat.S_IRWXG | _OF_ALL


def check_private(path: Path, *, instead: str) -> None:
    """Refuse a key of the server's own that every user of this machine can use.

    Its group may: volumes of containers are given to a group as a whole. That is warned of.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OF_ALL:
        raise BadSetting(
            f"the key {path} cannot be used",
            why=f"every user of this machine can read or change it (mode {mode:04o}), and with it "
            "sign tokens as this server does",
            fix=f"Run chmod 600 {path}, and if others have read it, replace it; or set {instead}",
        )


def shared_key_files(settings: Settings) -> Iterator[str]:
    """What to warn of: files with keys that not only their owner can use."""
    for path in _key_files(settings):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue  # whoever needs it says what is wrong
        if mode & _OF_OTHERS:
            yield (
                f"{path} holds a key, and not only its owner can use it (mode {mode:04o}): "
                f"run chmod 600 {path}"
            )


def _key_files(settings: Settings) -> Iterator[Path]:
    with suppress(OSError):  # there are none
        yield from sorted((settings[DATA] / KEYS_FOLDER).iterdir())
    if settings[S3_CREDENTIALS_FILE]:
        yield Path(settings[S3_CREDENTIALS_FILE]).expanduser()
