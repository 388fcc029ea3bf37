"""Scale tests with Locust: `python -m benchmarks swarm [--quick] [--json]`.

A server is started, tables are made, Locust runs in a process of its own, and in the end the
storage is looked at. The exit code is 1 if an answer was wrong or a file is left.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.kernel import machine
from benchmarks.purge.memory import files_below, memory_folder
from benchmarks.report import rounded, table
from benchmarks.stores import disk_folder, say
from benchmarks.swarm.goals import ANSWERS, goals, key
from benchmarks.swarm.plan import VARIABLE, Plan
from benchmarks.swarm.scale import FULL, QUICK, Scale, Scenario
from benchmarks.swarm.tables import NAMESPACE, Doomed, make_doomed, make_empty
from headgate.pipelines.fixtures.catalog import Catalog, make_namespace
from headgate.pipelines.fixtures.places import LocalPlace
from headgate.testing.headgate_server import HeadgateServer

ROOT = Path(__file__).parents[2]
WAREHOUSE = "main"
SPARE_SECONDS = 60.0  # that Locust may take to start and to end
GONE_SECONDS_MAX = 600.0
POLL_SECONDS = 0.02


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    try:
        figures = rounded(run(QUICK if options.quick else FULL))
    except RuntimeError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    print(json.dumps(figures) if options.json else table(figures, goals()))
    return 1 if any(figures[key(name, "files_left")] for name in ANSWERS) else 0


def run(scale: Scale) -> dict[str, Any]:
    """All figures of one run."""
    figures: dict[str, Any] = {"scale": scale.name, "machine": machine()}
    files = max(one.doomed * one.files for one in scale.scenarios)
    with disk_folder() as disk, memory_folder(files // 2, 2 * files) as memory:
        warehouse = f"bootstrap.warehouse=file://{memory}"
        with HeadgateServer(disk, "--set", warehouse) as server:
            catalog = Catalog(server.iceberg_url, warehouse=WAREHOUSE)
            make_namespace(catalog, NAMESPACE)
            loaded = [make_empty(catalog, f"loaded_{number}") for number in range(scale.loaded)]
            for scenario in scale.scenarios:
                figures |= _play(scenario, server, catalog, loaded, disk)
    say("done")
    return figures


def _play(
    scenario: Scenario, server: HeadgateServer, catalog: Catalog, loaded: list[str], folder: Path
) -> dict[str, Any]:
    say(f"{scenario.name}: {scenario.doomed} tables of {scenario.files:,} files")
    place, name = LocalPlace(link=True), scenario.name
    doomed = [
        make_doomed(catalog, f"{name}_{number}", scenario.files, place)
        for number in range(scenario.doomed)
    ]
    plan = Plan(
        tables=f"/iceberg/v1/{WAREHOUSE}/namespaces/{NAMESPACE}/tables",
        doomed=[one.name for one in doomed],
        loaded=loaded,
        readers=scenario.readers,
        changed=[
            make_empty(catalog, f"{name}_changed_{number}") for number in range(scenario.committers)
        ],
        churners=scenario.churners,
        begun=str(folder / f"{name}_begun"),
    )
    files = sum(files_below(one.folder) for one in doomed)
    locust = start_locust(scenario, plan, server.url, folder)
    try:
        _wait(locust, doomed)
        ended = time.time()
        if locust.wait(scenario.seconds + SPARE_SECONDS):
            raise RuntimeError(f"{name}: an answer was wrong, or not every table was dropped")
    finally:
        locust.kill()
    return _answers(name, folder / f"{name}_stats.csv") | {
        key(name, "files"): files,
        key(name, "files_left"): sum(files_below(one.folder) for one in doomed),
        key(name, "purged_seconds"): ended - Path(plan.begun).stat().st_mtime,
    }


def start_locust(
    scenario: Scenario, plan: Plan, url: str, folder: Path
) -> "subprocess.Popen[bytes]":
    """Locust as a process of its own; it fails if an answer is wrong."""
    written = folder / f"{scenario.name}.json"
    written.write_bytes(msgspec.json.encode(plan))
    command = [
        *(sys.executable, "-m", "locust", "--headless", "--only-summary"),
        *("-f", str(Path(__file__).with_name(f"{scenario.name}.py"))),
        *("--host", url, "--csv", str(folder / scenario.name)),
        *("-u", str(plan.clients), "-r", str(plan.clients), "-t", f"{scenario.seconds}s"),
    ]
    environment = os.environ | {VARIABLE: str(written), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=sys.stderr, cwd=folder)


def _wait(locust: "subprocess.Popen[bytes]", doomed: list[Doomed]) -> None:
    """Until no file is left, or it is certain that some will be."""
    left, deadline = [one.folder for one in doomed], time.monotonic() + GONE_SECONDS_MAX
    while left := [folder for folder in left if folder.exists()]:
        if locust.poll() or time.monotonic() > deadline:
            return
        time.sleep(POLL_SECONDS)


def _answers(scenario: str, stats: Path) -> dict[str, Any]:
    """What Locust has counted."""
    with stats.open(encoding="utf-8") as lines:
        rows = {row["Name"]: row for row in csv.DictReader(lines)}
    figures: dict[str, Any] = {
        key(scenario, "failed"): int(rows["Aggregated"]["Failure Count"]),
        key(scenario, "requests"): int(rows["Aggregated"]["Request Count"]),
    }
    for name in ANSWERS[scenario]:
        figures[key(scenario, name, "rps")] = float(rows[name]["Requests/s"])
        figures[key(scenario, name, "p50_ms")] = float(rows[name]["50%"])
        figures[key(scenario, name, "p99_ms")] = float(rows[name]["99%"])
    return figures


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks swarm", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few files and a few seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)
