"""The end of a long run: what came of it, as facts for people or as one object for scripts."""

import click
import msgspec

from headgate.amounts import duration, size
from headgate.cli.output import iso, printable, to_json

ENTRIES_MAX = 20


def show(summary: msgspec.Struct, *, json: bool) -> None:
    """Print it to standard output."""
    if json:
        click.echo(to_json(summary))
        return
    facts = {name.replace("_", " "): _words(name, value) for name, value in _fields(summary)}
    width = max(map(len, facts), default=0)
    for title, lines in facts.items():
        for line in lines:
            click.echo(f"{title:<{width}}  {printable(line)}".rstrip())
            title = ""  # noqa: PLW2901  a list has its title once


def _fields(summary: msgspec.Struct) -> list[tuple[str, object]]:
    return [(name, getattr(summary, name)) for name in summary.__struct_fields__]


def _words(name: str, value: object) -> list[str]:
    """A value in words, which its name tells the unit of; nothing if there is nothing to say."""
    if isinstance(value, msgspec.Struct):
        return [
            f"{inner.replace('_', ' ')}: {', '.join(_words(inner, of))}"
            for inner, of in _fields(value)
        ]
    if isinstance(value, dict):
        return [f"{key}: {', '.join(_words(name, of))}" for key, of in value.items()]
    if isinstance(value, list | tuple):
        shown = [", ".join(_words(name, one)) for one in value[:ENTRIES_MAX]]
        more = len(value) - ENTRIES_MAX
        return [*shown, f"and {more:,} more; --json shows all"] if more > 0 else shown
    return [_plain(name, value)] if value not in {None, ""} else []


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith("bytes"):
            return size(int(value))
        if name.endswith("seconds"):
            return duration(int(value * 1000))
        if name.endswith("_ms"):
            return iso(int(value))
        return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return str(value)
