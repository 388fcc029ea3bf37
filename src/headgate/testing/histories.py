"""Records histories of one pointer: `Recorder` notes calls, `race` makes many of them at random."""

import asyncio
import itertools
import random
from collections.abc import Iterator, Sequence

from headgate.errors import NotFound, OutcomeUnknown, Unavailable
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.testing.linearizability import Kind, Operation

READ_SHARE = 0.4
STALE_SHARE = 0.1  # of swaps: from a value known to be an old one
TURNS_MAX = 3


class Recorder:
    """Notes what processes of one event loop, on any nodes, do to one pointer."""

    def __init__(self, key: PointerKey) -> None:
        self.key = key
        self.history: list[Operation] = []
        self._ticks = itertools.count(1)

    async def read(self, process: int, backend: Backend) -> int:
        """Read the pointer; it exists. A read that fails is not noted."""
        began = next(self._ticks)
        [value] = await backend.read_pointers([self.key])
        assert value is not None, self.key
        self.history.append(
            Operation(process, Kind.READ, 0, 0, value, began, ended=next(self._ticks))
        )
        return value

    async def swap(
        self, process: int, backend: Backend, expected: int, new: int, rows: Sequence[Row] = ()
    ) -> Outcome | None:
        """Swap the pointer; None if the outcome is unknown. Cancelled and crashed ones are, too.

        What certainly did not happen is not noted: should its value turn up, nobody wrote it.
        """
        began = next(self._ticks)
        try:
            outcome = await backend.commit(rows, Swap(self.key, expected, new))
        except (Unavailable, NotFound):
            raise
        except BaseException as error:
            self.history.append(
                Operation(process, Kind.SWAP, expected, new, None, began, ended=None)
            )
            if isinstance(error, OutcomeUnknown):
                return None
            raise
        self.history.append(
            Operation(process, Kind.SWAP, expected, new, outcome, began, ended=next(self._ticks))
        )
        return outcome


async def race(
    backends: Sequence[Backend],
    key: PointerKey,
    *,
    seed: int,
    processes: int = 8,
    operations: int = 40,
) -> Recorder:
    """Let processes, spread over these nodes, read and swap an existing, EMPTY pointer at random.

    Each commit brings a row with it, and whoever reads a value must find its row. Repeats exactly
    from its seed as far as the backends do.
    """
    recorder = Recorder(key)
    values = itertools.count(EMPTY + 1)
    await asyncio.gather(
        *(
            _Racer(recorder, process, backends[process % len(backends)], seed, values).run(
                operations
            )
            for process in range(processes)
        )
    )
    return recorder


class _Racer:
    """One process: it remembers the values it saw and swaps from the last of them, mostly."""

    def __init__(
        self,
        recorder: Recorder,
        process: int,
        backend: Backend,
        seed: int,
        values: Iterator[int],
    ) -> None:
        self._recorder = recorder
        self._process = process
        self._backend = backend
        self._random = random.Random(f"{seed}/{process}")
        self._values = values
        self._seen = [EMPTY]

    async def run(self, operations: int) -> None:
        for _ in range(operations):
            for _ in range(self._random.randint(0, TURNS_MAX)):
                await asyncio.sleep(0)
            step = self._read if self._random.random() < READ_SHARE else self._swap
            try:
                await step()
            except Unavailable:
                continue

    async def _read(self) -> None:
        value = await self._recorder.read(self._process, self._backend)
        self._seen.append(value)
        if value != EMPTY:
            rows = await self._backend.fetch(self._recorder.key.realm, [value])
            assert [row.value for row in rows] == [_content(value)], f"no row of {value}: {rows}"

    async def _swap(self) -> None:
        stale = self._random.random() < STALE_SHARE
        expected = self._random.choice(self._seen) if stale else self._seen[-1]
        new = next(self._values)
        row = Row(self._recorder.key.realm, new, 0, 1, "race", 0, _content(new))
        outcome = await self._recorder.swap(self._process, self._backend, expected, new, [row])
        if outcome is Outcome.APPLIED:
            self._seen.append(new)
        else:
            await self._read()


def _content(value: int) -> bytes:
    return f"the content of {value}".encode()
