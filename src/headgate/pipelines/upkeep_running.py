"""Upkeep of one table: look, decide, do the first thing that is due, and look again until nothing
is. So each decision is about the table as it is, and a second run finds nothing to do.

Nothing is remembered between runs: whatever is killed, the next run looks anew. What a killed
procedure wrote and did not commit is no part of the table; the pipeline `orphans` finds it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headgate.clock import Clock
from headgate.errors import (
    Conflict,
    HeadgateError,
    NotFound,
    OutcomeUnknown,
)
from headgate.pipelines.failures import is_of_table, translated
from headgate.pipelines.names import ALIAS, TableName, quoted
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.upkeep_decisions import Decision, decide, text
from headgate.pipelines.upkeep_health import Health, Looks, health_of, looks_for
from headgate.pipelines.upkeep_looks import Looker
from headgate.pipelines.upkeep_outcomes import Done, State, TableUpkeep
from headgate.pipelines.upkeep_policy import Level, Policy, Step, policy_of
from headgate.pipelines.upkeep_snapshots import Metadata

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

ROUNDS_MAX = 3  # of one procedure on one table: files may come out smaller than they were thought
CONFLICTS_MAX = 1  # with writers, that a procedure is tried again after
INVALIDATED = "ValidationException"  # what Iceberg calls it if a writer changed the same files


class Order(NamedTuple):
    """What is wanted of a run."""

    steps: frozenset[Step] = frozenset(Step)
    is_dry: bool = False


class Subject(NamedTuple):
    """A table as its metadata file shows it."""

    name: TableName
    metadata: Metadata
    policy: Policy
    health: Health
    looks: Looks


class Keeper:
    """Looks after the tables of one catalog.

    `spark` starts a session, or tells the one that it has started; `levels` tells the policies
    above a table of this namespace, the nearest first.
    """

    def __init__(
        self,
        server: Server,
        spark: Callable[[], "SparkSession"],
        levels: Callable[[tuple[str, ...]], list[Level]],
        *,
        order: Order,
        report: Report,
        clock: Clock,
    ) -> None:
        self._server = server
        self._spark = spark
        self._levels = levels
        self._order = order
        self._report = report
        self._clock = clock

    def keep(self, name: TableName) -> TableUpkeep:
        """Do all that is due, or say what is. A failure is the table's own."""
        began = self._clock.seconds()
        found = self._guarded(name, lambda: self._judged(self._subject(name)))
        if isinstance(found, Subject):
            subject, spark = found, self._spark()  # without Spark no table could be kept
            found = self._guarded(name, lambda: self._kept(spark, subject))
        assert isinstance(found, TableUpkeep)
        return msgspec.structs.replace(found, seconds=round(self._clock.seconds() - began, 3))

    def _guarded(
        self, name: TableName, work: Callable[[], TableUpkeep | Subject]
    ) -> TableUpkeep | Subject:
        try:
            return work()
        except HeadgateError as error:
            if not is_of_table(error):
                raise
            if isinstance(error, NotFound):
                return TableUpkeep(str(name), State.GONE)
            return TableUpkeep(str(name), State.FAILED, error=str(error))

    def _subject(self, name: TableName) -> Subject:
        """What the metadata file and the policies say now."""
        loaded = self._server.load(name)
        metadata = msgspec.json.decode(loaded.metadata, type=Metadata)
        own = Level(f"table {name}", metadata.properties)
        policy = policy_of([own, *self._levels(name.namespace)])
        health = health_of(metadata, policy, self._clock.wall_ms())
        looks = looks_for(metadata, policy, health, self._order.steps)
        return Subject(name, metadata, policy, health, looks)

    def _judged(self, subject: Subject) -> TableUpkeep | Subject:
        """What the metadata file alone decides; the subject where Spark is needed."""
        if not subject.policy.enabled:
            return TableUpkeep(str(subject.name), State.OFF, before=subject.health)
        decisions = self._decided(subject)
        is_due = any(one.is_due for one in decisions)
        if any(subject.looks) or (is_due and not self._order.is_dry):
            return subject
        state = State.DUE if is_due else State.HEALTHY
        return TableUpkeep(str(subject.name), state, decisions=decisions, before=subject.health)

    def _kept(self, spark: "SparkSession", subject: Subject) -> TableUpkeep:
        """Do what is due, one thing after another, each on what the one before has left."""
        subject = _looked(spark, subject)
        before, done = subject.health, list[Done]()
        while (decision := _next(self._decided(subject), done)) and not self._order.is_dry:
            done.append(self._called(spark, subject.name, decision))
            if _is_hopeless(done):
                break
            subject = _looked(spark, self._subject(subject.name))
        decisions = self._decided(subject)
        return TableUpkeep(
            str(subject.name),
            _state(done, decisions, is_dry=self._order.is_dry),
            decisions=decisions,
            done=done,
            before=before,
            after=subject.health,
        )

    def _decided(self, subject: Subject) -> list[Decision]:
        """Nothing, if somebody has said hands off meanwhile."""
        steps = self._order.steps if subject.policy.enabled else frozenset[Step]()
        return decide(subject.policy, subject.health, steps)

    def _called(self, spark: "SparkSession", name: TableName, decision: Decision) -> Done:
        assert decision.call is not None
        done = Done(decision.step, decision.call.procedure, decision.reason)
        began = self._clock.seconds()
        try:
            with self._report.stage(f"{name}: {decision.step}", spark=spark), translated():
                rows = spark.sql(call_statement(name, decision)).collect()
            done = msgspec.structs.replace(done, counts=_counts(rows))
        except HeadgateError as error:
            if isinstance(error, NotFound) or not is_of_table(error):
                raise
            done = msgspec.structs.replace(
                done, error=error.why or str(error), is_conflict=_is_conflict(error)
            )
        return msgspec.structs.replace(done, seconds=round(self._clock.seconds() - began, 3))


