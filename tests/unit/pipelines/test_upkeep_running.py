"""Tables are looked after one by one, step by step, and none harms another."""

import io
from typing import cast

import pytest

from headgate.errors import (
    BadRequest,
    Conflict,
    HeadgateError,
    OutcomeUnknown,
    TableNotFound,
    Unavailable,
    Unsupported,
)
from headgate.pipelines import upkeep
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import LoadedTable
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.upkeep_outcomes import State, TableUpkeep, UpkeepSummary
from headgate.pipelines.upkeep_policy import PREFIX, Step
from headgate.pipelines.upkeep_running import Order
from headgate.testing.manual_clock import ManualClock
from tests.unit.pipelines.upkeep_lake import (
    DELETES,
    EXPIRE,
    MANIFESTS,
    MERGE,
    STATISTICS,
    Lake,
    Table,
)

CONFLICTS = [
    Conflict("Requirement failed: branch main has changed"),
    OutcomeUnknown("the server did not answer"),
    HeadgateError("Spark failed", why="ValidationException: Missing required files to delete"),
    HeadgateError("Spark failed", why="Cannot commit rewrite because of a ValidationException or"),
]
CLOCK = ManualClock()
ALL, ANY = Order(), upkeep.Wanted()


def ill() -> Table:
    """A table that needs everything."""
    table = Table(**{f"{PREFIX}statistics.enabled": "true"})
    table.small, table.superfluous, table.old_snapshots = 40, 20, 8
    table.manifests, table.has_statistics = 60, False
    return table


def lake(**tables: Table) -> Lake:
    return Lake(CLOCK.wall_ms, **tables)


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session is whatever the lake says that it is."""
    monkeypatch.setattr(
        upkeep, "spark_session", lambda _, __, server, *___, **____: cast("Lake", server).session()
    )


def run(on: Lake, order: Order = ALL, wanted: upkeep.Wanted = ANY) -> UpkeepSummary:
    report = Report(is_quiet=True, stream=io.StringIO())
    return upkeep.run(wanted, order, on, SparkOptions(), report, CLOCK)


def only(summary: UpkeepSummary) -> TableUpkeep:
    [table] = summary.tables
    return table


def procedures(on: Lake) -> list[str]:
    return [procedure for _, procedure in on.called]


def test_all_that_is_due_is_done_in_order() -> None:
    """Compaction, superfluous deletes, expiry, manifests, statistics; then the table is well."""
    here = lake(t=ill())

    found = only(run(here))

    assert procedures(here) == [MERGE, DELETES, EXPIRE, MANIFESTS, STATISTICS]
    assert found.state == State.IMPROVED
    assert [one.procedure for one in found.done] == procedures(here)
    assert found.before
    assert found.after
    assert (found.before.snapshots, found.after.snapshots) == (9, 1)
    assert found.rewritten_bytes == 40


def test_a_second_run_does_nothing() -> None:
    """It looks, says why nothing is to be done, and calls no procedure."""
    here = lake(t=ill())
    run(here)
    here.called.clear()

    found = only(run(here))

    assert here.called == []
    assert found.state == State.HEALTHY
    assert not any(one.is_due for one in found.decisions)


def test_a_dry_run_explains_and_does_nothing() -> None:
    """Each decision is there with its reason, and the table stays as it is."""
    here = lake(t=ill())

    summary = run(here, Order(is_dry=True))

    assert here.called == []
    assert only(summary).state == State.DUE
    assert [one.step for one in only(summary).decisions if one.is_due] == [
        Step.COMPACT,
        *Step,
    ]
    assert summary.totals.due == 1


def test_only_the_steps_that_are_wanted_are_done() -> None:
    """Expiry needs no look into manifests."""
    here = lake(t=ill())

    run(here, Order(frozenset({Step.EXPIRE})))

    assert procedures(here) == [EXPIRE]
    assert len(here.statements) == 1


def test_spark_is_not_started_where_the_metadata_says_enough() -> None:
    """A catalog of small tables is looked at in no time."""
    small = Table()
    small.files = 2
    here = lake(t=small, u=small)

    summary = run(here)

    assert here.sessions == 0
    assert summary.totals.healthy == 2


def test_one_session_serves_all_tables_of_a_catalog() -> None:
    """Starting one is what costs."""
    here = lake(t=ill(), u=ill(), v=ill())

    run(here)

    assert here.sessions == 1


def test_a_long_look_at_many_tables_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if all are well."""
    here, clock, stream = lake(t=Table(), u=Table(), v=Table()), ManualClock(), io.StringIO()
    loading = here.load

    def slowly(name: TableName, snapshots: str = "all") -> LoadedTable:
        clock.advance(60_000)
        return loading(name, snapshots)

    monkeypatch.setattr(here, "load", slowly)
    upkeep.run(ANY, ALL, here, SparkOptions(), Report(stream=stream, clock=clock), clock)

    assert stream.getvalue().splitlines() == [
        "tables looked at: 1; now main.a.b.u",
        "tables looked at: 2; now main.a.b.v",
    ]


