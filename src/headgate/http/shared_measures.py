"""The numbers of all processes of one server: each keeps its own in a file, any adds them up."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from headgate.clock import Clock
from headgate.http.measures import Measures, Samples, add_up, of_process, without_gauges
from headgate.workers.running import is_running

WRITE_SECONDS = 1.0


class SharedMeasures:
    """This process's numbers, with those of its siblings if it has any.

    Files are `PID.json` in a directory that lives as long as the server. What a process counted
    outlives it, so that sums never go back.
    """

    def __init__(self, own: Measures, directory: Path | None, clock: Clock) -> None:
        self._own = own
        self._directory = directory
        self._clock = clock
        self._name = f"{os.getpid()}.json"

    def samples(self) -> Samples:
        """The sums: our own numbers of now, those of the others at most a second old.

        What all have in common is told once: by us.
        """
        return add_up([self._own.samples(), *map(of_process, self._of_others())])

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write our file each second, and once more at the end."""
        if self._directory is None:
            yield
            return
        writing = asyncio.create_task(self._keep_writing())
        try:
            yield
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
            self._write()

    async def _keep_writing(self) -> None:
        while True:
            self._write()
            await self._clock.sleep(WRITE_SECONDS)

    def _write(self) -> None:
        """Replace our file. A server whose directory is gone has better things to do than fail."""
        assert self._directory is not None
        new = self._directory / f"{self._name}.new"
        with suppress(OSError):
            new.write_bytes(msgspec.json.encode(self._own.samples()))
            new.replace(self._directory / self._name)

    def _of_others(self) -> list[Samples]:
        if self._directory is None:
            return []
        return [
            samples if is_running(int(path.stem)) else without_gauges(samples)
            for path in self._directory.glob("*.json")
            if path.name != self._name and (samples := _read(path))
        ]


def _read(path: Path) -> Samples:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Samples)
    except (OSError, msgspec.DecodeError):
        return {}
