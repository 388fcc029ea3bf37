"""`headgate realm import`: a metalake from the files of an export, by one process."""

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from headgate.catalog.calls import OPERATOR
from headgate.catalog.references import REFERENCES
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.summaries import show
from headgate.import_settings import operator_checks
from headgate.kernel.kernel import Kernel
from headgate.pipelines.reporting import Report
from headgate.portage import filling
from headgate.portage.folder import load_manifest
from headgate.portage.manifest import renamed
from headgate.portage.moving import check_export, import_realm
from headgate.portage.summaries import ImportSummary, imported
from headgate.server_settings import storage_options
from headgate.storage.gateway import StorageGateway


@click.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", metavar="NEW", default="", help="Another name than that it had.")
@click.option("--abort", is_flag=True, help="Clear away what an unfinished import left.")
@shared
def import_(run: Run, *, folder: Path, name: str, abort: bool) -> None:
    """Make a metalake that is exactly what was exported to a folder.

    Needs `pip install 'headgate[export]'`. It serves nobody until all is there; if it was killed,
    run it again, or clear up with --abort. It is refused if the name is taken, if its catalogs or
    their places are in this store already or hold files of the server itself, or if the export is
    not whole.
    """
    report = Report(is_quiet=run.json, show=partial(show, json=run.json))
    if abort:
        report.end(_abort(run, name or load_manifest(folder).realm.name))
        return
    with report.stage("check"):
        manifest = renamed(check_export(folder), name)

    async def fill(kernel: Kernel) -> ImportSummary:
        with closing(StorageGateway(storage_options(run.settings), kernel.clock)) as storage:
            made = await import_realm(
                kernel,
                REFERENCES,
                folder,
                manifest,
                operator_checks(run.settings, storage),
                by=OPERATOR,
                told=lambda rows: stage.advance(rows=rows),
            )
        return imported(manifest, made.name, made.id, made.state.value)

    with report.stage("import", total=manifest.facts.rows) as stage:
        summary = with_kernel(run, fill, writable=True, names=True)
    report.end(summary)


def _abort(run: Run, name: str) -> ImportSummary:
    gone = with_kernel(run, lambda kernel: filling.abort(kernel, name), writable=True, create=False)
    return ImportSummary(metalake=gone.name, id=gone.id, state="DELETED")
