"""The end of a long run: what came of it, as facts for people or as one object for scripts."""

from collections.abc import Iterator, Sequence

import click
import msgspec

from headgate.amounts import duration, size
from headgate.cli.output import iso, printable, table, to_json

ENTRIES_MAX = 20
MINUTE_SECONDS = 60
UNITS = ("_bytes", "_seconds", "_ms")
"""Ends of names that tell the unit of a number; in words, the value tells it."""
NAMES_OF_UNITS = {"bytes": "size", "seconds": "took"}

Fields = Iterator[tuple[str, object]]


def show(summary: msgspec.Struct, *, json: bool) -> None:
    """Print it to standard output."""
    if json:
        click.echo(to_json(summary))
        return
    facts = [(_label(name), _lines(name, value)) for name, value in _fields(summary)]
    click.echo("\n".join(_aligned(facts)) or "There was nothing to do.")


def _fields(record: msgspec.Struct) -> Fields:
    return ((name, getattr(record, name)) for name in record.__struct_fields__)


def _label(name: str) -> str:
    for unit in UNITS:
        name = name.removesuffix(unit)
    return NAMES_OF_UNITS.get(name, name).removeprefix("is_").replace("_", " ")


def _aligned(facts: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """Lines with a title before the first of each fact; what has no lines is left out."""
    told = [(printable(title), lines) for title, lines in facts if lines]
    width = max((len(title) for title, _ in told), default=0)
    for title, lines in told:
        for number, line in enumerate(lines):
            yield f"{'' if number else title:<{width}}  {line}".rstrip()


def _lines(name: str, value: object) -> list[str]:
    """A value in words, which its name tells the unit of; nothing if there is nothing to say."""
    if isinstance(value, msgspec.Struct):
        return list(_aligned([(_label(inner), _lines(inner, of)) for inner, of in _fields(value)]))
    if isinstance(value, dict):
        return list(_aligned([(str(key), _lines(name, of)) for key, of in value.items()]))
    if isinstance(value, list | tuple):
        return _listed(name, value)
    return [printable(_plain(name, value))] if value not in {None, ""} else []


def _listed(name: str, entries: Sequence[object]) -> list[str]:
    """One line each, not too many of them; records are the rows of a table."""
    shown, more = entries[:ENTRIES_MAX], len(entries) - ENTRIES_MAX
    records = [one for one in shown if isinstance(one, msgspec.Struct)]
    lines = _table(records) if records else [_cell(name, one) for one in shown]
    return [*lines, f"and {more:,} more; --json shows all"] if more > 0 else lines


def _table(records: Sequence[msgspec.Struct]) -> list[str]:
    """Records under the names of their fields; what none of them has is left out."""
    rows = [dict(_flat(record)) for record in records]
    longest_first = sorted(rows, key=len, reverse=True)  # it has the fields in their order
    names = dict.fromkeys(name for row in longest_first for name in row)
    told = [name for name in names if any(row.get(name) for row in rows)]
    cells = ([_cell(name, row.get(name)) for name in told] for row in rows)
    return table([_label(name).upper() for name in told], cells).splitlines() if told else []


def _flat(record: msgspec.Struct) -> Fields:
    """The fields of a record and of the records in it."""
    for name, value in _fields(record):
        if isinstance(value, msgspec.Struct):
            yield from _flat(value)
        else:
            yield name, value


def _cell(name: str, value: object) -> str:
    return ", ".join(line.strip() for line in _lines(name, value))


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith("bytes"):
            return size(int(value))
        if name.endswith("seconds"):
            return _time(value)
        if name.endswith("_ms"):
            return iso(int(value))
        return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return str(value)


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < MINUTE_SECONDS else duration(int(seconds * 1_000))
