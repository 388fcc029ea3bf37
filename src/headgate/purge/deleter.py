"""Deleting a table's files in a child process, seen from the parent: what is asked and answered."""

import pickle
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.catalog.ports import Roots
from headgate.purge.ledger import NONE_LEFT, Count, Failed, LeftFiles
from headgate.purge.steps import LEAVES, STEPS
from headgate.purge.surveyor import PassedOver, Referrer
from headgate.workers.pool import WorkerPool, module

WORKER = module("headgate.purge.worker")
STILL_THERE = "it was deleted and is still there"


class Task(msgspec.Struct, frozen=True):
    """What is to be deleted."""

    metadata_location: str
    roots: Roots
    """The catalog's locations: nothing outside of these is read or touched."""
    own: tuple[str, ...]
    """The locations that the table holds or held by reservation: files are deleted in these only.
    """
    foreign: tuple[bytes, ...] = ()
    """Keys of places of other catalogs (`model.locations.index_key`): nothing there is touched."""
    referrers: tuple[Referrer, ...] = ()
    """Other tables that refer to files in its own places: these stay."""
    others: Roots = ()
    """Below which these tables are read: they may be of other catalogs."""
    stage: str = LEAVES
    threads: int = 8
    whole_catalog: bool = False
    """Whether files in the roots, but not in its own places, are told to the parent, which may
    delete them; else they are left, and counted."""


class Progress(msgspec.Struct, frozen=True):
    """What was done so far in a stage, and what is new since the last one of these."""

    phase: str
    deleted: Count = 0
    """Object stores do not tell whether an object was there: it counts as deleted."""
    missing: Count = 0
    bytes: Count = 0
    expected: Count = 0
    """Files to be deleted: what manifest lists say at first, what was found in the end."""
    failed: list[Failed] = []
    outside: list[str] = []
    """Files of the table inside of the roots, but not in its own places: the parent decides. Empty
    unless the task is about the whole catalog."""
    kept: Count = 0
    """Files that other tables refer to."""
    is_stale: bool = False
    """Nothing was done, as other tables do not refer to what they did."""
    left_outside: LeftFiles = NONE_LEFT
    """Files that the table refers to and that stay, as they are not in its own places."""
    unreferenced: LeftFiles = NONE_LEFT
    """Files in its own places that stay, as nothing refers to them."""
    away: str = ""
    """Nothing was done, as the storage of this table does not answer and is awaited."""
    passed_over: list[PassedOver] = []
    """Tables of which not all could be read, so what else they need is not known."""


class Deleting(Protocol):
    """Lets a child delete; see `Deleter`."""

    def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage, as it goes on."""
        ...


class Deleter:
    """Lets children delete."""

    def __init__(
        self, pool: WorkerPool, files_below: Callable[[Roots], object], *more: bytes
    ) -> None:
        """`more` is what children of this pool want to know with each step."""
        self._pool = pool
        self._files_below = files_below
        self._more = more

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage. It ended well if no progress had failures, was stale or away. Close it if you
        stop early.

        A step is not begun before you asked for more than the last progress of the step before
        it: until then, delete what was outside. Raises FileMissing if the metadata file is gone,
        which goes last, BadMetadata or StorageUnavailable if it cannot be read, and LeaseLost.
        """
        files, others = (
            pickle.dumps(self._files_below(roots)) for roots in (task.roots, task.others)
        )
        asked = msgspec.msgpack.encode(task)
        sums = Progress("")
        for step in STEPS[task.stage]:
            before, failed = sums, False
            steps = self._pool.stream(
                "delete", files, others, asked, step.encode(), bytes(fence), *self._more
            )
            async with aclosing(steps) as answers:
                async for answer in answers:
                    sums = _sum(before, msgspec.msgpack.decode(answer, type=Progress))
                    failed = failed or bool(sums.failed) or sums.is_stale or bool(sums.away)
                    yield sums
            if failed:
                return


def _sum(before: Progress, step: Progress) -> Progress:
    return msgspec.structs.replace(
        step,
        deleted=before.deleted + step.deleted,
        missing=before.missing + step.missing,
        bytes=before.bytes + step.bytes,
        expected=before.expected + step.expected,
        kept=before.kept + step.kept,
        left_outside=before.left_outside + step.left_outside,
        unreferenced=before.unreferenced + step.unreferenced,
    )
