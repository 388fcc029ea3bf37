"""How long it takes to tell the orphans of a large table: ours, and Iceberg's own procedure."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.pipelines.actions import IcebergActions
from benchmarks.pipelines.scale import Scale
from benchmarks.pipelines.turns import WARM_UP_SHARE, take_turns
from benchmarks.rest.servers import connect
from benchmarks.stores import say
from headgate.pipelines import orphans
from headgate.pipelines.fixtures.places import local_path
from headgate.pipelines.fixtures.table import make_table
from headgate.pipelines.orphans import OrphansOptions
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.testing.headgate_server import HeadgateServer

NAMESPACE, CATALOG = "kept", "main"
OLD_SECONDS = 10 * 86_400
"""Both leave files of less than three days alone unless they are told otherwise."""


def measure_orphans(
    scale: Scale, disk: Path, memory: Path, actions: IcebergActions
) -> dict[str, Any]:
    """One table in the catalog, so that both list the same; a small one is looked at before."""
    warehouse = ("--set", f"bootstrap.warehouse=file://{memory}")
    with HeadgateServer(disk, *warehouse) as started:
        server = Server(started.url)
        actions.know(server, CATALOG)
        asked = connect(started)
        warm = make_table(asked, (NAMESPACE, "warm"), scale.files // WARM_UP_SHARE)
        search = _Search(server, actions)
        _prepare(Path(local_path(warm.location)), scale.orphans)
        search.ours()
        search.theirs("warm")
        asked.ask("DELETE", warm.path)
        shutil.rmtree(local_path(warm.location))

        made = make_table(asked, (NAMESPACE, "large"), scale.files)
        _prepare(Path(local_path(made.location)), scale.orphans)
        search.found.clear()
        search.found_by_theirs.clear()
        compared = take_turns(
            f"seconds, {scale.orphans:,} orphans among {made.files:,} files",
            scale.turns,
            lambda _: search.ours(),
            lambda _: search.theirs("large"),
        )
    say(f"orphans told: {search.found}, by Iceberg {search.found_by_theirs}")
    return {
        "orphans_seconds_500k": compared.middle.ours,
        "iceberg_orphans_seconds_500k": compared.middle.theirs,
        "orphans_ratio": compared.ratio,
        "orphans_missed": sum(abs(scale.orphans - found) for found in search.found),
        "iceberg_orphans_missed": sum(abs(scale.orphans - one) for one in search.found_by_theirs),
    }


class _Search:
    """Both searches, on the session of this process."""

    def __init__(self, server: Server, actions: IcebergActions) -> None:
        self._server = server
        self._actions = actions
        self.found: list[int] = []
        self.found_by_theirs: list[int] = []

    def ours(self) -> float:
        """The seconds of `headgate pipeline orphans`, without the start of Spark."""
        began = time.perf_counter()
        options = OrphansOptions(catalog=CATALOG)
        done = orphans.run(options, self._server, SparkOptions(), Report(is_quiet=True))
        took = time.perf_counter() - began
        self.found.append(done.orphans)
        return took

    def theirs(self, table: str) -> float:
        took, found = self._actions.find_orphans(NAMESPACE, table)
        self.found_by_theirs.append(found)
        return took


def _prepare(folder: Path, orphans: int) -> None:
    """Plant files that nobody refers to among those of a table, and let all of them be old."""
    parts = sorted((folder / "data").iterdir())
    for number in range(orphans):
        (parts[number % len(parts)] / f"orphan-{number:07}.parquet").write_bytes(b"orphan")
    then = time.time() - OLD_SECONDS
    for path in _files(folder):
        os.utime(path, (then, then))


def _files(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield f"{parent}/{name}"
