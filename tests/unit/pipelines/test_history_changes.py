"""The change log is appended once, whoever is killed, whoever else is at it, whatever is cut."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec
import pytest

from headgate.errors import BadRequest, LogCut
from headgate.pipelines.appends import OnceTable, Reached
from headgate.pipelines.history import OwnNames
from headgate.pipelines.history_changes import (
    LOST,
    Change,
    ChangeHistory,
    ChangeReader,
    Position,
    gap_row,
    read_position,
    row_of,
)
from headgate.pipelines.server import Server

NOW_MS = 1_000_000
OWN = OwnNames("main", ("headgate_history",))


class Log:
    """A server with a change log of one pointer; cursors are places in it."""

    metalake = "lake"

    def __init__(self, records: int = 0) -> None:
        self.records: list[dict[str, Any]] = []
        self.begin = 0
        self.asked = 0
        for _ in range(records):
            self.add()

    def add(self, **more: Any) -> None:
        number = len(self.records)
        record = {"position": f"r/p/{number}.1", "commit": str(number + 1), "time-ms": number}
        record |= {"do": "create", "kind": "table", "name": ["s", f"t{number}"]}
        self.records.append(record | more)

    def add_own(self, times: int = 1) -> None:
        for _ in range(times):
            self.add(do="alter", catalog="main", name=["headgate_history", "changes"])

    def get(self, path: str, **query: str) -> Any:
        assert (path, query["metalake"]) == ("/management/v1/changes", "lake")
        self.asked += 1
        named = {"oldest": self.begin, "now": len(self.records)}
        since, limit = query["since"], int(query["limit"])
        at = named[since] if since in named else int(since)
        if at < self.begin:
            raise LogCut("the log cannot be read on", why=f"{self.begin} is the oldest")
        end = min(at + limit, len(self.records))
        return {
            "changes": self.records[at:end],
            "next": str(end),
            "more": end < len(self.records),
        }


class Killed(Exception):
    """The run ends here."""


class Table:
    """A table as the pipeline sees it, which can kill it around an append or be faster."""

    def __init__(self) -> None:
        self.there: list[dict[str, Any]] = []
        self.now = Reached()
        self.plan: list[str] = []
        self.on_append: Callable[[], None] = lambda: None

    def reached(self) -> Reached:
        return self.now

    def frame(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return rows

    def known(self, rows: Sequence[dict[str, Any]], column: str) -> set[str]:
        return {row[column] for row in self.there} & {row[column] for row in rows}

    def append(self, rows: Sequence[dict[str, Any]], reached: Reached, position: str) -> bool:
        what = self.plan.pop(0) if self.plan else ""
        if what == "killed before":
            raise Killed
        if reached.snapshot != self.now.snapshot:
            return False
        self.there += rows
        self.now = Reached((reached.snapshot or 0) + 1, position)
        self.on_append()
        if what == "killed after":
            raise Killed
        return True

    def compact(self) -> None:
        """Somebody rewrites the table; the snapshot that knew the position expires."""
        self.now = Reached((self.now.snapshot or 0) + 1)

    @property
    def positions(self) -> list[str]:
        return [row["position"] for row in self.there if row["operation"] != "gap"]

    @property
    def gaps(self) -> list[dict[str, Any]]:
        return [row for row in self.there if row["operation"] == "gap"]


def history(log: Log, table: Table) -> ChangeHistory:
    reader = ChangeReader(cast("Server", log))
    return ChangeHistory(cast("OnceTable", table), reader, OWN.has_changed, NOW_MS)


def run(log: Log, table: Table, size: int = 10) -> ChangeHistory:
    made = history(log, table)
    made.append(size, lambda _rows: None)
    return made


def positions(log: Log, begin: int = 0) -> list[str]:
    return [one["position"] for one in log.records[begin:]]


def test_all_records_come_in_batches_and_once() -> None:
    """Two runs after each other append each record once, some at once."""
    log, table = Log(25), Table()
    first = run(log, table)
    log.add()
    second = run(log, table)

    assert table.positions == positions(log)
    assert (first.done.records, first.done.commits, second.done.records) == (25, 3, 1)


def test_a_run_with_nothing_new_writes_nothing() -> None:
    """The same once more makes no commit."""
    log, table = Log(3), Table()
    run(log, table)
    before = table.now

    assert run(log, table).done.commits == 0
    assert table.now == before


def test_its_own_appends_wait_for_something_else() -> None:
    """A log with nothing new but the traces of earlier runs is left as it is, and loses nothing."""
    log, table = Log(3), Table()
    table.on_append = log.add_own
    run(log, table)
    runs = [run(log, table).done.commits for _ in range(3)]
    log.add()
    run(log, table)

    assert runs == [0, 0, 0]
    assert table.positions == positions(log)[:-1]


def test_a_run_ends_where_the_log_ended_when_it_began() -> None:
    """Appends that are followed by as many new records do not keep a run for ever."""
    log, table = Log(25), Table()
    table.on_append = lambda: log.add_own(12)
    made = run(log, table)

    assert made.done.records < 50
    assert table.positions == positions(log)[: len(table.positions)]
    assert len(table.positions) >= 25


@pytest.mark.parametrize("when", ["killed before", "killed after"])
def test_a_run_that_was_killed_is_made_good(when: str) -> None:
    """Whether the second append was made or not, the next run goes on behind it."""
    log, table = Log(25), Table()
    table.plan = ["", when]
    with pytest.raises(Killed):
        run(log, table)
    run(log, table)

    assert table.positions == positions(log)


def test_of_two_runs_one_appends() -> None:
    """Who reads the same position and comes second reads again, and repeats nothing."""
    log, table = Log(25), Table()
    late = history(log, table)
    began = table.append

    def raced(rows: Sequence[dict[str, Any]], reached: Reached, position: str) -> bool:
        table.append = began  # type: ignore[method-assign]
        run(log, table)
        return began(rows, reached, position)

    table.append = raced  # type: ignore[method-assign]
    late.append(10, lambda _rows: None)

    assert table.positions == positions(log)
    assert late.done.records == 0


def test_what_was_cut_is_a_gap_and_nothing_else_is_repeated() -> None:
    """Records that nobody can read any more are told of; those that are kept come once."""
    log, table = Log(5), Table()
    run(log, table)
    for _ in range(20):
        log.add()
    log.begin = 12
    made = run(log, table, size=4)

    assert table.positions == positions(log)[:5] + positions(log, 12)
    assert len(table.gaps) == 1
    assert "12 is the oldest" in table.gaps[0]["details"]
    assert made.done.gaps == ["the log cannot be read on: 12 is the oldest"]
    assert made.done.records == 13
    assert run(log, table).done.gaps == []


def test_a_cut_before_what_is_known_repeats_nothing() -> None:
    """If the log begins before the last known record by then, those are recognised."""
    log, table = Log(10), Table()
    run(log, table)
    log.begin = 4
    table.now = Reached(7, msgspec.json.encode(Position("2")).decode())
    run(log, table)

    assert table.positions == positions(log)
    assert len(table.gaps) == 1


def test_a_lost_position_costs_a_comparison() -> None:
    """Without the snapshot that knew the position, all is compared, and nothing is repeated."""
    log, table = Log(25), Table()
    run(log, table)
    table.compact()
    log.add()
    made = run(log, table)

    assert made.done.notes == [LOST]
    assert table.positions == positions(log)
    assert read_position(table.now) == Position("26")


def test_a_comparison_that_was_killed_goes_on() -> None:
    """Each append of a comparison says that the rest has to be compared too."""
    log, table = Log(25), Table()
    run(log, table, size=5)
    table.compact()
    del table.there[7:9], table.there[17:]
    table.plan = ["killed after"]
    with pytest.raises(Killed):
        run(log, table, size=5)

    assert read_position(table.now).again
    run(log, table, size=5)
    assert sorted(table.positions) == sorted(positions(log))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_each_record_comes_once(seed: int) -> None:
    """Random kills, cuts, compactions and new records: no loss without a gap, no repetition."""
    print(f"seed {seed}")
    chance, log, table = random.Random(seed), Log(20), Table()
    cut = 0
    for _ in range(12):
        table.plan = [chance.choice(["", "killed before", "killed after"]) for _ in range(3)]
        with suppress(Killed):
            run(log, table, size=chance.randint(1, 8))
        for _ in range(chance.randint(0, 9)):
            log.add() if chance.random() < 0.5 else log.add_own()
        if chance.random() < 0.2:
            table.compact()
        if chance.random() < 0.2:
            log.begin = cut = chance.randint(log.begin, len(log.records))
    table.plan = []
    log.add()
    run(log, table)

    assert len(table.positions) == len(set(table.positions))
    assert set(positions(log, cut)) <= set(table.positions)
    begin = min(map(positions(log).index, table.positions))
    assert set(table.positions) == set(positions(log, begin)) or table.gaps


def test_a_long_cursor_is_sent_in_a_body() -> None:
    """One that is too long for an address goes by POST."""
    sent: list[Any] = []

    class Recorder(Log):
        def post(self, path: str, body: dict[str, Any]) -> Any:
            sent.append((path, len(body["since"]), body["limit"], body["metalake"]))
            return {"changes": [], "next": "0", "more": False}

    reader = ChangeReader(cast("Server", Recorder()))
    reader.batch(Position("x" * 3_000), 7)

    assert sent == [("/management/v1/changes", 3_000, 7, "lake")]


def test_a_log_that_is_cut_while_all_of_it_is_read_says_so() -> None:
    """There is nothing to fall back to, so the run ends with the server's own words."""

    class Vanishing(Log):
        def get(self, path: str, **query: str) -> Any:
            if query["since"] == "oldest":
                raise LogCut("it is being cut")
            return super().get(path, **query)

    reader = ChangeReader(cast("Server", Vanishing()))

    with pytest.raises(LogCut):
        reader.batch(Position(), 10)


