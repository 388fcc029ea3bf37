"""`headgate pipeline fixture`: much of everything, to see what scale does."""

import click

from headgate.cli.pipeline_options import PipelineRun, server_options
from headgate.pipelines import fixture as pipeline
from headgate.pipelines.fixture import Wanted

MOST = 10_000_000


@click.command()
@click.option(
    "--files",
    metavar="N",
    type=click.IntRange(5, MOST),
    help="Of a table: real ones of a few hundred bytes, data and deletes.",
)
@click.option("--name", metavar="NAME", default="", help="Of the table; files_N if not given.")
@click.option(
    "--format-version",
    metavar="V",
    type=click.IntRange(1, 3),
    default=2,
    help="Of the table; 2 if not given.",
)
@click.option("--namespaces", metavar="N", type=click.IntRange(1, MOST), help="Of the third level.")
@click.option(
    "--grants", metavar="N", type=click.IntRange(1, MOST), help="Rights on these, of many roles."
)
@server_options
def fixture(
    run: PipelineRun,
    *,
    files: int | None,
    name: str,
    format_version: int,
    namespaces: int | None,
    grants: int | None,
) -> None:
    """Make a table of very many files, namespaces by the thousand, and grants; without Spark.

    All of it is in the namespace `fixtures`. What is there is left as it is, so a run that was
    killed is gone on with by the same command.
    """
    if not (files or namespaces or grants):
        raise click.UsageError("Nothing is wanted: give --files, --namespaces or --grants")
    wanted = Wanted(files or 0, namespaces or 0, grants or 0, name, format_version)
    catalog = run.needs_catalog()
    run.report.end(pipeline.run(wanted, run.server, catalog, run.storage, run.report))
