"""What the backend adds to the driver when it reads the pointers of a request."""

import statistics
import time
from pathlib import Path
from typing import Any

import apsw

from benchmarks.scale import Scale
from benchmarks.stores import new_realm, open_kernel, say
from headgate.backends.sqlite.backend import PACKAGE
from headgate.kernel.backend import Backend
from headgate.kernel.records import PointerKey
from headgate.kernel.system import REALM_POINTERS
from headgate.sql import load_statements

READS_PER_ROUND = 100  # about a millisecond: shorter than a time slice
ROUNDS_FACTOR = 10


async def measure_pointer_reads(
    scale: Scale, folder: Path, _postgresql: list[str]
) -> dict[str, Any]:
    """Seven pointers in one read: through the backend, and by the driver alone, by turns."""
    say("pointer reads")
    path = folder / "pointers.db"
    async with open_kernel(str(path)) as kernel:
        realm = await new_realm(kernel)
        keys = [PointerKey(realm.id, name) for name in REALM_POINTERS]
        raw = apsw.Connection(str(path))
        try:
            batch, alone = [], []
            for _ in range(scale.repeats * ROUNDS_FACTOR):
                batch.append(await _through_backend(kernel.backend, keys))
                alone.append(_by_driver(raw, keys))
        finally:
            raw.close()
    pairs = zip(batch, alone, strict=True)
    return {
        "pointer_batch_read_us": statistics.median(batch),
        "raw_batch_read_us": statistics.median(alone),
        "pointer_read_ratio": statistics.median(one / other for one, other in pairs),
    }


async def _through_backend(backend: Backend, keys: list[PointerKey]) -> float:
    began = time.perf_counter()
    for _ in range(READS_PER_ROUND):
        await backend.read_pointers(keys)
    return (time.perf_counter() - began) / READS_PER_ROUND * 1e6


def _by_driver(connection: apsw.Connection, keys: list[PointerKey]) -> float:
    """The same statement with its text and bindings at hand: nothing but the driver's work."""
    one = load_statements(PACKAGE)["read_pointer"]
    text = "select " + ",".join([f"({one})"] * len(keys))
    bindings = tuple(part for key in keys for part in key)
    execute = connection.cursor().execute
    began = time.perf_counter()
    for _ in range(READS_PER_ROUND):
        execute(text, bindings).fetchall()
    return (time.perf_counter() - began) / READS_PER_ROUND * 1e6
