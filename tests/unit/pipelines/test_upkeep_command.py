"""`headgate pipeline upkeep`: what it is asked for, what it prints, and how it ends."""

import json

import pytest

from headgate.cli.main import run
from headgate.errors import HeadgateError
from headgate.pipelines import upkeep
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.upkeep_outcomes import Done, State, TableUpkeep, UpkeepSummary, summary_of
from headgate.pipelines.upkeep_policy import Step
from headgate.pipelines.upkeep_running import Order

COMMAND = ["pipeline", "upkeep"]
WELL = TableUpkeep("main.a.well", State.HEALTHY)
BETTER = TableUpkeep(
    "main.a.better",
    State.IMPROVED,
    done=[
        Done(Step.EXPIRE, "expire_snapshots", "3 are old", 1.25, {"deleted_data_files_count": 4})
    ],
)
FAILED = TableUpkeep("main.a.bad", State.FAILED, error="no right")


@pytest.fixture(name="asked")
def _asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[upkeep.Wanted, Order]]:
    """What the pipeline was asked for; every run ends with one table that is better."""
    found: list[tuple[upkeep.Wanted, Order]] = []

    def pretend(
        wanted: upkeep.Wanted, order: Order, server: Server, spark: SparkOptions, report: Report
    ) -> UpkeepSummary:
        found.append((wanted, order))
        tables = [WELL, BETTER, FAILED] if wanted.tables else [WELL, BETTER]
        return summary_of(tables, 2.0)

    monkeypatch.setattr(upkeep, "run", pretend)
    return found


def test_without_options_all_is_done_for_all(asked: list[tuple[upkeep.Wanted, Order]]) -> None:
    """Every step, in every catalog."""
    assert run(COMMAND) == 0
    assert asked == [(upkeep.Wanted(), Order(frozenset(Step), is_dry=False))]


def test_schemas_tables_and_steps_can_be_chosen(asked: list[tuple[upkeep.Wanted, Order]]) -> None:
    """Several of each."""
    chosen = ["--catalog", "main", "--schema", "a", "--schema", "b.c", "--table", "d.t"]

    assert run([*COMMAND, *chosen, "--only", "expire, compact", "--dry-run"]) == 1
    assert asked == [
        (
            upkeep.Wanted("main", ("a", "b.c"), ("d.t",)),
            Order(frozenset({Step.EXPIRE, Step.COMPACT}), is_dry=True),
        )
    ]


@pytest.mark.parametrize("only", ["vacuum", "compact,", "compact,vacuum"])
def test_an_unknown_step_is_bad_usage(
    asked: list[tuple[upkeep.Wanted, Order]], capsys: pytest.CaptureFixture[str], only: str
) -> None:
    """The message names those that there are."""
    assert run([*COMMAND, "--only", only]) == 2
    assert "compact, expire, manifests, statistics" in capsys.readouterr().err
    assert asked == []


def test_tables_that_changed_are_told_of(
    asked: list[tuple[upkeep.Wanted, Order]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are well are only counted."""
    run(COMMAND)

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "main.a.better: improved",
        "  expire     3 are old: deleted data files 4 (1.2 s)",
    ]
    assert [line.split() for line in lines[2:4]] == [["looked", "at", "2"], ["healthy", "1"]]


def test_a_dry_run_tells_of_all_tables(
    asked: list[tuple[upkeep.Wanted, Order]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also why nothing is to be done."""
    run([*COMMAND, "--dry-run"])

    assert "main.a.well: healthy" in capsys.readouterr().out


def test_a_failure_is_told_and_ends_with_1(
    asked: list[tuple[upkeep.Wanted, Order]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was done for others is told all the same."""
    assert run([*COMMAND, "--table", "a.bad"]) == 1

    out = capsys.readouterr().out
    assert "main.a.bad: failed: no right" in out
    assert "main.a.better: improved" in out


def test_json_has_every_table(
    asked: list[tuple[upkeep.Wanted, Order]], capsys: pytest.CaptureFixture[str]
) -> None:
    """One object, and nothing else on standard output."""
    assert run([*COMMAND, "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert [one["table"] for one in told["tables"]] == ["main.a.well", "main.a.better"]
    assert told["totals"]["improved"] == 1
    assert told["tables"][1]["done"][0]["counts"] == {"deleted_data_files_count": 4}


def test_a_run_that_cannot_go_on_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""

    def refuse(*_: object) -> UpkeepSummary:
        raise HeadgateError("the server cannot be reached")

    monkeypatch.setattr(upkeep, "run", refuse)

    assert run(COMMAND) == 1
    assert "the server cannot be reached" in capsys.readouterr().err
