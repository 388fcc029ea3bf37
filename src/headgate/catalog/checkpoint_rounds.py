"""Checkpoints that are written now and then, by whichever process of this machine is first."""

import asyncio
import logging
from collections.abc import Callable

from headgate.catalog.checkpoint_file import CheckpointFile
from headgate.catalog.checkpoints import SigningLogKey, make_checkpoint
from headgate.errors import HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.limits import CHECKPOINT_SPREAD_SECONDS

_PARTS = 1_000

logger = logging.getLogger(__name__)


class CheckpointRounds:
    """Appends a line to a file in each interval."""

    def __init__(
        self, kernel: Kernel, key: SigningLogKey, file: CheckpointFile, interval_seconds: int
    ) -> None:
        self._kernel = kernel
        self._key = key
        self._file = file
        self._interval_ms = interval_seconds * 1_000
        self.written = 0

    async def make_for_ever(self, entropy: Callable[[], int]) -> None:
        """Write when it is time; what fails is tried again in the next interval."""
        clock = self._kernel.clock
        while True:
            spread = CHECKPOINT_SPREAD_SECONDS * (entropy() % _PARTS / _PARTS)
            due_ms = self._file.due_in_ms(clock.wall_ms(), self._interval_ms)
            await clock.sleep(due_ms / 1_000 + spread)
            try:
                await self.make_one()
            except Exception as error:  # whatever it is, it is tried again
                unexpected = not isinstance(error, HeadgateError)
                logger.warning("no checkpoint was written: %s", error, exc_info=unexpected)
                await clock.sleep(self._interval_ms / 1_000)

    async def make_one(self) -> bool:
        """Write a line if it is time; whether one was written."""
        if self._file.due_in_ms(self._kernel.clock.wall_ms(), self._interval_ms):
            return False
        checkpoint = await make_checkpoint(self._kernel)
        line = self._key.sign(checkpoint)
        written = await asyncio.to_thread(
            self._file.append, line, now_ms=checkpoint.made_ms, interval_ms=self._interval_ms
        )
        self.written += written
        return written
