"""Files per second: a purge of ours, Iceberg's own, and `rm -r`, on tables of the same shape."""

import statistics
import subprocess
import time
from typing import Any, NamedTuple

from benchmarks.purge.memory import files_below
from benchmarks.purge.scale import Scale
from benchmarks.purge.targets import Watch, drop, make_target
from benchmarks.rest.servers import Server
from benchmarks.stores import say

WARM_UP_SHARE = 10
"""One part of so many is purged before: a virtual machine compiles what it finds hot."""


class Purged(NamedTuple):
    """A table that is gone."""

    per_second: float
    drop_seconds: float
    left: int
    """Files that were not deleted."""


def measure_rates(scale: Scale, ours: Server, theirs: Server) -> dict[str, Any]:
    """All three in turn, so that a machine that is busy is so for all."""
    watch = Watch(ours.pid)
    _ours(ours, "warm", scale.files // WARM_UP_SHARE, watch)
    _theirs(theirs, "warm", scale.files // WARM_UP_SHARE)
    turns: list[tuple[Purged, Purged, float]] = []
    for number in range(scale.turns):
        name = f"turn_{number}"
        one = _ours(ours, name, scale.files, watch)
        other = _theirs(theirs, name, scale.files)
        turns.append((one, other, _removed(ours, f"removed_{number}", scale.files)))
        shown = f"{one.per_second:,.0f} /s, Iceberg {other.per_second:,.0f}, rm {turns[-1][2]:,.0f}"
        say(f"purge of {scale.files:,} files, turn {number + 1}: {shown}")
    middle = statistics.median
    return {
        "purge_files_per_second": middle(one.per_second for one, _, _ in turns),
        "iceberg_files_per_second": middle(other.per_second for _, other, _ in turns),
        "rm_files_per_second": middle(rm for _, _, rm in turns),
        "purge_iceberg_ratio": middle(one.per_second / other.per_second for one, other, _ in turns),
        "purge_rm_share": middle(one.per_second / rm for one, _, rm in turns),
        "drop_ms_real": max(one.drop_seconds for one, _, _ in turns) * 1e3,
        "worker_rss_mb_500k": watch.peak_bytes / 1e6,
        "files_left_rates": sum(one.left for one, _, _ in turns),
        "iceberg_files_left": sum(other.left for _, other, _ in turns),
    }


def _ours(server: Server, name: str, files: int, watch: Watch) -> Purged:
    """The answer comes at once; the rate is that of the purge behind it, from the drop on."""
    target = make_target(server, name, files)
    took = drop(server, target)
    seconds = took + watch.wait_until_gone([target])
    return Purged(target.files / seconds, took, files_below(target.folder))


def _theirs(server: Server, name: str, files: int) -> Purged:
    """The answer comes when it has done what it could."""
    target = make_target(server, name, files)
    took = drop(server, target)
    return Purged(target.files / took, took, files_below(target.folder))


def _removed(server: Server, name: str, files: int) -> float:
    """`rm -r` of the files of a table that was dropped without them."""
    target = make_target(server, name, files)
    server.ask("DELETE", target.path)
    began = time.perf_counter()
    subprocess.run(["rm", "-r", str(target.folder)], check=True)
    return target.files / (time.perf_counter() - began)
