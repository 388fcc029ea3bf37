"""`headgate settings`: every setting, its value here, and where the value comes from."""

import shutil
import sys
import textwrap
from collections.abc import Iterator

import click

from headgate.cli.options import Run, shared
from headgate.cli.output import printable, table, to_json
from headgate.settings.setting import Settings, Value
from headgate.settings.table import FAMILIES

COLUMNS_MAX = 100
HEADINGS = ("NAME", "VALUE", "SOURCE", "DEFAULT", "UNIT", "HELP")


@click.command()
@shared
def settings(run: Run) -> None:
    """Print all settings: value, source, default, unit, meaning. Secrets are masked."""
    if run.json:
        click.echo(to_json([described(value) for value in run.settings]))
        return
    if sys.stdout.isatty():
        columns = min(shutil.get_terminal_size().columns, COLUMNS_MAX)
        click.echo("\n".join(narrow(run.settings, columns)))
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


def narrow(all_of_them: Settings, columns: int) -> Iterator[str]:
    """The same for a terminal of so many columns: a few lines for each setting."""
    values = {value.setting.name: value for value in all_of_them}
    for family, members in FAMILIES.items():
        yield f"\n{family.upper()}"
        for setting in members:
            value = values[setting.name]
            origin = value.source
            if value.source != "default":
                origin = f"from {value.source}; default: {setting.default_shown}"
            shown = printable(value.shown) or setting.default_shown or "-"
            yield from _wrapped(f"{setting.name} = {shown} {setting.unit}", columns, "  ")
            yield from _wrapped(f"{setting.help} ({origin})", columns, "      ")


def _wrapped(text: str, columns: int, indent: str) -> list[str]:
    return textwrap.wrap(text, columns, initial_indent=indent, subsequent_indent=indent + "    ")


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
