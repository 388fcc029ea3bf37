"""The suite of authorization: `python -m benchmarks authz [--quick] [--json] [--plot FILE]`."""

import argparse
import asyncio
import importlib
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.authz.checks import measure_checks
from benchmarks.authz.goals import GOALS
from benchmarks.authz.nodes import ON, Nodes, started
from benchmarks.authz.rates import Rates
from benchmarks.authz.reads import measure_reads
from benchmarks.authz.revoking import measure_revokes
from benchmarks.authz.scale import FULL, QUICK, SMOKE, Scale
from benchmarks.authz.store import fill
from benchmarks.kernel import machine
from benchmarks.report import rounded, table
from benchmarks.rest import loads
from benchmarks.rest.load import LoadGenerator
from benchmarks.rest.servers import headgate
from benchmarks.stores import disk_folder, say, sync_ms


class Prepared(NamedTuple):
    """A store that all servers share."""

    data: Path
    base: str
    """The path that all operations of its catalog begin with."""
    paths: list[str]
    """Tables to load."""
    mixes: dict[str, list[str]]
    """Users to list, by what they may."""


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    figures = rounded(run(scale))
    if options.plot:
        plot = importlib.import_module("benchmarks.authz.plot")  # matplotlib is needed here only
        plot.draw(figures, options.plot)
        say(f"plot written to {options.plot}")
    print(json.dumps(figures) if options.json else table(figures, GOALS))
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    with disk_folder() as folder:
        figures["disk_sync_ms"] = sync_ms(folder)
        figures |= measure_checks(scale)
        figures |= _measure_servers(scale, folder, _prepared(scale, folder))
    figures["machine"]["load_average_after"] = machine()["load_average"]
    say("done")
    return figures


def _prepared(scale: Scale, folder: Path) -> Prepared:
    """Tables come through the server, the long list and the users past it."""
    with headgate(folder) as server:
        paths = [server.base + path for path in loads.make_tables(server, scale.tables)]
        base = server.base
    data = folder / "data"
    say(f"{scale.listed:,} tables to list, {scale.users} users")
    return Prepared(data, base, paths, asyncio.run(fill(data, scale)))


def _measure_servers(scale: Scale, folder: Path, store: Prepared) -> dict[str, Any]:
    """All that takes servers; the second node is gone when others are compared."""
    with ExitStack() as stack:
        generator = stack.enter_context(LoadGenerator())
        on = stack.enter_context(started("on", folder, store.data, *ON))
        off = stack.enter_context(started("off", folder, store.data))
        with started("second", folder, store.data, *ON) as second:
            nodes = Nodes(on, off, second)
            figures = measure_reads(nodes, store.paths, store.mixes["tables"][0])
            figures |= measure_revokes(scale, nodes, store.paths[0])
        rates = Rates(generator, scale, on, off)
        figures |= rates.of_loads(store.paths) | rates.of_lists(store.base, store.mixes)
    failed = [count for key, count in figures.items() if "_failed_" in key]
    return figures | {"rates_failed": sum(failed)}


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks authz", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter rounds, under a minute")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures, .svg or .png")
    return parser.parse_args(arguments)
