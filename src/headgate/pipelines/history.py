"""The history of a lake as tables of the lake itself: the change log, and the audit of its servers.

Each record comes once. A run that was killed anywhere is made good by the next one, and runs that
meet get out of each other's way: see `appends`.
"""

import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec

from headgate.clock import Clock, SystemClock
from headgate.pipelines import history_audit, history_changes
from headgate.pipelines.appends import OnceTable, schema_levels
from headgate.pipelines.history_audit import AuditHistory, check_audit
from headgate.pipelines.history_changes import Change, ChangeHistory, ChangeReader
from headgate.pipelines.history_files import find_files
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session

SCHEMA = "headgate_history"
RECORDS_AT_ONCE = 10_000
CHANGES, AUDIT = "changes", "audit"


class HistoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is written where."""

    catalog: str
    schema: str = SCHEMA
    """Its levels with dots between them."""
    audit: tuple[Path, ...] = ()
    """Files of audits."""
    records_at_once: int = RECORDS_AT_ONCE
    """In one commit."""


class HistorySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    changes_table: str
    changes: int
    audit_table: str = ""
    audit_records: int = 0
    audit_lines_unreadable: int = 0
    commits: int = 0
    races: int = 0
    """How often another run was faster."""
    gaps: list[str] = []
    """What is missing for ever."""
    notes: list[str] = []
    seconds: float = 0.0


class OwnNames:
    """Tells what this pipeline leaves in the logs that it reads."""

    def __init__(self, catalog: str, schema: Sequence[str]) -> None:
        self._names = {(catalog, *schema, table) for table in (CHANGES, AUDIT)}

    def has_changed(self, change: Change) -> bool:
        """Whether a change is an append of ours."""
        return change.do == "alter" and self.has((change.catalog, *change.name))

    def has(self, levels: Sequence[str]) -> bool:
        """Whether this is one of our tables, from the catalog down."""
        return tuple(levels) in self._names


def run(
    options: HistoryOptions,
    server: Server,
    spark: SparkOptions,
    report: Report,
    clock: Clock | None = None,
) -> HistorySummary:
    """Append what is new; what came of it. What cannot work is said before Spark starts."""
    clock = clock or SystemClock()
    began, now_ms = clock.seconds(), clock.wall_ms()
    schema = schema_levels(options.schema)
    files = find_files(list(options.audit), platform.node())
    for file in files:
        check_audit(file)
    server.catalog(options.catalog)
    reader, own = ChangeReader(server), OwnNames(options.catalog, schema)
    changes_name = TableName(options.catalog, schema, CHANGES)
    audit_name = TableName(options.catalog, schema, AUDIT)
    with spark_session(
        spark, "history", server, options.catalog, iceberg=True, report=report
    ) as session:
        changes_table = OnceTable(session, server, changes_name, history_changes.COLUMNS)
        changes_table.create("What was done, from the change log of Headgate")
        audit_table = OnceTable(session, server, audit_name, history_audit.COLUMNS)
        changes = ChangeHistory(changes_table, reader, own.has_changed, now_ms)
        audit = AuditHistory(audit_table, files, own.has, now_ms)
        if options.audit:
            audit_table.create("What was decided, from the audit of Headgate")
        with report.stage("changes", spark=session) as stage:
            changes.append(options.records_at_once, lambda rows: stage.advance(rows=rows))
        if options.audit:
            with report.stage("audit", spark=session) as stage:
                audit.append(options.records_at_once, lambda rows: stage.advance(rows=rows))
    done, audited = changes.done, audit.done
    return HistorySummary(
        changes_table=str(changes_name),
        changes=done.records,
        audit_table=str(audit_name) if options.audit else "",
        audit_records=audited.records,
        audit_lines_unreadable=audited.damaged,
        commits=done.commits + audited.commits,
        races=changes_table.races + audit_table.races,
        gaps=[*done.gaps, *audited.gaps],
        notes=[*done.notes, *audited.notes],
        seconds=round(clock.seconds() - began, 3),
    )
