"""`headgate work`: it purges what was dropped, ends when it is told to, and serves nobody."""

import asyncio
import json
import logging
import os
import re
import signal
import sys
from pathlib import Path
from typing import Self

import pytest

from headgate.catalog.events import logger as events
from headgate.cli.main import run
from headgate.purge.inspecting import Inspector
from headgate.testing.child import Child
from headgate.testing.headgate_server import environment
from tests.unit.catalog.dropping import HOUR_MS, drop
from tests.unit.cli.stores import opened_store

START_SECONDS = 30.0
STOP_SECONDS = 10.0
Output = pytest.CaptureFixture[str]


def dropped(folder: Path, grace_ms: int = 0) -> int:
    """A store with a table that was dropped while no server ran; the id of its job."""

    async def make() -> int:
        async with opened_store(folder) as node:
            await node.table()
            return await drop(node, grace_ms=grace_ms)

    return asyncio.run(make())


def state_of(folder: Path, job: int) -> str:
    async def look() -> str:
        async with opened_store(folder) as node:
            return (await Inspector(node.kernel).find(job)).state

    return asyncio.run(look())


def files(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder / "warehouse") for name in names]


class Worker:
    """`headgate work` as a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "headgate", "work", "--data", str(folder), *options]
        self.child = Child(command, folder / "log", environment())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until it has said something like that."""
        return self.child.wait_until(
            lambda: re.search(pattern, self.child.said(), re.MULTILINE), START_SECONDS
        )


def test_it_purges_what_was_dropped_and_logs_it(tmp_path: Path) -> None:
    """Nobody serves; the files go, the job is in the history, and SIGTERM ends it well."""
    job = dropped(tmp_path)
    assert files(tmp_path) != []
    with Worker(tmp_path) as worker:
        worker.says("^headgate works$")
        worker.says("INFO headgate.events: purge started: 'default.main.a.t'")
        worker.says(f"purge completed: 'default.main.a.t'.*job={job}")
        assert worker.child.stop(STOP_SECONDS) == 0

    assert files(tmp_path) == []
    assert state_of(tmp_path, job) == "SUCCEEDED"
    assert "headgate stopped" in (tmp_path / "log").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_it_writes_checkpoints_of_the_log(tmp_path: Path) -> None:
    """As a server does, if a file is named; commands accept them."""
    dropped(tmp_path, HOUR_MS)
    kept = tmp_path / "kept.jsonl"
    with Worker(tmp_path, "--set", f"log.checkpoint-file={kept}") as worker:
        worker.says("^headgate works$")
        worker.child.wait_until(lambda: kept.stat().st_size or None, START_SECONDS)
        assert worker.child.stop(STOP_SECONDS) == 0

    assert len(kept.read_bytes().splitlines()) == 1
    assert run(["log", "verify", "--checkpoint", str(kept), "--data", str(tmp_path)]) == 0


def test_it_waits_for_the_end_of_a_grace_period(tmp_path: Path) -> None:
    """Also if it is asked to stop by a person; scripts are told what it is."""
    job = dropped(tmp_path, HOUR_MS)
    with Worker(tmp_path, "--json", "--set", "purger.async.poll-interval-ms=100") as worker:
        said = worker.says(r"^\{.*\}$")
        os.kill(worker.child.pid, signal.SIGINT)
        assert worker.child._process.wait(STOP_SECONDS) == 0

    assert json.loads(said[0])["store"] == str(tmp_path / "headgate.db")
    assert state_of(tmp_path, job) == "PENDING"
    assert files(tmp_path) != []


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--set", "read-only=true"], 2, "headgate work cannot be read-only"),
        (["--read-only"], 2, "no such option '--read-only'"),
        (["--set", "purger.async.worker-threads=0"], 2, "`--set purger.async.worker-threads=4`"),
        (["--backend", "memory:"], 2, "memory: lives only inside of a server"),
        (["--set", "purger=sparc"], 2, "the nearest known name is 'spark'"),
        (["--set", "s3.endpoint=ftp://host"], 2, "setting 's3.endpoint' cannot be used"),
        ([], 1, "there is no store"),
    ],
)
def test_what_it_cannot_work_with_is_refused(
    options: list[str], code: int, said: str, tmp_path: Path, capsys: Output
) -> None:
    """Before anything is made."""
    assert run(["work", "--data", str(tmp_path / "none"), *options]) == code

    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_logged_can_be_chosen(tmp_path: Path) -> None:
    """Otherwise it tells what it does: there is nothing else to see."""
    none = ("--data", str(tmp_path / "none"))
    levels = []
    for options in ([], ["--set", "log.level=error"]):
        run(["work", *none, *options])
        levels.append(events.getEffectiveLevel())

    assert levels == [logging.INFO, logging.ERROR]