def call_statement(name: TableName, decision: Decision) -> str:
    """The procedure in Spark SQL."""
    assert decision.call is not None
    table = ".".join(map(quoted, (*name.namespace, name.name)))
    arguments = {"table": text(table), **decision.call.arguments}
    told = ", ".join(f"{argument} => {value}" for argument, value in arguments.items())
    return f"CALL {ALIAS}.system.{decision.call.procedure}({told})"


def _looked(spark: "SparkSession", subject: Subject) -> Subject:
    looker = Looker(spark, subject.name, subject.metadata, subject.policy)
    return subject._replace(health=looker.looked(subject.health, subject.looks))


def _next(decisions: list[Decision], done: list[Done]) -> Decision | None:
    """The first thing that is due and worth to be tried, after all that was done."""
    for one in decisions:
        if one.call is not None:
            tried = [before for before in done if before.procedure == one.call.procedure]
            is_new = not tried or tried[-1].is_conflict or tried[-1].has_changed_something
            if is_new and len(tried) < ROUNDS_MAX:
                return one
    return None


def _is_hopeless(done: list[Done]) -> bool:
    """Whether the last thing failed in a way that trying again does not help."""
    last = done[-1]
    conflicts = sum(one.is_conflict for one in done if one.procedure == last.procedure)
    return bool(last.error) and (not last.is_conflict or conflicts > CONFLICTS_MAX)


def _state(done: list[Done], decisions: list[Decision], *, is_dry: bool) -> State:
    if done and _is_hopeless(done):
        return State.FAILED
    if is_dry and any(one.is_due for one in decisions):
        return State.DUE
    return State.IMPROVED if any(one.has_changed_something for one in done) else State.HEALTHY


def _counts(rows: list["Row"]) -> dict[str, int]:
    """What a procedure says that it did, as far as it is numbers."""
    return {
        field: value
        for row in rows
        for field, value in row.asDict().items()
        if isinstance(value, int)
    }


def _is_conflict(error: HeadgateError) -> bool:
    """Whether a writer was faster, or may have been."""
    return isinstance(error, Conflict | OutcomeUnknown) or INVALIDATED in error.why
