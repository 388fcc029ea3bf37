"""`headgate pipeline inventory`: what every table is like, as a table and as a page."""

from pathlib import Path

import click

from headgate.cli.pipeline_options import PipelineRun, pipeline_options
from headgate.pipelines import inventory as pipeline
from headgate.pipelines.inventory import SCHEMA, InventoryOptions


@click.command()
@click.option(
    "--only",
    metavar="CATALOG",
    multiple=True,
    help="Look at this catalog only; may be repeated. All that you may see, if not given.",
)
@click.option(
    "--schema",
    metavar="NAME",
    default=SCHEMA,
    show_default=True,
    help="Where the table `tables` is, as a or a.b; it is made.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a page with plots that needs no other file and no network.",
)
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    default="",
    help="The id of this run, else its time. The same one once more writes no rows.",
)
@pipeline_options
def inventory(
    run: PipelineRun, *, only: tuple[str, ...], schema: str, html: Path | None, run_id: str
) -> None:
    """Measure every table that you may see: size, files, snapshots, age, growth, owner.

    The rows go into an Iceberg table of --catalog; it can be left out where there is only one.
    Tables that cannot be loaded are listed with the reason. A run that was killed has written all
    of its rows or none.
    """
    options = InventoryOptions(catalog=run.catalog, only=only, schema=schema, run=run_id, html=html)
    run.report.end(pipeline.run(options, run.server, run.spark, run.report))
