"""The suite of hard deletion: `python -m benchmarks purge [--quick] [--json] [--plot FILE]`."""

import argparse
import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.kernel import machine
from benchmarks.purge.drops import GRACE, measure_sizes, measure_together
from benchmarks.purge.goals import GOALS
from benchmarks.purge.memory import memory_folder
from benchmarks.purge.rates import measure_rates
from benchmarks.purge.scale import FULL, QUICK, SMOKE, Scale
from benchmarks.purge.serving import measure_serving
from benchmarks.report import rounded, table
from benchmarks.rest import loads
from benchmarks.rest.load import LoadGenerator
from benchmarks.rest.servers import Server, connect, reference
from benchmarks.stores import disk_folder, say, sync_ms
from headgate.testing import maven
from headgate.testing.headgate_server import HeadgateServer

SPARE = 1.1  # metadata comes on top


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    try:
        maven.java()
        maven.class_path()
        figures = rounded(run(scale))
    except RuntimeError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    if options.plot:
        plot = importlib.import_module("benchmarks.purge.plot")  # matplotlib is needed here only
        plot.draw(figures, options.plot)
        say(f"plot written to {options.plot}")
    print(json.dumps(figures) if options.json else table(figures, GOALS))
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    names = max(scale.files, scale.together * scale.together_files)
    with (
        disk_folder() as disk,
        memory_folder(int(SPARE * scale.files), int(SPARE * names)) as memory,
        LoadGenerator() as generator,
    ):
        figures["disk_sync_ms"] = sync_ms(disk)
        with _headgate(disk / "sizes", memory / "sizes", *GRACE) as server:
            figures |= measure_sizes(generator, scale, server)
        shutil.rmtree(memory / "sizes")
        with _headgate(disk / "purges", memory / "purges") as server:
            readers = loads.prepare(server, scale.loaded)
            figures |= measure_together(generator, scale, server, readers)
            with reference(memory / "reference") as theirs:
                figures |= measure_rates(scale, server, theirs)
            figures |= measure_serving(generator, scale, server, readers)
    for key in ("drop_failed", "files_left"):
        figures[key] = sum(count for name, count in figures.items() if name.startswith(key))
    figures["machine"]["load_average_after"] = machine()["load_average"]
    say("done")
    return figures


@contextmanager
def _headgate(disk: Path, memory: Path, *options: str) -> Iterator[Server]:
    """`headgate serve` with its defaults, names on a disk and files in memory."""
    warehouse = ("--set", f"bootstrap.warehouse=file://{memory}")
    with HeadgateServer(disk, *warehouse, *options) as server:
        started = connect(server)
        started.warehouse = memory
        yield started


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks purge", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 files, a few minutes")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures, .svg or .png")
    return parser.parse_args(arguments)
