"""`headgate pipeline orphans`: files that no table refers to."""

import sys

import click

from headgate.cli.pipeline_options import CATALOG, METALAKE, STORAGE, PipelineRun, pipeline_with
from headgate.pipelines import orphans as pipeline
from headgate.pipelines.orphans import OrphansOptions, age_ms

OLDER_THAN = "3d"


@click.command()
@click.option(
    "--below",
    metavar="LOCATION",
    multiple=True,
    help="Only there; may be repeated. If not given, in all places of the catalog.",
)
@click.option(
    "--older-than",
    metavar="AGE",
    default=OLDER_THAN,
    help=f"Only files that were written so long ago, as 36h; {OLDER_THAN} if not given, 24h at "
    "least.",
)
@click.option(
    "--delete/--dry-run",
    default=False,
    help="Delete them. With --dry-run, and without either, nothing is changed.",
)
@click.option(
    "--report",
    metavar="FILE",
    default="",
    help="Write a table of them to this file: .parquet, .csv or .json.",
)
@pipeline_with(METALAKE, CATALOG, STORAGE)
def orphans(
    run: PipelineRun, *, below: tuple[str, ...], older_than: str, delete: bool, report: str
) -> None:
    """Find files that no table, view or purge of a catalog refers to; delete them if told so.

    Whatever is in doubt is left out, and the summary says so. It may be killed and run again. The
    exit code is 1 if some could not be deleted.
    """
    options = OrphansOptions(
        catalog=run.needs_catalog(),
        below=below,
        older_than_ms=age_ms(older_than),
        delete=delete,
        report=report,
        storage=run.storage,
    )
    summary = pipeline.run(options, run.server, run.spark, run.report)
    run.report.end(summary)
    if summary.failed:
        sys.exit(1)
