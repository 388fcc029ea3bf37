"""`headgate realm export`: all of a metalake as files, by one process."""

from functools import partial
from pathlib import Path

import click

from headgate.authentication import has_master_key, log_key
from headgate.catalog.references import REFERENCES
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.summaries import show
from headgate.pipelines.reporting import Report
from headgate.portage.moving import export_realm
from headgate.portage.summaries import exported


@click.command("export")
@click.argument("name")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@shared
def export(run: Run, name: str, folder: Path) -> None:
    """Write all of a metalake, as it is at one instant, into a folder. NAME is its name or id.

    Needs `pip install 'headgate[export]'`. The folder is new or empty; it holds all names,
    properties, rights and purges, also keys in properties of catalogs, and no files of tables.
    The users of the store and the log of changes are not in it; if the store has a master key, a
    signed line says where the log stood, for `headgate log verify --export`. For large ones there
    is `headgate pipeline export`; each reads what the other wrote.
    """
    key = log_key(run.settings) if has_master_key(run.settings) else None
    report = Report(is_quiet=run.json, show=partial(show, json=run.json))
    with report.stage("export") as stage:
        manifest = with_kernel(
            run,
            lambda kernel: export_realm(
                kernel, REFERENCES, name, folder, lambda rows: stage.advance(rows=rows), key
            ),
            writable=False,
        )
    report.end(exported(manifest, folder))
