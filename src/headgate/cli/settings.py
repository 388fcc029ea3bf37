"""`headgate settings`: every setting, its value here, and where the value comes from."""

import click

from headgate.cli.options import Run, shared
from headgate.cli.output import printable, table, to_json
from headgate.settings.setting import Value
from headgate.settings.table import FAMILIES

HEADINGS = ("NAME", "VALUE", "SOURCE", "DEFAULT", "UNIT", "HELP")


@click.command()
@shared
def settings(run: Run) -> None:
    """Print all settings: value, source, default, unit, meaning. Secrets are masked."""
    if run.json:
        click.echo(to_json([described(value) for value in run.settings]))
        return
    rows = [
        (
            value.setting.name,
            printable(value.shown) or "-",
            value.source,
            value.setting.default_shown,
            value.setting.unit or "-",
            value.setting.help,
        )
        for value in run.settings
    ]
    headings, *lines = table(HEADINGS, rows).splitlines()
    click.echo(headings)
    for family, members in FAMILIES.items():
        click.echo(f"\n{family}")
        for _ in members:
            click.echo(lines.pop(0))


def described(value: Value) -> dict[str, object]:
    """A setting and its value as a plain object."""
    setting = value.setting
    number = isinstance(value.value, int | float)
    return {
        "name": setting.name,
        "type": setting.type.__name__.lower(),
        "value": value.value if number else value.shown,
        "source": value.source,
        "default": setting.default if number else setting.default_shown,
        "unit": setting.unit,
        "help": setting.help,
        "expected": setting.expected,
        "variable": setting.variable,
        "aliases": setting.aliases,
    }
