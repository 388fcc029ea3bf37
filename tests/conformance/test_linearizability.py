"""With lost answers, late and doubled writes, every backend still acts as one correct pointer."""

from collections.abc import Callable, Sequence

import pytest

from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.testing.faults import Fault, Faults, FaultyBackend, TwoStepBackend
from headgate.testing.histories import race
from headgate.testing.linearizability import check
from headgate.testing.row_conformance import versioned
from tests.conftest import FULL

SEEDS = range(25) if FULL else range(3)
OPERATIONS = 400 if FULL else 50  # of each of eight processes
ROW = 2**62  # no id of a race

RATES = {
    Fault.LOST_BEFORE: 0.05,
    Fault.LOST_AFTER: 0.05,
    Fault.DUPLICATE: 0.05,
    Fault.DELAY: 0.1,
    Fault.LATE: 0.08,
    Fault.UNAVAILABLE: 0.05,
}

Decorator = Callable[[Backend], Backend]


class RowAsPointer(ForwardingBackend):
    """Keeps the pointer in a versioned row: its value is the version, and EMPTY is no row."""

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        rows = await self.inner.fetch(keys[0].realm, [ROW])
        return [rows[0].version if rows else EMPTY]

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        await self.inner.write(rows)
        row = versioned(swap.key.realm, ROW, swap.new)
        if swap.expected == EMPTY:
            return await self.inner.insert(row)
        return await self.inner.update(row, swap.expected)


def as_it_is(backend: Backend) -> Backend:
    return backend


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("outside", [as_it_is, TwoStepBackend, RowAsPointer])
@pytest.mark.parametrize("database", ["memory", "sqlite", "postgresql"])
class TestUnderFaults:
    async def test_histories_with_faults_are_linearizable(
        self, backend: Backend, second: Backend, database: str, outside: Decorator, seed: int
    ) -> None:
        """Every answer given fits one order of what happened, and settled nodes agree."""
        print(f"seed {seed}")
        key = PointerKey(f"{outside.__name__} {seed}", "pointer")
        await backend.create_pointers(key.realm, [key.name])
        faults = Faults(seed, **RATES)
        nodes = [outside(FaultyBackend(node, faults)) for node in (backend, second)]
        recorder = await race(nodes, key, seed=seed, operations=OPERATIONS)
        await faults.settle()
        for process, node in enumerate((backend, second)):
            await recorder.read(100 + process, outside(node))

        violation = check(recorder.history)
        assert violation is None, str(violation)
        assert set(Fault) <= set(faults.injected)
