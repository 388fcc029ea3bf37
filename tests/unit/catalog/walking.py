"""What child processes do for a purge, done here: on the walk of a planner that tests steer."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.ports import Roots, Storage
from headgate.clock import Clock
from headgate.errors import InvalidInput, StorageUnavailable
from headgate.limits import INDEX_KEY_BYTES_MAX
from headgate.model.locations import index_key, is_within
from headgate.purge.deleter import Progress, Task
from headgate.purge.fence import open_fence
from headgate.purge.ledger import Failed
from headgate.purge.steps import LEAVES
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed
from headgate.workers.turns import NO_TENANT, Tenant

MISSING, DAMAGED = "missing", "damaged"
"""Files that lead to others and cannot be followed: gone, or not readable."""
_DATA = "data"


class Reached(NamedTuple):
    """Some files that a table's metadata leads to."""

    kind: str
    paths: list[str]


class Walker(Protocol):
    """Finds the files of a table."""

    def reachable(self, metadata: bytes, metadata_location: str) -> AsyncGenerator[Reached]:
        """All of them, leaves first, the metadata file last."""
        ...


class WalkingDeleter:
    """Deletes what the planner finds, as `Deleter` does."""

    def __init__(self, planner: Walker, storage: Storage, clock: Clock) -> None:
        self._planner = planner
        self._storage = storage
        self._clock = clock

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage, batch by batch."""
        files = self._storage.files(task.roots)
        metadata = await read_metadata(files, task.metadata_location)
        sums = Progress(task.stage)
        walk = self._planner.reachable(metadata, task.metadata_location)
        async with aclosing(walk) as batches:
            async for batch in batches:
                if batch.kind == DAMAGED:
                    raise StorageUnavailable(
                        f"{batch.paths[0]} cannot be read", why="what it leads to is not known"
                    )
                if batch.kind == MISSING or (batch.kind == _DATA) != (task.stage == LEAVES):
                    continue
                own, outside = _sorted(task, batch.paths)
                with open_fence(fence, self._clock) as opened:
                    opened.check()
                failed = [Failed(path, why) for path, why in await files.delete(own)]
                sums = msgspec.structs.replace(
                    sums,
                    deleted=sums.deleted + len(own) - len(failed),
                    expected=sums.expected + len(own),
                    failed=failed,
                    outside=outside,
                )
                yield sums
                if failed:
                    return
        if task.stage != LEAVES:
            for place in task.own:
                await files.remove_folders(place)


class Unrelated:
    """Reads what tables refer to, as `Surveyor` does: nothing outside of their places."""

    async def survey(
        self, tables: Sequence[Surveyed], _roots: Roots, _seconds: float = 0.0
    ) -> list[Outside]:
        return [Outside() for _ in tables]

    async def shared(
        self,
        _referrers: Sequence[Referrer],
        _roots: Roots,
        _paths: Sequence[str],
        tenant: Tenant = NO_TENANT,
    ) -> Shared:
        return Shared()


def _sorted(task: Task, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those in the table's own places, and those elsewhere inside of the roots."""
    own: list[str] = []
    outside: list[str] = []
    for path in paths:
        with suppress(InvalidInput):  # no location at all: nothing of ours
            place = index_key(path)
            if place.startswith(task.foreign) or len(place) > INDEX_KEY_BYTES_MAX:
                continue
            if any(is_within(path, one) for one in task.own):
                own.append(path)
            elif any(is_within(path, root) for root in task.roots):
                outside.append(path)
    return own, outside
