"""`headgate pipeline history`: each record of the change log and of an audit once, in SQL."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

from headgate.errors import BadRequest, CatalogNotFound, Conflict, Unavailable
from headgate.pipelines.appends import OnceTable
from headgate.pipelines.history import HistoryOptions, HistorySummary, run
from headgate.pipelines.history_changes import COLUMNS
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.testing.headgate_server import HeadgateServer, environment
from tests.spark.connect import ConnectServer
from tests.spark.killed import run_killed
from tests.spark.questions import asked

pytestmark = [
    pytest.mark.usefixtures("spark"),
    # pyspark leaves the socket of each result to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
SPARK = SparkOptions()
_numbers = itertools.count(1)


@pytest.fixture(name="schema")
def _schema() -> str:
    """A schema that no other test has."""
    return f"history{next(_numbers)}"


def appended(server: Server, schema: str, **more: Any) -> HistorySummary:
    options = HistoryOptions(catalog="main", schema=schema, **more)
    return run(options, server, SPARK, Report(is_quiet=True))


@contextmanager
def looking(server: Server) -> Iterator[SparkSession]:
    with spark_session(SPARK, "look", server, "main", iceberg=True) as session:
        yield session


def rows(server: Server, query: str) -> list[tuple[Any, ...]]:
    with looking(server) as session:
        return [tuple(row) for row in session.sql(query).collect()]


def positions(server: Server, schema: str) -> list[str]:
    query = f"SELECT position FROM hg.{schema}.changes ORDER BY time, position"
    return [position for (position,) in rows(server, query)]


def logged(server: Server) -> list[dict[str, Any]]:
    """The change log as it is now."""
    answer = server.get("/management/v1/changes", metalake="default", limit="1000")
    assert not answer["more"]
    changes: list[dict[str, Any]] = answer["changes"]
    return changes


def is_known(server: Server, schema: str) -> bool:
    """Whether the table has each record of the log once, but for those of its last append."""
    known, all_of = positions(server, schema), [one["position"] for one in logged(server)]
    others = [one["position"] for one in logged(server) if one["name"][0] != schema]
    return len(known) == len(set(known)) and set(others) <= set(known) <= set(all_of)


def test_the_change_log_is_a_table(headgate: Server, catalog: RestCatalog, schema: str) -> None:
    """Every record is there with its columns, and the second run adds what came, and no more."""
    space = f"{schema}_shop"
    catalog.create_namespace(space)
    first = appended(headgate, schema, records_at_once=3)
    catalog.create_namespace((space, "deep"))
    catalog.drop_namespace((space, "deep"))
    second = appended(headgate, schema)
    third = appended(headgate, schema)

    assert is_known(headgate, schema)
    assert first.commits > 1
    assert (second.commits, third.commits, third.changes) == (1, 0, 0)
    query = (
        f"SELECT operation, kind, name, levels, metalake, catalog, actor, details, "
        f"date(time) = current_date() OR hour(time) = 23 FROM hg.{schema}.changes "
        f"WHERE name = '{space}.deep' ORDER BY commit_id"
    )
    same = (f"{space}.deep", [space, "deep"], "default", "main", "anonymous", "{}", True)
    assert rows(headgate, query) == [
        ("create", "namespace", *same),
        ("drop", "namespace", *same),
    ]
    assert rows(headgate, f"SELECT count(*) > 0 FROM hg.{schema}.changes.partitions") == [(True,)]


def test_an_audit_is_a_table(headgate: Server, schema: str, tmp_path: Path) -> None:
    """Lines are rows with types; a rotated file is read to its end, and nothing is repeated."""
    path = tmp_path / "audit.log"
    path.write_text("".join(map(line, range(3))) + line(3)[:9])
    first = appended(headgate, schema, audit=(path,), records_at_once=2)
    with path.open("a") as file:
        file.write(line(3)[9:] + "broken\n")
    path.rename(tmp_path / "audit.log.1")
    path.write_text(line(4))
    second = appended(headgate, schema, audit=(path,))

    assert (first.audit_records, first.audit_lines_unreadable) == (3, 0)
    assert (second.audit_records, second.audit_lines_unreadable) == (2, 1)
    query = f"SELECT request, allowed, levels FROM hg.{schema}.audit WHERE text IS NULL ORDER BY 1"
    assert rows(headgate, query) == [
        (f"r{number}", number % 2 == 0, ["main", "s", f"t{number}"]) for number in range(5)
    ]
    assert rows(headgate, f"SELECT text FROM hg.{schema}.audit WHERE time IS NULL") == [("broken",)]
    with looking(headgate) as session:
        gaps, actors, lives, refused, rights = asked(
            session, "analyse-history.md", "headgate_history", schema
        )
    assert (gaps, actors > 0, lives, refused, rights) == (0, True, 0, 2, 0)


def line(number: int) -> str:
    told = {"time": f"2026-03-0{number + 1}T12:00:00.123Z", "request": f"r{number}"}
    told |= {"principal": "ann", "action": "loadTable", "metalake": "default"}
    return (
        json.dumps({**told, "object": ["main", "s", f"t{number}"], "allowed": number % 2 == 0})
        + "\n"
    )


def test_of_two_appends_from_one_position_one_is_made(headgate: Server, schema: str) -> None:
    """The second one is told, before and after there is a snapshot, and adds nothing."""
    with looking(headgate) as session:
        table = OnceTable(session, headgate, TableName("main", (schema,), "changes"), COLUMNS)
        table.create("a table")
        made = []
        for round in range(2):
            start = table.reached()
            for run in ("a", "b"):
                frame = table.frame([record(f"{round}{run}")])
                made.append(table.append(frame, start, f"{round}{run}"))

        assert made == [True, False, True, False]
        assert table.reached().position == "1a"
        assert sorted(row["position"] for row in table.rows().collect()) == ["0a", "1a"]
        assert table.races == 2


def record(position: str) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(column.name for column in COLUMNS)
    return empty | {"time": 1_800_000_000_000, "position": position, "levels": ["a"]}


def test_a_compaction_does_not_stand_in_the_way(headgate: Server, schema: str) -> None:
    """Who rewrites the table meanwhile keeps no append from being made."""
    with looking(headgate) as session:
        table = OnceTable(session, headgate, TableName("main", (schema,), "changes"), COLUMNS)
        table.create("a table")
        for position in "ab":
            table.append(table.frame([record(position)]), table.reached(), position)
        start = table.reached()
        session.sql(
            f"CALL hg.system.rewrite_data_files(table => '{schema}.changes', "
            "options => map('rewrite-all', 'true'))"
        )

        assert table.reached().snapshot != start.snapshot
        assert table.append(table.frame([record("c")]), start, "c")
        assert sorted(row["position"] for row in table.rows().collect()) == ["a", "b", "c"]


def test_a_lost_position_repeats_nothing(
    headgate: Server, catalog: RestCatalog, schema: str
) -> None:
    """If the snapshot that knew it has expired, all that is kept is compared."""
    appended(headgate, schema)
    lose_position(headgate, f"{schema}.changes")
    catalog.create_namespace(f"{schema}_more")
    summary = appended(headgate, schema, records_at_once=20)

    assert "was lost" in summary.notes[0]
    assert summary.gaps == []
    assert is_known(headgate, schema)


def lose_position(server: Server, name: str) -> None:
    """Let the snapshots expire that know how far a table has come."""
    with looking(server) as session:
        table = f"table => '{name}'"
        rewritten = "options => map('rewrite-all', 'true')"
        session.sql(f"CALL hg.system.rewrite_data_files({table}, {rewritten})")
        kept = "retain_last => 1, older_than => TIMESTAMP '2100-01-01'"
        session.sql(f"CALL hg.system.expire_snapshots({table}, {kept})")


def test_a_lost_position_of_an_audit_repeats_nothing(
    headgate: Server, schema: str, tmp_path: Path
) -> None:
    """Rows tell how far each file was read."""
    path = tmp_path / "audit.log"
    path.write_text("".join(map(line, range(3))))
    appended(headgate, schema, audit=(path,))
    lose_position(headgate, f"{schema}.audit")
    with path.open("a") as file:
        file.write(line(3))
    summary = appended(headgate, schema, audit=(path,))

    assert "was lost" in summary.notes[0]
    assert requests(headgate, schema) == ["r0", "r1", "r2", "r3"]


def test_more_files_than_positions_are_kept_of_repeat_nothing(
    headgate: Server, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that are forgotten, rows tell how far they were read."""
    monkeypatch.setattr("headgate.pipelines.history_audit.FILES_KNOWN_MAX", 2)
    for number in range(4):
        (tmp_path / f"audit.log.{number}").write_text(line(number))
    path = tmp_path / "audit.log"
    appended(headgate, schema, audit=(path,), records_at_once=2)
    path.write_text(line(4))
    appended(headgate, schema, audit=(path,))

    assert requests(headgate, schema) == ["r0", "r1", "r2", "r3", "r4"]


