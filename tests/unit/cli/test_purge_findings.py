"""What `headgate doctor` finds of purges."""

import asyncio
from pathlib import Path

import pytest

from headgate.cli.main import run
from headgate.cli.purge_findings import found_of_purger
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.settings.loading import load
from tests.unit.catalog.dropping import drop
from tests.unit.cli.stores import opened_store
from tests.unit.purge.rows import write_row

LOADED = "the purger 'async' can be loaded; "
BY_SPARK = "the purger 'spark' can be loaded; "
WORKERS = "processes of `headgate work`"


def make_store(folder: Path, dead: int) -> None:
    """A store with three jobs, of which the first so many failed too often."""

    async def make() -> None:
        async with opened_store(folder) as node:
            for number in range(3):
                await node.table(f"t{number}")
                job = await drop(node, f"t{number}", grace_ms=0)
                if number < dead:
                    await write_row(node, job, JobRow(State.DEAD_LETTER, attempts=5))

    asyncio.run(make())


@pytest.mark.parametrize(
    ("dead", "said"),
    [
        (0, "ok    purges     3 are not done, none failed for good\n"),
        (2, "warn  purges     2 failed for good and wait for an operator, the oldest that of "),
        (2, "default.main.a.t0, dropped 20"),
        (2, "; `headgate jobs list --state DEAD_LETTER --data {folder}` shows them\n"),
    ],
)
def test_purges_that_wait_for_an_operator_are_told(
    dead: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many, the oldest, and the command that shows them; the store is well all the same."""
    make_store(tmp_path, dead)
    run(["doctor", "--data", str(tmp_path), "--set", "http.port=0"])

    assert said.format(folder=tmp_path) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([], f"{LOADED}a process purges 4 tables at a time"),
        (["purger.async.worker-threads=0"], f"{LOADED}servers leave all tables to {WORKERS}"),
        (
            ["purger=spark", "purger.async.worker-threads=0"],
            f"{BY_SPARK}servers leave all tables to {WORKERS} or `headgate pipeline purge`",
        ),
    ],
)
def test_who_purges_is_told(sets: list[str], said: str) -> None:
    """Also if servers do not."""
    assert [(one.ok, one.text) for one in found_of_purger(load(sets=sets))] == [(True, said)]


def test_of_a_purger_that_cannot_be_loaded_the_settings_tell() -> None:
    """Once is enough."""
    assert list(found_of_purger(load(sets=["purger=nobody:Knows"]))) == []
