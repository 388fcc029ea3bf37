"""`headgate pipeline sweep`: what it refuses before Spark starts, and what it hands over."""

from pathlib import Path
from typing import Any

import pytest

from headgate.cli.main import run
from headgate.maintenance.extent import Wanted
from headgate.maintenance.running import SPARK, Order
from headgate.maintenance.runs import Counts
from headgate.maintenance.views import State
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.sweep import SweepSummary

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--backend", "memory:"], "memory: lives only inside of a server"),
        (["--master", "spark://h:7077"], "executors on other machines do not see the file"),
        (["--remote", "sc://h:15002"], "executors on other machines do not see the file"),
        (["--set", "maintenance.grace-seconds=1"], "maintenance.grace-seconds"),
    ],
)
def test_what_cannot_work_is_refused(
    tmp_path: Path, capsys: Output, words: list[str], said: str
) -> None:
    """In one line."""
    assert run(["pipeline", "sweep", "--data", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("state", "code"), [(State.DONE, 0), (State.FAILED, 1)])
def test_what_is_to_be_done_is_handed_over(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, state: State, code: int
) -> None:
    """The order is that of any sweep; the summary is printed."""
    given: list[Any] = []

    def swept(*arguments: Any) -> SweepSummary:
        given.extend(arguments)
        return SweepSummary("7", state, True, 1.5, Counts(scanned=12), ())

    monkeypatch.setattr("headgate.pipelines.sweep.run", swept)
    words = ["--sweep", "a", "--dry-run", "--shares", "3", "--conf", "x=y", "--debug", "--json"]
    assert run(["pipeline", "sweep", "--data", str(tmp_path), *words]) == code

    order, store, spark, _, shares = given
    assert isinstance(order, Order)
    assert (order.engine, order.is_dry, order.wanted) == (SPARK, True, Wanted(frozenset({"a"})))
    assert store.place["data"] == str(tmp_path)
    assert (spark, shares) == (SparkOptions(conf={"x": "y"}, debug=True), 3)
    assert '"scanned":12' in capsys.readouterr().out