def test_the_log_of_a_metalake_that_was_imported_is_read_from_its_beginning() -> None:
    """It has none of the old one, whose positions mean nothing: that is said once, as a gap."""

    class Moved(Log):
        def get(self, path: str, **query: str) -> Any:
            if query["since"] == "3":
                raise BadRequest("Cannot read", why="the cursor is of another metalake")
            return super().get(path, **query)

    table = Table()
    run(Log(3), table)
    moved = Moved()
    for number in range(5):
        moved.add(position=f"new/{number}")
    made = run(moved, table)
    again = run(moved, table)

    assert table.positions[3:] == positions(moved)
    assert len(table.gaps) == 1
    [gap] = made.done.gaps
    assert gap == "the log is another one: Cannot read: the cursor is of another metalake"
    assert (again.done.gaps, again.done.records) == ([], 0)


def test_a_request_that_cannot_be_understood_is_an_error() -> None:
    """If even the beginning of the log cannot be asked for."""

    class Odd(Log):
        def get(self, path: str, **query: str) -> Any:
            if query["since"] == "oldest":
                raise BadRequest("no")
            return super().get(path, **query)

    with pytest.raises(BadRequest):
        ChangeReader(cast("Server", Odd())).batch(Position(), 10)


def test_a_record_becomes_a_row() -> None:
    """Names are there joined and apart, details as JSON, the id as a number."""
    change = Change(
        position="r/p/3.1",
        commit="771",
        time_ms=5,
        do="rename",
        kind="table",
        name=("a.b", "t"),
        metalake="lake",
        catalog="main",
        to=("a.b", "u"),
        by="ann",
        details={"x": ["<", 1]},
    )

    assert row_of(change) == {
        "time": 5,
        "metalake": "lake",
        "catalog": "main",
        "operation": "rename",
        "kind": "table",
        "name": "a.b.t",
        "levels": ["a.b", "t"],
        "new_name": "a.b.u",
        "new_levels": ["a.b", "u"],
        "actor": "ann",
        "details": '{"x":["<",1]}',
        "commit_id": 771,
        "position": "r/p/3.1",
    }


def test_rows_of_all_kinds_have_all_columns() -> None:
    """A row of a gap has what a row of a record has."""
    change = Change(position="p", commit="1", time_ms=1, do="drop", kind="table", name=("t",))

    assert gap_row("c", "why", 1).keys() == row_of(change).keys()
