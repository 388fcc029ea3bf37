"""Confirmation of commands that delete: asked for at a terminal, `--yes` everywhere else."""

import sys

import click

from headgate.errors import BadRequest

yes_option = click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal."
)
"""The option of every command that deletes something for good."""


def confirm(question: str, command: str, *, yes: bool) -> None:
    """Go on if `yes` is given or a terminal confirms; otherwise the command ends here.

    `command` is the command line to repeat, for scripts: they cannot be asked.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadRequest(
            "Nothing is deleted",
            why="the command asks for confirmation, and there is no terminal",
            fix=f"Confirm it: `headgate {command} --yes`",
        )
    if not click.confirm(question, err=True):
        click.echo("Nothing is deleted.", err=True)
        click.get_current_context().exit(1)
