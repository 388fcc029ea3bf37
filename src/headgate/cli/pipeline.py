"""`headgate pipeline`: programs for Spark, one command each."""

import click

from headgate.cli.pipeline_export import export
from headgate.cli.pipeline_fixture import fixture
from headgate.cli.pipeline_history import history
from headgate.cli.pipeline_import import import_
from headgate.cli.pipeline_inventory import inventory
from headgate.cli.pipeline_orphans import orphans
from headgate.cli.pipeline_purge import purge
from headgate.cli.pipeline_sweep import sweep
from headgate.cli.pipeline_upkeep import upkeep


@click.group(invoke_without_command=True)
@click.pass_context
def pipeline(context: click.Context) -> None:
    """Run a program on Spark, for what is too large for one process.

    Needs Java and `pip install 'headgate[spark]'`.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


pipeline.add_command(export)
pipeline.add_command(fixture)
pipeline.add_command(history)
pipeline.add_command(import_)
pipeline.add_command(inventory)
pipeline.add_command(orphans)
pipeline.add_command(purge)
pipeline.add_command(sweep)
pipeline.add_command(upkeep)
