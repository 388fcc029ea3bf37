"""The keys of an S3 service as they are now: those of the options, or those in a file that somebody
renews while we run. Whoever signs asks here each time."""

import logging
import stat
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from headgate.clock import Clock, present_ms
from headgate.errors import BadSetting, StorageUnavailable
from headgate.storage.key_texts import PresentKeys, UnusableText, keys_in, moment
from headgate.storage.options import S3Options, StorageOptions
from headgate.storage.sigv4 import Keys

FILE_BYTES_MAX = 65_536
EARLY_MS = 60_000
"""So long before the end of keys the file is read each time, whatever its time says."""
FORMS = (
    "Write what `aws configure export-credentials` says, "
    "or a section [default] with aws_access_key_id and aws_secret_access_key"
)
READABLE = "Name a file that this user may read"
RENEWED = "Renew the file; it is read again with the next request"
STATIC = ("access_key_id", "secret_access_key", "session_token")

logger = logging.getLogger(__name__)


def present_keys(options: S3Options, clock: Clock) -> PresentKeys | None:
    """The keys to use now; None if requests are not signed. StorageUnavailable if there should be
    some and there are none."""
    if options.credentials_file:
        return _key_file(options.credentials_file).present(present_ms(clock))
    if not options.access_key_id:
        return None
    return PresentKeys(
        Keys(options.access_key_id, options.secret_access_key, options.session_token)
    )


def with_present_keys(options: StorageOptions, clock: Clock) -> StorageOptions:
    """The same for another machine, where the file is not: it gets the keys that are in it now."""
    if options.s3 is None or not options.s3.credentials_file:
        return options
    present = present_keys(options.s3, clock)
    assert present is not None, "a file has keys, or cannot be used"
    s3 = msgspec.structs.replace(options.s3, credentials_file="", **present.keys._asdict())
    return msgspec.structs.replace(options, s3=s3)


def check_keys(options: S3Options) -> None:
    """Refuse, before anything starts, a file that cannot be used: BadSetting."""
    if not options.credentials_file:
        return
    if any(getattr(options, name) for name in STATIC):
        raise BadSetting(
            "s3.credentials-file cannot be used",
            why="there is a key in the settings too, and only one of them can count",
            fix="Remove s3.access-key-id, s3.secret-access-key and s3.session-token, or the file",
        )
    _key_file(options.credentials_file).check()


class _Version(NamedTuple):
    """Differs when a file was written, or replaced by another."""

    number: int
    size: int
    modified_ns: int
    changed_ns: int


class KeyFile:
    """One file. While it is unusable the last keys that it had are used until they expire: whoever
    writes it may be in the midst of that."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = Lock()  # object stores ask on threads of their own
        self._last: PresentKeys | None = None
        self._version: _Version | None = None
        self._is_told = False

    def check(self) -> None:
        """BadSetting if it cannot be used."""
        with self._lock:
            try:
                self._read()
            except UnusableText as bad:
                raise BadSetting(
                    f"s3.credentials-file {self._path} cannot be used", why=bad.why, fix=bad.fix
                ) from None

    def present(self, now_ms: int) -> PresentKeys:
        """What is in it now, or was in it last."""
        with self._lock:
            why = self._refreshed(now_ms)
            last = self._last
        if last is None:
            raise self._unavailable(why)
        if last.expires_by(now_ms):
            ended = f"they were good until {moment(last.expires_at_ms)}"
            raise self._unavailable(f"{ended}, and {why or 'the file has no others'}")
        return last

    def _refreshed(self, now_ms: int) -> str:
        """Read the file if it may have changed, and say why it cannot be used."""
        try:
            is_early = self._last is not None and not self._last.expires_by(now_ms + EARLY_MS)
            if not is_early or self._seen() != self._version:
                self._read()
        except UnusableText as bad:
            if not self._is_told and self._last is not None:
                logger.warning(
                    "s3.credentials-file %s cannot be used: %s. "
                    "Until they expire, the keys it had are used. %s",
                    *(self._path, bad.why, bad.fix),
                )
            self._is_told = True
            return bad.why
        self._is_told = False
        return ""

    def _read(self) -> None:
        """Its version is taken first: if it changes meanwhile, it is read once more."""
        version = self._seen()
        try:
            with self._path.open("rb") as file:
                text = file.read(FILE_BYTES_MAX + 1)
        except OSError as error:
            raise _unreadable(error) from None
        if len(text) > FILE_BYTES_MAX:
            raise UnusableText(f"it has more than {FILE_BYTES_MAX:,} bytes", FORMS)
        self._last = keys_in(text, FORMS)
        self._version = version

    def _seen(self) -> _Version:
        try:
            status = self._path.stat()
        except (OSError, ValueError) as error:
            raise _unreadable(error) from None
        if not stat.S_ISREG(status.st_mode):
            raise UnusableText("it is no file", READABLE)
        return _Version(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def _unavailable(self, why: str) -> StorageUnavailable:
        return StorageUnavailable(f"The keys in {self._path} cannot be used", why=why, fix=RENEWED)


@cache
def _key_file(path: str) -> KeyFile:
    """One for all stores of this process, so that all have the same keys, and one of them tells."""
    return KeyFile(path)


def _unreadable(error: OSError | ValueError) -> UnusableText:
    why = getattr(error, "strerror", None) or str(error)
    return UnusableText(f"it cannot be read ({why})", READABLE)
