"""Pipelines that are interrupted, as by Ctrl-C: one line, and nothing of them is left."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.table import make_table
from headgate.testing.headgate_server import HeadgateServer, environment
from tests.conftest import FULL
from tests.spark.purging import CONF, sets

LINE = "headgate: interrupted\n"
PROGRESS = re.compile(r"^.* \d+:\d\d\n", re.MULTILINE)
SECONDS_MAX = 120.0
SPOKEN = [part for name, text in CONF.items() for part in ("--conf", f"{name}={text}")]
STUCK = """
import sys, time
from headgate.cli.main import run
from headgate.pipelines import sweep
def stuck(batches):
    time.sleep(600)
    yield from batches
async def work(order, store, spark, report, shares):
    with report.stage("stuck", spark=spark):
        spark.range(1).mapInArrow(stuck, "id long").collect()
sweep._run = work
sys.exit(run(sys.argv[1:]))
"""
"""A pipeline that waits for a task."""


class Started:
    """A command in a process of its own, and in a group of its own as on a terminal."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._said = folder / "stderr"
        self._folder = folder
        with self._said.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                env={**environment(), "TMPDIR": str(folder)},
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                process_group=0,
            )

    def below(self) -> list[psutil.Process]:
        """All processes that it started, and those that these started."""
        return psutil.Process(self._process.pid).children(recursive=True)

    def await_one(self, is_it: Callable[[list[str]], bool]) -> None:
        """Until there is a process with such a command line."""
        until = time.monotonic() + SECONDS_MAX
        while not any(is_it(line) for line in map(_command, self.below())):
            assert self._process.poll() is None, self._said.read_text()
            assert time.monotonic() < until
            time.sleep(0.01)

    def interrupted(self, number: int) -> tuple[int, str]:
        """Its exit code and what it said then, besides how far it is, when its group was sent this;
        nothing of it is left."""
        below = self.below()
        assert below
        before = self._said.stat().st_size
        os.killpg(self._process.pid, number)
        code = self._process.wait(SECONDS_MAX)
        assert psutil.wait_procs(below, 3.0)[1] == []
        assert list(self._folder.glob("headgate-spark-*")) == []
        said = self._said.read_bytes()[before:].decode()
        return code, PROGRESS.sub("", said)


def is_script(line: list[str]) -> bool:
    """What starts Spark."""
    return any(word.endswith("spark-class") for word in line)


def is_machine(line: list[str]) -> bool:
    """Spark itself."""
    return "org.apache.spark.deploy.SparkSubmit" in line


def is_task(line: list[str]) -> bool:
    """Python that works for Spark."""
    return "pyspark.daemon" in line


MOMENTS = [(is_script, signal.SIGINT), (is_machine, signal.SIGTERM), (is_task, signal.SIGINT)]
if FULL:
    MOMENTS += [(is_script, signal.SIGTERM), (is_machine, signal.SIGINT), (is_task, signal.SIGTERM)]


@pytest.mark.parametrize(("when", "number"), MOMENTS)
def test_an_interrupted_pipeline_says_so_and_leaves_nothing(
    tmp_path: Path, when: Callable[[list[str]], bool], number: int
) -> None:
    """While Spark starts, at first and later, and while a task is waited for."""
    words = ("pipeline", "sweep", "--data", str(tmp_path / "lake"), "--master", "local[1]")
    started = Started(tmp_path, "-c", STUCK, *words, *SPOKEN)
    started.await_one(when)

    assert started.interrupted(number) == (1, LINE)


@pytest.mark.parametrize("when", [is_script, is_task] if FULL else [is_task])
def test_an_interrupted_purge_leaves_no_driver(
    tmp_path: Path, when: Callable[[list[str]], bool]
) -> None:
    """Its Spark belongs to a process of its own."""
    with HeadgateServer(tmp_path / "server", *sets({"purger.async.worker-threads": "0"})) as server:
        catalog = Catalog(server.iceberg_url, warehouse="main")
        made = make_table(catalog, ("shop", "large"), 20_000)
        catalog.ask("DELETE", f"{made.path}?purgeRequested=true")
        words = ("pipeline", "purge", "--server", server.url, "--master", "local[1]")
        started = Started(tmp_path, "-m", "headgate", *words, *SPOKEN)
        started.await_one(when)

        assert started.interrupted(signal.SIGINT) == (1, LINE)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
