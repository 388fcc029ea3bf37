"""Commits under contention: one pointer, many callers, one process."""

import statistics
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.names import POINTER, fill, make_keys
from benchmarks.scale import Scale
from benchmarks.stores import new_realm, open_kernel, say
from benchmarks.storm import Storm, storm, summary
from headgate.kernel.handle import RealmHandle
from headgate.limits import BATCH_ATTEMPTS_MAX

CALLERS = 64


async def measure_contention(scale: Scale, folder: Path, postgresql: list[str]) -> dict[str, Any]:
    """Group commit against one swap per caller on SQLite; then the same on PostgreSQL."""
    keys = make_keys(scale.names)
    sqlite = [str(folder / "grouped.db"), str(folder / "single.db")]
    figures = await _against_single(scale, "SQLite", sqlite, "", keys)
    figures |= await _against_single(scale, "PostgreSQL", postgresql[:2], "postgresql_", keys)
    return figures


async def measure_callers(scale: Scale, folder: Path, postgresql: list[str]) -> dict[str, Any]:
    """Commits per second by number of callers, to one pointer and to a pointer for each caller."""
    keys = make_keys(scale.names)
    curve: dict[str, list[float]] = {"callers": list(scale.callers)}
    figures: dict[str, Any] = {"callers_curve": curve}
    for name, place in (("sqlite", str(folder / "callers.db")), ("postgresql", postgresql[2])):
        async with _filled(place, BATCH_ATTEMPTS_MAX, keys) as realm:
            rounds: list[list[Storm]] = [[] for _ in scale.callers]
            for turn in range(max(scale.rounds // 2, 1)):
                say(f"{name}: {', '.join(map(str, scale.callers))} callers, round {turn + 1}")
                for callers, storms in zip(scale.callers, rounds, strict=True):
                    storms.append(await storm(realm, keys, callers=callers, seconds=scale.seconds))
            curve[f"{name}_commits_per_second"] = [
                statistics.median(one.per_second for one in storms) for storms in rounds
            ]
            curve[f"{name}_failed"] = [sum(one.failed for one in storms) for storms in rounds]
            prefix = "distinct" if name == "sqlite" else f"{name}_distinct"
            figures |= summary(prefix, [await _distinct(realm, scale.seconds)])
    return figures


async def _against_single(
    scale: Scale, label: str, places: list[str], prefix: str, keys: Sequence[bytes]
) -> dict[str, Any]:
    """Rounds of both kinds alternate, so that a disk that gets slower does so for both."""
    grouped: list[Storm] = []
    single: list[Storm] = []
    async with AsyncExitStack() as stack:
        realms = [
            await stack.enter_async_context(_filled(place, most, keys))
            for place, most in zip(places, (BATCH_ATTEMPTS_MAX, 1), strict=True)
        ]
        for turn in range(scale.rounds):
            say(f"{label}: {CALLERS} callers, one pointer, round {turn + 1} of {scale.rounds}")
            for realm, storms in zip(realms, (grouped, single), strict=True):
                storms.append(await storm(realm, keys, callers=CALLERS, seconds=scale.seconds))
        [head] = await realms[1].heads(POINTER)
        assert head.head.seq > sum(len(one.waits) for one in single), "each was a commit of its own"
    ratios = [one.per_second / other.per_second for one, other in zip(grouped, single, strict=True)]
    return {
        **summary(f"{prefix}contended", grouped),
        **summary(f"{prefix}contended_single", single),
        f"{prefix}group_commit_speedup": statistics.median(ratios),
    }


async def _distinct(realm: RealmHandle, seconds: float) -> Storm:
    """As many callers, each with a pointer of its own and few entries."""
    pointer: Callable[[int], str] = "cat/1/heads/own-{}".format
    await realm.create_pointers([pointer(caller) for caller in range(CALLERS)])
    keys = make_keys(100)
    return await storm(realm, keys, callers=CALLERS, seconds=seconds, pointer=pointer)


@asynccontextmanager
async def _filled(
    place: str, batch_attempts: int, keys: Sequence[bytes]
) -> AsyncIterator[RealmHandle]:
    async with open_kernel(place, batch_attempts) as kernel:
        realm = await new_realm(kernel)
        await fill(realm, keys, seed=1)
        yield realm
