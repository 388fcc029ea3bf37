"""`headgate pipeline upkeep`: tables are kept healthy, as their policies say."""

import click

from headgate.cli.output import printable
from headgate.cli.pipeline_options import PipelineRun, pipeline_options
from headgate.errors import BadRequest
from headgate.pipelines import upkeep as pipeline
from headgate.pipelines.upkeep_outcomes import State
from headgate.pipelines.upkeep_policy import Step
from headgate.pipelines.upkeep_running import Order


@click.command()
@click.option(
    "--schema",
    "schemas",
    metavar="NAME",
    multiple=True,
    help="Only tables in this schema and below it, as a.b; may be repeated.",
)
@click.option(
    "--table",
    "tables",
    metavar="NAME",
    multiple=True,
    help="Only this table, as a.b.t; may be repeated.",
)
@click.option("--only", metavar="STEPS", default="", help=f"Only these steps, of {','.join(Step)}.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and why, and do nothing.")
@pipeline_options
def upkeep(
    run: PipelineRun,
    *,
    schemas: tuple[str, ...],
    tables: tuple[str, ...],
    only: str,
    dry_run: bool,
) -> None:
    """Compact tables, expire their snapshots, merge manifests, renew statistics.

    What is done for a table is chosen by its health and by properties headgate.upkeep.* of the
    table, its schemas and its catalog; the nearest wins. Exit code 1 if anything failed.
    """
    wanted = pipeline.Wanted(run.catalog, schemas, tables)
    order = Order(_steps(only), dry_run)
    summary = pipeline.run(wanted, order, run.server, run.spark, run.report)
    if run.json:
        run.report.end(summary)
    else:
        for one in summary.tables:
            if dry_run or one.state != State.HEALTHY:
                for line in one.lines():
                    click.echo(printable(line))
        run.report.end(summary.totals)
    if summary.totals.failed:
        click.get_current_context().exit(1)


def _steps(only: str) -> frozenset[Step]:
    if not only:
        return frozenset(Step)
    names = {name.strip() for name in only.split(",")}
    unknown = sorted(names - set(Step))
    if unknown:
        raise BadRequest(f"Unknown step: {unknown[0][:80]!r}", fix=f"Known are {', '.join(Step)}")
    return frozenset(map(Step, names))