def test_a_failure_is_reported_and_others_go_on() -> None:
    """The table that failed is left as it is; the next one is looked after."""
    broken, well = ill(), ill()
    broken.failures = [HeadgateError("Spark failed", why="NotFoundException: no such file")]
    here = lake(t=broken, u=well)

    summary = run(here)

    assert here.called[0] == ("t", MERGE)
    assert [name for name, _ in here.called[1:]] == ["u"] * 5
    assert [one.state for one in summary.tables] == [State.FAILED, State.IMPROVED]
    assert summary.tables[0].done[0].error == "NotFoundException: no such file"
    assert summary.totals.failed == 1


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_conflict_with_a_writer_is_tried_again_once(conflict: HeadgateError) -> None:
    """On a new look at the table, since the writer has changed it."""
    table = ill()
    table.failures = [conflict]
    here = lake(t=table)

    found = only(run(here))

    assert procedures(here)[:3] == [MERGE, MERGE, DELETES]
    assert found.state == State.IMPROVED
    assert [one.is_conflict for one in found.done[:2]] == [True, False]


def test_a_second_conflict_is_a_failure() -> None:
    """A table that is written all the time is left for another day."""
    table = ill()
    table.failures = [*CONFLICTS[:2]]
    here = lake(t=table)

    assert only(run(here)).state == State.FAILED
    assert procedures(here) == [MERGE, MERGE]


def test_a_procedure_without_effect_is_not_called_again() -> None:
    """If Iceberg sees it otherwise, it is right."""
    table = Table()
    table.small, table.effects = 90, False
    here = lake(t=table)

    assert only(run(here)).state == State.HEALTHY
    assert procedures(here) == [MERGE]


def test_a_procedure_that_never_ends_the_matter_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three times on one table are enough."""
    table = Table()
    table.small = 90
    monkeypatch.setattr(table, "call", lambda _: {"rewritten_data_files_count": 1})
    here = lake(t=table)

    run(here)

    assert procedures(here) == [MERGE] * 3


def test_a_table_of_hands_off_is_not_touched() -> None:
    """Neither looked into nor changed, also if a schema far above it says so."""
    here = lake(t=ill())
    here.schema_properties = {f"{PREFIX}enabled": "false"}

    assert only(run(here)).state == State.OFF
    assert here.statements == []
    assert here.sessions == 0


def test_hands_off_is_heard_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way ends, and nothing else begins."""
    table = ill()
    here, calling = lake(t=table), table.call

    def call(procedure: str) -> dict[str, object]:
        table.properties[f"{PREFIX}enabled"] = "false"
        return calling(procedure)

    monkeypatch.setattr(table, "call", call)

    assert only(run(here)).state == State.IMPROVED
    assert procedures(here) == [MERGE]


