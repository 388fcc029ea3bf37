"""Scale tests with Locust, in their short form. It runs in processes of its own, since it changes
sockets and threads."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.swarm.goals import goals
from benchmarks.swarm.plan import Plan
from benchmarks.swarm.scale import QUICK, Scenario
from benchmarks.swarm.suite import start_locust
from tests.purge.conftest import Servers

ROOT = Path(__file__).parents[2]


def test_many_tables_are_dropped_at_once_while_others_load_and_commit() -> None:
    """No answer is wrong and no file is left, also while others create and drop."""
    command = [sys.executable, "-m", "benchmarks", "swarm", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]

    figures = json.loads(done.stdout)
    assert {goal.key for goal in goals()} <= figures.keys()
    assert [goal.key for goal in goals() if goal.reach == "0" and figures[goal.key]] == []
    assert QUICK.scenarios[0].doomed >= 50


def test_a_wrong_answer_fails_the_whole_run(servers: Servers, tmp_path: Path) -> None:
    """A table is to be dropped that is not there."""
    plan = Plan(
        tables="/iceberg/v1/main/namespaces/nowhere/tables",
        doomed=["nothing"],
        loaded=[],
        readers=0,
        changed=[],
        churners=0,
        begun=str(tmp_path / "begun"),
    )
    scenario = Scenario("concurrent_drops", 1, 0, 0, 0, 0, seconds=3)

    assert start_locust(scenario, plan, servers().url, tmp_path).wait(60) == 1
