"""Work of others whose word is not taken for it: whoever says that files are deleted may have
deleted none."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec

from headgate.errors import FileMissing
from headgate.purge.deleter import Deleting, Progress, Task
from headgate.purge.steps import GONE, LEAVES, SEEN


class Witnessed:
    """Lets somebody delete, and a child of this server look at what is left.

    After the leaves the metadata still leads to all of them, so those that are left are known from
    files that were never the table's. After the roots its metadata file has to be gone.
    """

    def __init__(self, deleter: Deleting, witness: Deleting) -> None:
        self._deleter = deleter
        self._witness = witness

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage; see `Deleter`. What is left that was said to be deleted has failed."""
        last, is_well, missing = Progress(task.stage), True, list[FileMissing]()
        try:
            async with aclosing(self._deleter.run(task, fence)) as steps:
                async for last in steps:
                    is_well = is_well and not (last.failed or last.is_stale or last.away)
                    yield last
        except FileMissing as error:  # that may not be so
            missing.append(error)
        for seen in await self._seen(task, fence, missing) if is_well else ():
            yield msgspec.structs.replace(
                last,
                phase=seen.phase,
                failed=seen.failed,
                outside=[],
                is_stale=seen.is_stale,
                away=seen.away,
                passed_over=seen.passed_over,
            )

    async def _seen(self, task: Task, fence: Path, missing: list[FileMissing]) -> list[Progress]:
        """All that there is to see: whoever listens may need the same child meanwhile."""
        stage = SEEN if task.stage == LEAVES else GONE
        looking = self._witness.run(msgspec.structs.replace(task, stage=stage), fence)
        try:
            return [seen async for seen in looking]
        except FileMissing:
            if missing or task.stage == LEAVES:
                raise
            return []  # as it should be
