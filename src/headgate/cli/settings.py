"""`headgate settings`: every setting, its value here, and where the value comes from."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

import click

from headgate.cli.options import Run, environment, shared
from headgate.cli.output import printable, table, to_json
from headgate.settings.loading import find
from headgate.settings.setting import Settings, Value
from headgate.settings.table import FAMILIES, family_of

COLUMNS_MAX = 100
HEADINGS = ("NAME", "VALUE", "SOURCE", "DEFAULT", "UNIT", "HELP")


@click.command()
@click.argument("name", required=False)
@shared
def settings(run: Run, name: str | None) -> None:
    """Print all settings: value, source, default, unit, meaning. Secrets are masked.

    With NAME only that one, or all whose names begin so.
    """
    chosen = _chosen(run.settings, name or "")
    if run.json:
        click.echo(to_json([described(value) for value in chosen]))
    elif sys.stdout.isatty() or "COLUMNS" in environment():
        columns = min(shutil.get_terminal_size().columns, COLUMNS_MAX)
        click.echo("\n".join(narrow(chosen, columns)))
    else:
        click.echo("\n".join(wide(chosen)))


def _chosen(all_of_them: Settings, name: str) -> list[Value]:
    """Those that are asked for; BadSetting if there are none."""
    found = [value for value in all_of_them if value.setting.name.startswith(name)]
    if not found:
        wanted = find(name)  # it may be known elsewhere by that name
        found = [value for value in all_of_them if value.setting is wanted]
    return found or [Value(wanted, wanted.default, "default")]  # of a purger: anything goes


def wide(chosen: Sequence[Value]) -> Iterator[str]:
    """A line for each setting."""
    rows = [
        (
            value.setting.name,
            printable(value.shown) or "-",
            value.source,
            value.setting.default_shown,
            value.setting.unit or "-",
            value.setting.help,
        )
        for value in chosen
    ]
    headings, *lines = table(HEADINGS, rows).splitlines()
    yield headings
    shown = dict(zip((value.setting.name for value in chosen), lines, strict=True))
    for family, inside in _families(chosen):
        yield from (f"\n{family}", *(shown[value.setting.name] for value in inside))


def _families(chosen: Sequence[Value]) -> Iterator[tuple[str, list[Value]]]:
    """These values by family, in the order of the table."""
    for family in FAMILIES:
        inside = [value for value in chosen if family_of(value.setting) == family]
        if inside:
            yield family, inside


def narrow(chosen: Sequence[Value], columns: int) -> Iterator[str]:
    """The same for a terminal of so many columns: a few lines for each setting."""
    for family, inside in _families(chosen):
        yield f"\n{family.upper()}"
        for value in inside:
            setting, origin = value.setting, value.source
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