def requests(server: Server, schema: str) -> list[str]:
    query = f"SELECT request FROM hg.{schema}.audit ORDER BY request"
    return [request for (request,) in rows(server, query)]


def test_a_driver_that_is_killed_after_an_append_is_made_good(
    server: HeadgateServer, headgate: Server, catalog: RestCatalog, schema: str
) -> None:
    """SIGKILL between the append and all that follows: the next run goes on behind it."""
    catalog.create_namespace(f"{schema}_shop")
    run_killed(server, "history", "--schema", schema, "--at-once", "3")
    before = positions(headgate, schema)
    appended(headgate, schema)

    assert len(before) == 3
    assert is_known(headgate, schema)


def test_a_table_that_is_something_else_is_left_alone(headgate: Server, schema: str) -> None:
    """Who has a table of this name already is told, and it stays as it is."""
    with looking(headgate) as session:
        session.sql(f"CREATE NAMESPACE hg.{schema}")
        session.sql(f"CREATE TABLE hg.{schema}.changes (id BIGINT) USING iceberg")

    with pytest.raises(Conflict, match="has no column 'time'"):
        appended(headgate, schema)


def test_history_lies_in_s3(s3_lake: HeadgateServer, schema: str) -> None:
    """The same with tables in S3, whose keys the server hands out."""
    server = Server(s3_lake.url)
    appended(server, schema)
    server.post("/iceberg/v1/default.main/namespaces", {"namespace": [f"{schema}_more"]})
    appended(server, schema)

    assert is_known(server, schema)


