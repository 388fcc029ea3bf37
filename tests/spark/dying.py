"""Pipelines on a standalone cluster, of which an executor is killed once in the middle."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from headgate.testing.headgate_server import HeadgateServer, environment
from tests.spark.cluster import SparkCluster
from tests.spark.killed import OF_NO_CATALOG

CHILD_SECONDS_MAX = 400.0
DYING = """
import os, psutil, sys
from headgate.cli.pipeline import pipeline
mark = sys.argv.pop(1)
def die():
    if not os.path.exists(mark):
        open(mark, "x").close()
        executor = psutil.Process().parent()
        while "java" not in executor.name():
            executor = executor.parent()
        executor.kill()
def dying(work):
    def done(*arguments):
        found = work(*arguments)
        die()
        return found
    return done
"""
MEASURING = """
from headgate.pipelines import inventory_measuring
inventory_measuring.measure = dying(inventory_measuring.measure)
"""
"""When it has measured a table."""
WRITING = """
from headgate.pipelines import export
export.write_pieces = dying(export.write_pieces)
"""
"""When it has written its files."""
SENDING = """
from headgate.pipelines import import_
import_.send_files = dying(import_.send_files)
"""
"""When it has sent its rows."""
APPENDING = """
from headgate.pipelines.appends import OnceTable
frame = OnceTable.frame
def passed(batches):
    yield from batches
    die()
def passing(*arguments):
    rows = frame(*arguments)
    return rows.mapInArrow(passed, rows.schema)
OnceTable.frame = passing
"""
"""When it has all rows that it is to write."""
REMOVING = """
from headgate.pipelines import orphans_removal
remove_files = orphans_removal.remove_files
def removing(where, batches):
    for batch in remove_files(where, batches):
        die()
        yield batch
orphans_removal.remove_files = removing
"""
"""When it has deleted some orphans."""
RUN = "pipeline.main(sys.argv[1:])"


def run_on(
    cluster: SparkCluster,
    server: HeadgateServer,
    *arguments: str,
    program: tuple[str, ...] = ("-m", "headgate", "pipeline"),
) -> dict[str, Any]:
    """The summary of a pipeline on a cluster."""
    options = cluster.options()
    conf = [word for pair in options.conf.items() for word in ("--conf", "=".join(pair))]
    where = () if arguments[0] in OF_NO_CATALOG else ("--catalog", "main")
    told = ("--server", server.url, *where, "--json", "--master", options.master)
    done = subprocess.run(
        [sys.executable, *program, *arguments, *told, *conf],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=CHILD_SECONDS_MAX,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def run_dying(
    how: str, cluster: SparkCluster, server: HeadgateServer, mark: Path, *arguments: str
) -> dict[str, Any]:
    """The same, while an executor is killed; then there is the file `mark`."""
    program = ("-c", DYING + how + RUN, str(mark))
    summary = run_on(cluster, server, *arguments, program=program)
    assert mark.exists()
    return summary
