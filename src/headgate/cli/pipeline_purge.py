"""`headgate pipeline purge`: the files of dropped tables, deleted by Spark."""

import click

from headgate.cli.job_words import none_of
from headgate.cli.output import printable
from headgate.cli.pipeline_options import PipelineRun, pipeline_with
from headgate.pipelines import purge as pipeline
from headgate.pipelines.purge import PurgeOptions
from headgate.purge.inspecting import Wanted
from headgate.purge.job_states import State


@click.command()
@click.option("--job", metavar="ID", default="", help="Only this job, as `headgate jobs` lists it.")
@click.option(
    "--metalake", metavar="NAME", default="", help="Only jobs of this metalake; of all else."
)
@click.option("--catalog", metavar="NAME", default="", help="Only jobs of catalogs of this name.")
@click.option(
    "--min-files",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Only tables with so many data files.",
)
@click.option("--dry-run", is_flag=True, help="Only tell how many files each job is about.")
@pipeline_with()
def purge(run: PipelineRun, *, job: str, min_files: int, dry_run: bool) -> None:
    """Purge dropped tables with Spark: all that wait for it, or those of one catalog.

    Jobs are claimed from the server, one after the other, and end as if the server had done them.
    Only service admins may: the server hands them the keys to its stores.
    """
    options = PurgeOptions(
        job=job,
        metalake=run.metalake,
        catalog=run.catalog,
        min_files=min_files,
        dry_run=dry_run,
    )
    summary = pipeline.run(options, run.server, run.spark, run.report)
    if summary.jobs or run.json:
        run.report.end(summary)
    else:
        click.echo(printable(none_of(Wanted(run.metalake, run.catalog, State.PENDING))))
    if summary.has_failures:
        raise click.exceptions.Exit(1)