def test_history_goes_by_spark_connect(
    server: HeadgateServer, headgate: Server, connect_server: ConnectServer, schema: str
) -> None:
    """The same with a client that has no JVM of its own; what it wrote is known elsewhere."""
    remote = connect_server.options.remote
    options = ("--server", server.url, "--catalog", "main", "--schema", schema, "--json")
    command = [sys.executable, "-m", "headgate", "pipeline", "history", "--remote", remote]
    done = subprocess.run(
        [*command, *options], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["commits"]) == (0, 1), done.stderr
    appended(headgate, schema)

    assert is_known(headgate, schema)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"catalog": "nope"}, CatalogNotFound),
        ({"catalog": "main", "audit": (Path("no.log"),)}, BadRequest),
    ],
)
def test_what_cannot_work_is_said_at_once(
    headgate: Server, change: dict[str, Any], error: type[Exception]
) -> None:
    """A catalog or an audit that is not there is an error before Spark does anything."""
    with pytest.raises(error):
        run(HistoryOptions(**change), headgate, SPARK, Report(is_quiet=True))


def test_a_server_that_is_not_there_is_said_at_once() -> None:
    """Nothing listens there."""
    with pytest.raises(Unavailable):
        run(
            HistoryOptions(catalog="main"),
            Server("http://127.0.0.1:1"),
            SPARK,
            Report(is_quiet=True),
        )