def test_a_table_whose_policy_makes_no_sense_is_left_alone() -> None:
    """The message names the place; other tables are looked after."""
    bad = ill()
    bad.properties[f"{PREFIX}manifests.min-count"] = "few"
    here = lake(t=bad, u=ill())

    summary = run(here)

    assert [one.state for one in summary.tables] == [State.FAILED, State.IMPROVED]
    assert f"{PREFIX}manifests.min-count of table main.a.b.t" in summary.tables[0].error
    assert {name for name, _ in here.called} == {"u"}


def test_a_policy_of_the_catalog_holds_for_its_tables() -> None:
    """It is read with the rights of whoever runs the pipeline."""
    here = lake(t=ill())
    here.catalog_properties = {f"{PREFIX}{step}.enabled": "false" for step in Step}

    assert only(run(here)).decisions[0].reason.endswith("(by catalog main)")
    assert procedures(here) == [STATISTICS]  # the table's own word is nearer


def test_a_table_that_is_dropped_meanwhile_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there when tables were listed, and is not when it is looked at."""
    here = lake(t=ill())

    def drop(*_: object) -> None:
        here.tables_by_name.clear()
        raise TableNotFound("Table does not exist: a.b.t")

    monkeypatch.setattr(here, "load", drop)
    summary = run(here)

    assert only(summary).state == State.GONE
    assert summary.totals.failed == 0


def test_a_table_that_is_dropped_under_a_procedure_is_no_failure_either() -> None:
    """There is nothing left to be kept."""
    table = ill()
    table.failures = [TableNotFound("Table does not exist: a.b.t")]

    assert only(run(lake(t=table))).state == State.GONE


def test_what_no_table_could_survive_ends_the_run() -> None:
    """A server or a Spark that is gone is not reported once for each table."""
    table = ill()
    table.failures = [Unavailable("Spark has ended")]

    with pytest.raises(Unavailable, match="Spark has ended"):
        run(lake(t=table, u=ill()))


def test_a_spark_that_does_not_start_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it no table could be kept."""

    def refuse(*_: object, **__: object) -> None:
        raise Unsupported("Java was not found")

    monkeypatch.setattr(upkeep, "spark_session", refuse)

    with pytest.raises(Unsupported, match="Java was not found"):
        run(lake(t=ill()))


def test_named_tables_are_looked_after_alone() -> None:
    """All others are not even loaded."""
    here = lake(t=ill(), u=ill())

    summary = run(here, wanted=upkeep.Wanted("main", tables=("a.b.u",)))

    assert only(summary).table == "main.a.b.u"


def test_a_table_that_is_not_there_is_named_with_what_to_do() -> None:
    """Whoever mistyped it sees where."""
    with pytest.raises(TableNotFound, match=r"no table main\.a\.b\.nobody.* Check --table"):
        run(lake(t=ill()), wanted=upkeep.Wanted("main", tables=("a.b.nobody",)))


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (upkeep.Wanted("main", tables=("a.b.nobody",)), TableNotFound),
        (upkeep.Wanted("main", tables=("nowhere",)), BadRequest),
        (upkeep.Wanted("main", tables=("a..t",)), BadRequest),
        (upkeep.Wanted(tables=("a.b.t",)), BadRequest),
        (upkeep.Wanted(schemas=("a",)), BadRequest),
    ],
)
def test_a_name_that_means_nothing_is_an_error(
    wanted: upkeep.Wanted, error: type[Exception]
) -> None:
    """What somebody names must be there, and it must be clear where."""
    with pytest.raises(error):
        run(lake(t=ill()), wanted=wanted)


def test_what_came_of_a_table_can_be_read() -> None:
    """A line for the table, one for each step, and how it was and is."""
    lines = list(only(run(lake(t=ill()))).lines())

    assert lines[0] == "main.a.b.t: improved"
    assert lines[1].startswith(
        "  compact    40 of 100 data files are smaller than 402.7 MB; they fit into 0: "
        "rewritten data files 128, rewritten bytes 10 bytes ("
    )
    assert lines[-2:] == [
        "  before     data files 100 (0 bytes), delete files 20, snapshots 9",
        "  after      data files 61 (0 bytes), delete files 0, snapshots 1",
    ]
