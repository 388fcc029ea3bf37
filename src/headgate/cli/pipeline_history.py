"""`headgate pipeline history`: the change log and the audit as tables of the lake itself."""

from pathlib import Path

import click

from headgate.cli.pipeline_options import PipelineRun, pipeline_options
from headgate.pipelines import history as pipeline
from headgate.pipelines.history import RECORDS_AT_ONCE, SCHEMA, HistoryOptions


@click.command()
@click.option(
    "--schema",
    metavar="NAME",
    default=SCHEMA,
    show_default=True,
    help="Where the tables `changes` and `audit` are, as a or a.b; it is made.",
)
@click.option(
    "--audit",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An audit of the server, as audit.file names it; may be repeated. "
    "The files it was rotated to are read too.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=RECORDS_AT_ONCE,
    help=f"Records in one commit; {RECORDS_AT_ONCE:,} if not given.",
)
@pipeline_options
def history(run: PipelineRun, *, schema: str, audit: tuple[Path, ...], at_once: int) -> None:
    """Append the change log, and audits, to Iceberg tables of a catalog: each record once.

    Run it now and then, at least once within log.retention-days. It may be killed and run again,
    and two runs at once do no harm. What was cut before it was read is a row of its own, with the
    operation `gap`, and a warning.
    """
    options = HistoryOptions(
        catalog=run.needs_catalog(), schema=schema, audit=audit, records_at_once=at_once
    )
    summary = pipeline.run(options, run.server, run.spark, run.report)
    for gap in summary.gaps:
        run.report.say(f"warning: records are missing: {gap}")
    run.report.end(summary)
