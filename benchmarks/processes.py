"""Commits under contention: one pointer, several processes on one database."""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.names import NAMES, POINTER, fill, make_keys
from benchmarks.scale import Scale
from benchmarks.stores import new_realm, open_kernel, say
from benchmarks.storm import Storm, storm, summary

PROCESSES = 2
CALLERS = 32  # in each process
ROUND_SECONDS_FACTOR = 3  # longer rounds, for the worst wait is what matters


async def measure_processes(scale: Scale, folder: Path, postgresql: list[str]) -> dict[str, Any]:
    """Two processes that compete, on SQLite and on PostgreSQL."""
    figures = await _measure("two_process", str(folder / "processes.db"), scale)
    return figures | await _measure("postgresql_two_process", postgresql[3], scale)


async def _measure(prefix: str, place: str, scale: Scale) -> dict[str, Any]:
    async with open_kernel(place) as kernel:
        realm = await new_realm(kernel)
        await fill(realm, make_keys(scale.names), seed=1)
    say(f"{prefix}: {PROCESSES} processes with {CALLERS} callers each")
    seconds = scale.seconds * ROUND_SECONDS_FACTOR
    shares = await asyncio.to_thread(_run_all, place, realm.id, scale.names, seconds)
    together = Storm(max(one.seconds for one in shares), [], {})
    for share in shares:
        together.waits += share.waits
        together.failures |= share.failures
    return {
        **summary(prefix, [together]),
        f"{prefix}_worst_wait_seconds": together.worst_wait,
        f"{prefix}_smallest_share": min(len(one.waits) for one in shares) / len(together.waits),
    }


def _run_all(place: str, realm: str, names: int, seconds: float) -> list[Storm]:
    """Start all processes, let them go at once when all are ready, collect what they saw."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(PROCESSES)]
    processes = [
        context.Process(target=_main, args=(theirs, place, realm, names, seconds), daemon=True)
        for _, theirs in pipes
    ]
    try:
        for process in processes:
            process.start()
        ours = [mine for mine, _ in pipes]
        for pipe, (_, theirs) in zip(ours, pipes, strict=True):
            theirs.close()
            assert pipe.recv() == "ready"
        for pipe in ours:
            pipe.send("go")
        return [Storm(*pipe.recv()) for pipe in ours]
    finally:
        for process in processes:
            process.join(10)
            process.kill()


def _main(pipe: Connection, place: str, realm: str, names: int, seconds: float) -> None:
    asyncio.run(_contend(pipe, place, realm, names, seconds))


async def _contend(pipe: Connection, place: str, realm: str, names: int, seconds: float) -> None:
    async with open_kernel(place) as kernel:
        handle = kernel.realm(realm)
        [head] = await handle.heads(POINTER)
        async for _ in head.index(NAMES).scan():
            pass  # brings all pages into the cache
        pipe.send("ready")
        await asyncio.to_thread(pipe.recv)
        seen = await storm(handle, make_keys(names), callers=CALLERS, seconds=seconds)
        pipe.send((seen.seconds, seen.waits, seen.failures))
