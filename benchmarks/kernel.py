"""The suite of the kernel: `python -m benchmarks kernel [--quick] [--json] [--plot FILE]`."""

import argparse
import asyncio
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import apsw

from benchmarks.contention import measure_callers, measure_contention
from benchmarks.index_cost import measure_index
from benchmarks.pointer_reads import measure_pointer_reads
from benchmarks.processes import measure_processes
from benchmarks.report import rounded, table
from benchmarks.scale import FULL, QUICK, SMOKE, Scale
from benchmarks.stores import disk_folder, say, sync_ms
from headgate.testing.postgresql import PostgresqlServer, find_binaries

DATABASES = 4  # of the PostgreSQL server, each for one workload
THEMES = (
    measure_pointer_reads,
    measure_contention,
    measure_processes,
    measure_callers,
    measure_index,
)


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    try:
        find_binaries()
    except RuntimeError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    figures = rounded(run(scale))
    if options.plot:
        plot = importlib.import_module("benchmarks.plot")  # matplotlib is needed here only
        plot.draw(figures, list(scale.sizes), options.plot)
        say(f"plot written to {options.plot}")
    print(json.dumps(figures) if options.json else table(figures))
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    with disk_folder() as folder, PostgresqlServer(folder=folder.parent) as server:
        figures["disk_sync_ms"] = sync_ms(folder)
        databases = [server.create_database() for _ in range(DATABASES)]
        for theme in THEMES:
            figures |= asyncio.run(theme(scale, folder, databases))
    say("done")
    return figures


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks kernel", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, under a minute")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures, .svg or .png")
    return parser.parse_args(arguments)


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }
