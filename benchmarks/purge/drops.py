"""How long a DELETE with purge takes: of tables of all sizes, one by one and many at once."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.purge.copies import make_copies
from benchmarks.purge.memory import files_below
from benchmarks.purge.scale import Scale
from benchmarks.purge.targets import NAMESPACE, Watch, make_target, purging
from benchmarks.rest.jobs import Job, Round, job
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.loads import CONNECTIONS
from benchmarks.rest.servers import Server
from benchmarks.stores import say
from benchmarks.storm import percentile
from headgate.pipelines.fixtures.places import LocalPlace
from headgate.pipelines.fixtures.table import make_table

SMALL_FILES = 10
GRACE = ("--set", "purger.async.grace-period-ms=86400000")
"""Purges wait for a day, so that none is under way while the next table is dropped."""
HEAD_START_SECONDS = 1.0
"""Readers are at work for so long before all is dropped."""


def measure_sizes(generator: LoadGenerator, scale: Scale, server: Server) -> dict[str, Any]:
    """A small and a large table are dropped in turn, by one client."""
    say(f"{scale.drops} tables of {SMALL_FILES} and of {scale.files:,} files, dropped one by one")
    sizes = {"small": SMALL_FILES, "500k": scale.files}
    jobs: list[list[Job]] = []
    for size, files in sizes.items():
        made = make_table(server, (NAMESPACE, f"size_{size}"), files)
        paths = make_copies(server, made, scale.drops)
        jobs.append([_drop(server, path, size) for path in paths])
    seen = generator.run(
        Plan(server.port, [one for pair in zip(*jobs, strict=True) for one in pair], 1)
    )
    figures: dict[str, Any] = {"drop_failed": seen.failed, **_failures(seen)}
    for size in sizes:
        waits = sorted(seen.waits[size])
        figures[f"drop_p50_ms_{size}"] = percentile(waits, 0.50) * 1e3
        figures[f"drop_p99_ms_{size}"] = percentile(waits, 0.99) * 1e3
    figures["drop_ratio"] = figures["drop_p99_ms_500k"] / figures["drop_p99_ms_small"]
    return figures


def measure_together(
    generator: LoadGenerator, scale: Scale, server: Server, readers: Sequence[Job]
) -> dict[str, Any]:
    """Many tables are dropped at once, and purged from then on, while others load tables."""
    say(f"{scale.together} tables of {scale.together_files:,} files, dropped at once")
    place = LocalPlace(link=True)
    targets = [
        make_target(server, f"together_{number:02}", scale.together_files, place)
        for number in range(scale.together)
    ]
    drops = Plan(server.port, [_drop(server, one.path, "drop") for one in targets], len(targets))
    loads = Plan(server.port, list(readers), CONNECTIONS, 2 * HEAD_START_SECONDS + scale.seconds)
    with LoadGenerator() as other, ThreadPoolExecutor(1) as thread:
        other.run(loads._replace(seconds=scale.seconds))  # so that it is there, and all is warm
        reading = thread.submit(other.run, loads)
        time.sleep(HEAD_START_SECONDS)
        seen = generator.run(drops)
        read = reading.result()
    say(f"the slowest took {max(seen.all_waits, default=0.0) * 1e3:.0f} ms")
    Watch(server.pid).wait_until_gone(targets)
    return {
        "drop_p99_ms_concurrent": percentile(seen.all_waits, 0.99) * 1e3,
        "drop_failed_concurrent": seen.failed + read.failed,
        "files_left_concurrent": sum(files_below(one.folder) for one in targets),
        **_failures(seen),
    }


def _drop(server: Server, path: str, label: str) -> Job:
    return job("DELETE", server.base + purging(path), status=204, label=label)


def _failures(seen: Round) -> dict[str, Any]:
    return {"drop_failures": sorted(seen.failures)[:3]} if seen.failures else {}
