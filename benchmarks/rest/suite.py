"""The suite of the REST server: `python -m benchmarks rest [--quick] [--json] [--plot FILE]`."""

import argparse
import importlib
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.kernel import machine
from benchmarks.report import rounded, table
from benchmarks.rest import commits, loads
from benchmarks.rest.goals import GOALS
from benchmarks.rest.growth import measure_growth
from benchmarks.rest.jobs import job
from benchmarks.rest.load import LoadGenerator
from benchmarks.rest.loads import Loaded
from benchmarks.rest.scale import FULL, QUICK, SMOKE, Scale
from benchmarks.rest.servers import bound, headgate, reference
from benchmarks.rest.starting import measure_starts
from benchmarks.rest.tree import measure_tree, tree_table
from benchmarks.stores import disk_folder, say, sync_ms
from headgate.testing import maven


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    try:
        maven.java()
        maven.class_path()
    except RuntimeError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    figures = rounded(run(scale))
    if options.plot:
        plot = importlib.import_module("benchmarks.rest.plot")  # matplotlib is needed here only
        plot.draw(figures, options.plot)
        say(f"plot written to {options.plot}")
    if options.json:
        print(json.dumps(figures))
    else:
        print(table(figures, GOALS), tree_table(figures["tree"]), sep="\n\n")
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    with disk_folder() as folder, LoadGenerator() as generator:
        figures["disk_sync_ms"] = sync_ms(folder)
        figures |= measure_starts(scale, folder)
        figures |= _compare(scale, folder, generator)
        figures |= measure_growth(generator, scale, folder)
    figures["machine"]["load_average_after"] = machine()["load_average"]
    say("done")
    return figures


def _compare(scale: Scale, folder: Path, generator: LoadGenerator) -> dict[str, Any]:
    """All that is measured of ours and of the reference, both running all the time."""
    with ExitStack() as stack:
        ours = stack.enter_context(headgate(folder / "headgate"))
        theirs = stack.enter_context(reference(folder / "reference"))
        ours_jobs, their_jobs = (loads.prepare(server, scale.tables) for server in (ours, theirs))
        size = ours_jobs[0].length
        least = stack.enter_context(bound(folder / "bound", size))
        constant = [job("GET", ours.base + "/constant", length=size, label="constant")]
        loaded: list[Loaded] = [(ours, ours_jobs), (theirs, their_jobs), (least, constant)]
        figures = loads.measure_loads(generator, scale, loaded)
        figures |= loads.measure_reads(ours, ours_jobs, generator)
        changed = [(server, commits.prepare(server, scale)) for server in (ours, theirs)]
        figures |= commits.measure_commits(generator, scale, changed)
        figures |= commits.measure_histories(generator, scale, ours)
        return figures | measure_tree(generator, scale, (ours, theirs))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks rest", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter rounds, a few minutes")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures, .svg or .png")
    return parser.parse_args(arguments)
