"""A whole metalake as files: executors read pieces of one instant, and write them at once."""

from functools import partial
from pathlib import Path

import msgspec

from headgate import __version__
from headgate.clock import SystemClock
from headgate.pipelines.portage_tasks import outlined, spread, write_pieces
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.portage import folder as folders
from headgate.portage.manifest import FORMAT, Manifest, check_finished
from headgate.portage.summaries import ExportSummary, exported


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is written where."""

    metalake: str
    folder: Path
    """Which all executors share."""


def run(
    options: ExportOptions, server: Server, spark: SparkOptions, report: Report
) -> ExportSummary:
    """Write an export; what came of it. Without its manifest, which is written last, it is none."""
    folder = options.folder.absolute()
    found = outlined(server, options.metalake)
    check_finished(found.realm)
    with spark_session(spark, "export", report=report) as session:
        folders.prepare(folder)
        work = partial(write_pieces, server, found.id, folder)
        with report.stage("export", spark=session) as stage:
            facts, files = spread(session, found.pieces, work)
            stage.advance(files=len(files), rows=facts.rows)
    now_ms = SystemClock().wall_ms()
    manifest = Manifest(FORMAT, __version__, now_ms, found.realm, facts, tuple(files))
    folders.complete(folder, manifest)
    return exported(manifest, folder)
