"""Deleting many files on this machine: what is worked out of a folder counts for all in it."""

import errno
import os
from collections.abc import Sequence
from contextlib import ExitStack

from headgate.errors import FileMissing, HeadgateError
from headgate.limits import FOLDERS_KNOWN_MAX
from headgate.storage.deletions import Check, Deleted
from headgate.storage.failures import NotDeleted
from headgate.storage.local_files import LocalFiles, translated
from headgate.storage.places import parse

CHECKED_AFTER_FILES = 100  # a disk may be slow
ABSENT = (errno.ENOENT, errno.ENAMETOOLONG)  # no disk has names that long


class LocalDeletion:
    """One for each time that files of a table are deleted: nobody writes to it meanwhile."""

    def __init__(self, files: LocalFiles) -> None:
        self._files = files
        self._twins: dict[str, bool] = {}

    def delete(self, folder: str, names: Sequence[str], check: Check) -> Deleted:
        """Delete files of one folder, which stays open meanwhile: no link can lead elsewhere.

        A link that leads to another table's folder is none of this one's.
        """
        parent = parse(folder)
        place = parent._replace(path=f"{parent.path}/{names[0]}".lstrip("/"))
        with ExitStack() as stack:
            try:
                with translated(place):
                    opened = stack.enter_context(self._files.opened_folder(place, direct=True))
            except FileMissing:
                return Deleted(0, [f"{folder}/{name}" for name in names], [])
            except HeadgateError as error:
                why = error.why or error.what
                return Deleted(0, [], [(f"{folder}/{name}", why) for name in names])
            return self._delete(opened, folder, names, check)

    def _delete(self, opened: int, folder: str, names: Sequence[str], check: Check) -> Deleted:
        twins = self._has_twins(opened, folder)
        missing: list[str] = []
        failed: NotDeleted = []
        for number, name in enumerate(names):
            if not number % CHECKED_AFTER_FILES:
                check()
            try:
                if twins:
                    _unlink_twin(name, opened)
                os.unlink(name, dir_fd=opened)
            except OSError as error:
                if error.errno in ABSENT:
                    missing.append(f"{folder}/{name}")
                else:
                    failed.append((f"{folder}/{name}", _why(error)))
        return Deleted(len(names) - len(missing) - len(failed), missing, failed)

    def _has_twins(self, opened: int, folder: str) -> bool:
        """Whether Hadoop wrote checksums here. To look once takes less time than to try each."""
        found = self._twins.get(folder)
        if found is None:
            if len(self._twins) >= FOLDERS_KNOWN_MAX:
                self._twins.clear()
            found = self._twins[folder] = _has_checksums(opened)
        return found


def _unlink_twin(name: str, opened: int) -> None:
    """Its own name may be too long where that of its file is not."""
    try:
        os.unlink(f".{name}.crc", dir_fd=opened)
    except OSError as error:
        if error.errno not in ABSENT:
            raise


def _has_checksums(opened: int) -> bool:
    try:
        with os.scandir(opened) as entries:
            return any(one.name[0] == "." and one.name.endswith(".crc") for one in entries)
    except OSError:
        return True  # a folder may be closed to readers


def _why(error: OSError) -> str:
    return "it is a folder" if error.errno == errno.EISDIR else error.strerror or str(error)
