"""The suite of pipelines: `python -m benchmarks pipelines [--quick] [--json]`."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.kernel import machine
from benchmarks.pipelines.actions import IcebergActions
from benchmarks.pipelines.goals import GOALS
from benchmarks.pipelines.moves import measure_moves
from benchmarks.pipelines.orphans import measure_orphans
from benchmarks.pipelines.purges import measure_purges
from benchmarks.pipelines.scale import FULL, QUICK, SMOKE, Scale
from benchmarks.pipelines.sweeps import measure_sweeps
from benchmarks.purge.memory import memory_folder
from benchmarks.report import rounded, table
from benchmarks.stores import disk_folder, say, sync_ms
from headgate.errors import HeadgateError
from headgate.pipelines.session import SparkOptions, check_options, spark_session
from headgate.testing.postgresql import find_binaries

SPARE = 1.1  # metadata comes on top
CONF = {"spark.driver.memory": "2g"}
"""Of both sessions: the driver's own of a purge, and that of all others."""


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    try:
        check_options(SparkOptions())
        find_binaries()
        figures = rounded(run(scale))
    except (HeadgateError, RuntimeError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    print(json.dumps(figures) if options.json else table(figures, GOALS))
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    files = int(SPARE * scale.files)
    with (
        disk_folder() as disk,
        memory_folder(files, files) as memory,
        spark_session(SparkOptions(conf=CONF), "benchmarks", iceberg=True) as session,
    ):
        figures["disk_sync_ms"] = sync_ms(disk)
        actions = IcebergActions(session)
        themes: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
            "purges": lambda own, files: measure_purges(scale, own, files, actions, CONF),
            "orphans": lambda own, files: measure_orphans(scale, own, files, actions),
            "sweeps": lambda own, _: measure_sweeps(scale, own),
            "moves": lambda own, _: measure_moves(scale, own),
        }
        for name, measure in themes.items():
            figures |= measure(disk / name, memory / name)
            for folder in (disk / name, memory / name):
                shutil.rmtree(folder, ignore_errors=True)  # it may not have been needed
    figures["machine"]["load_average_after"] = machine()["load_average"]
    say("done")
    return figures


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks pipelines", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 files, some minutes")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)
