"""Deleting many files of a table, wherever they lie, from any number of threads."""

from collections.abc import Callable, Coroutine
from typing import Any

from headgate.storage.deletions import Check, Deleted, Folders
from headgate.storage.failures import NotDeleted
from headgate.storage.files import StorageFiles
from headgate.storage.local_deletion import LocalDeletion
from headgate.storage.places import parse

Run = Callable[[Coroutine[Any, Any, NotDeleted]], NotDeleted]
"""Runs on an event loop what asks object stores, and waits for it."""


class BulkDeletion:
    """One for each time that files of a table are deleted."""

    def __init__(self, files: StorageFiles, local: LocalDeletion, run: Run) -> None:
        self._files = files
        self._local = local
        self._run = run

    def delete(self, folders: Folders, check: Check) -> Deleted:
        """Delete these. `check` raises, in between, if there is to be an end."""
        deleted, missing, failed = 0, list[str](), list[tuple[str, str]]()
        objects: list[str] = []
        for folder, names in folders.items():
            if parse(folder).kind == "file":
                here = self._local.delete(folder, names, check)
                deleted += here.deleted
                missing += here.missing
                failed += here.failed
            else:
                objects += [f"{folder}/{name}" for name in names]
        if objects:
            kept = self._run(self._files.delete(objects, check))
            deleted += len(objects) - len(kept)
            failed += kept
        return Deleted(deleted, missing, failed)
