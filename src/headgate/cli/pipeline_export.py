"""`headgate pipeline export`: all of a large metalake as files."""

from pathlib import Path

import click

from headgate.cli.pipeline_options import METALAKE, PipelineRun, pipeline_with
from headgate.pipelines import export as pipeline
from headgate.pipelines.export import ExportOptions


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@pipeline_with(METALAKE)
def export(run: PipelineRun, *, folder: Path) -> None:
    """Write all of a metalake, as it is at one instant, into a folder that all executors share.

    Only service admins may. The same as `headgate realm export`, over HTTP and in parallel; each
    reads what the other wrote. An export that was killed has no manifest and is none: run it
    again.
    """
    options = ExportOptions(metalake=run.server.metalake, folder=folder)
    run.report.end(pipeline.run(options, run.server, run.spark, run.report))
