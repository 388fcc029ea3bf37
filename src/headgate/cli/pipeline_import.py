"""`headgate pipeline import`: a large metalake from the files of an export."""

from pathlib import Path

import click

from headgate.cli.pipeline_options import PipelineRun, pipeline_with
from headgate.pipelines import import_ as pipeline
from headgate.pipelines.import_ import ImportOptions


@click.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", metavar="NEW", default="", help="Another name than that it had.")
@click.option("--abort", is_flag=True, help="Clear away what an unfinished import left.")
@pipeline_with()
def import_(run: PipelineRun, *, folder: Path, name: str, abort: bool) -> None:
    """Make a metalake that is exactly what was exported to a folder that all executors share.

    Only service admins may. The same as `headgate realm import`, over HTTP and in parallel. It
    serves nobody until all is there and was read back; if it was killed, run it again, or clear up
    with --abort.
    """
    options = ImportOptions(folder=folder, name=name)
    if abort:
        run.report.end(pipeline.abort(options, run.server))
        return
    run.report.end(pipeline.run(options, run.server, run.spark, run.report))
